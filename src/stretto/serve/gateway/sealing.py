"""What an agent's run comes to when it ends, folded from its steps."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import orjson

from stretto.record.model import Run, StepRecord
from stretto.serve.gateway.ending import Ending
from stretto.types.enums import Reason, StepStatus
from stretto.types.errors import Code
from stretto.types.ids import StepPath
from stretto.types.learning import total_reward
from stretto.types.messages import Usage

_REASONS: Final[Mapping[str, Reason]] = {
    Code.DEADLINE_EXCEEDED.value: Reason.TIMEOUT,
    Code.RESOURCE_EXHAUSTED.value: Reason.CONGESTION,
    Code.CANCELLED.value: Reason.CANCELLED,
}
"""As the engine has them for a step whose attempts failed so (`engine.failure.reason_of`)."""


def conclude(run: Run, ending: Ending, in_vain: Sequence[StepRecord], duration_ms: float) -> None:
    """Set everything that a sealed run has. `in_vain` are calls that failed, and were never asked again."""
    run.steps = [*_with_reasons(run.steps, in_vain), *_conversations(run.steps)]
    run.status, run.reason = ending.status, ending.reason
    run.duration_ms = duration_ms
    run.labels |= ending.labels
    run.output = _output(run, ending)
    run.rewards = tuple({reward.name: reward for step in run.steps for reward in step.rewards}.values())
    run.reward = total_reward(run.rewards) if run.succeeded else None
    run.usage = _usage(run)
    if ending.warning:
        run.warnings = (*run.warnings, ending.warning)
    if ending.error is not None:
        run.error = ending.error
    elif not run.succeeded:
        run.error = next((step.error for step in reversed(run.steps) if step.error is not None), None)


def is_call(step: StepRecord) -> bool:
    """Whether a step is a call of a model, not a reward or a conversation."""
    return bool(step.component)


def conversation_of(path: str) -> str:
    """The conversation that a call stands in: ``agent`` of ``agent[3]``."""
    return path.partition("[")[0]


def _with_reasons(steps: Sequence[StepRecord], in_vain: Sequence[StepRecord]) -> list[StepRecord]:
    """The steps, of which those asked in vain say why: a fold can then tell that an accident befell the run. What is
    written already does not change; a copy takes its place."""
    left = {id(step) for step in in_vain}
    return [msgspec.structs.replace(step, reason=_reason(step)) if id(step) in left else step for step in steps]


def _reason(step: StepRecord) -> Reason:
    return _REASONS.get("" if step.error is None else step.error.rpc_code, Reason.ERROR)


def _conversations(steps: Sequence[StepRecord]) -> list[StepRecord]:
    """A record for each conversation around its calls, as a loop has one around its rounds."""
    calls: dict[str, list[StepRecord]] = {}
    for step in steps:
        if is_call(step):
            calls.setdefault(conversation_of(step.path), []).append(step)
    return [_conversation(name, inside) for name, inside in calls.items()]


def _conversation(name: str, calls: Sequence[StepRecord]) -> StepRecord:
    is_answered = any(step.status is StepStatus.OK for step in calls)
    record = StepRecord(
        path=StepPath(name),
        status=StepStatus.OK if is_answered else StepStatus.FAILED,
        started_ms=min(step.started_ms for step in calls),
        ended_ms=max(step.ended_ms for step in calls),
        output=msgspec.Raw(orjson.dumps({"rounds": len(calls)})),
    )
    if not is_answered:
        record.error, record.reason = calls[-1].error, _reason(calls[-1])
    return record


def _output(run: Run, ending: Ending) -> msgspec.Raw:
    """What it answered: as was said of it, or its model's last answer."""
    if ending.output is not None:
        return ending.output
    answered = (step for step in reversed(run.steps) if is_call(step) and step.status is StepStatus.OK)
    last = next(answered, None)
    return run.output if last is None else last.output


def _usage(run: Run) -> Usage | None:
    used = [step.usage for step in run.steps if step.usage is not None]
    if not used:
        return None
    return Usage(
        input_tokens=sum(each.input_tokens for each in used), output_tokens=sum(each.output_tokens for each in used)
    )
