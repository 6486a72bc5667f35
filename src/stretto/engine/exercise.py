"""Ask a workflow's fallback beside a run that did not need it, and judge what it would have answered."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

import msgspec

from stretto.engine.business import keep_answer, request_of
from stretto.engine.engine import Engine
from stretto.engine.request import RunRequest
from stretto.engine.run_root import run_root
from stretto.engine.state import downgrade
from stretto.plan.expectations import judge
from stretto.plan.model import INPUT, MEMORY, RESOURCES, RUN, Block, BusinessFallback, Frame, Getter, Plan
from stretto.record.canonical import snapshot
from stretto.record.model import NULL, EffectRecord, Run, StepRecord, decoded
from stretto.record.texts import MESSAGE_CHARS, recordable
from stretto.types.budget import BudgetSpec
from stretto.types.enums import Durability, Reason, StepStatus
from stretto.types.errors import ContractError, ExpressionError, NotJsonError
from stretto.types.ids import FALLBACK_PATH, StepPath
from stretto.types.json import Json, JsonObject

LIMIT: Final = timedelta(seconds=10)
"""What it may take where the workflow has no deadline, and so no reserve."""

ANSWER_CHARS: Final = 500
"""Of an answer that is not as expected, kept with the exercise: enough to see what is wrong with it."""

NOT_FAILED: Final[Mapping[str, Json]] = {
    "step": "",
    "component": "",
    "reason": Reason.ERROR.value,
    "code": "exercise",
    "message": "an exercise: nothing failed",
}
"""What `run.failure` reads in an exercise."""


class Exercised(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a fallback would have answered, judged."""

    answered: bool
    """In time, and with an answer that fits its own schema."""
    contract: bool
    """The answer fits the workflow's contract."""
    expectations: dict[str, bool]
    """Of those that apply to this input and answer: whether each holds."""
    ms: float
    error: str = ""
    """What went wrong, in words."""
    answer: str = ""
    """JSON of an answer of which an expectation does not hold, in part when it is long; empty else."""

    @property
    def missed(self) -> str:
        """The expectations that do not hold."""
        return ", ".join(name for name, holds in self.expectations.items() if not holds)

    @property
    def held(self) -> bool:
        """Whether nothing is wrong."""
        return self.answered and self.contract and all(self.expectations.values())

    @property
    def broken(self) -> str:
        """What is wrong, in words; empty when nothing is."""
        if not (self.answered and self.contract):
            return self.error
        if not self.missed:
            return ""
        told = f", of the answer {self.answer}" if self.answer else ""  # which older exercises did not keep
        return f"not as expected: {self.missed}{told}"


async def exercise(plan: Plan, business: BusinessFallback, run: Run) -> Exercised:
    """Ask the fallback what it would have been asked for this run; nothing of it is recorded."""
    frame = _frame_of(plan, run)
    try:
        data = request_of(business, frame)
    except ExpressionError as error:
        return _unanswered(str(error), 0.0)
    request = RunRequest(input={}, seed=run.seed, tenant=run.tenant, labels={**run.labels, "purpose": "exercise"})
    made = await Engine(_Nowhere()).run(_alone(plan, business, data), request)
    if made.error is not None:
        return _unanswered(made.error.message, made.duration_ms)
    frame[business.op.slot] = decoded(made.steps[0].output)
    try:
        output = keep_answer(made, plan, business, frame)
    except ExpressionError as error:
        return _unanswered(str(error), made.duration_ms)
    except (ContractError, NotJsonError) as error:
        return msgspec.structs.replace(_unanswered(str(error), made.duration_ms), answered=True)
    held = judge(business.expectations, run.input_value, output)
    told = "" if all(held.values()) else recordable(snapshot(output).decode(), ANSWER_CHARS)
    return Exercised(answered=True, contract=True, expectations=held, ms=made.duration_ms, answer=told)


def _unanswered(error: str, ms: float) -> Exercised:
    return Exercised(answered=False, contract=False, expectations={}, ms=ms, error=recordable(error, MESSAGE_CHARS))


def _frame_of(plan: Plan, run: Run) -> Frame:
    """The frame as a run left it."""
    frame: Frame = [None] * plan.slots
    frame[INPUT] = run.input_value
    frame[MEMORY] = {} if run.memory == NULL else decoded(run.memory)
    frame[RESOURCES] = {} if run.resources == NULL else decoded(run.resources)
    downgrades: list[Json] = [downgrade(step) for step in run.steps if step.status is StepStatus.FALLBACK]
    frame[RUN] = {**run_root(run, downgrades), "failure": {**NOT_FAILED}}
    outputs = {step.path: step.output for step in run.steps}
    for op in plan.body.ops:
        output = outputs.get(StepPath(op.name))
        frame[op.slot] = None if output is None else decoded(output)
    return frame


def _alone(plan: Plan, business: BusinessFallback, data: JsonObject) -> Plan:
    """A plan of nothing but the fallback's call: bounded, checked and driven as in a run."""
    op = replace(business.op, name=FALLBACK_PATH, inputs=tuple((name, _constant(data[name])) for name in data))
    return replace(
        plan,
        body=Block(ops=(op,), linear=True),
        input_check=None,
        output_check=None,
        output=(),
        budget=BudgetSpec(deadline=plan.budget.reserving().reserve or LIMIT),
        durability=Durability.NONE,
        memory=None,
        protections={},
        streaks={},
        business=None,
        reads_run=False,
        reward_weights={},
    )


def _constant(value: Json) -> Getter:
    return lambda _frame: value


class _Nowhere:
    """A recorder that keeps nothing, and its journal."""

    async def open(self, _run: Run, _durability: Durability) -> "_Nowhere":
        return self

    def step(self, record: StepRecord) -> None:
        """Nothing is kept."""

    async def intent(self, effect: EffectRecord) -> None:
        """Nothing is kept, and nothing is written."""

    async def receipt(self, effect: EffectRecord) -> None:
        """Nothing is kept."""

    async def seal(self, run: Run) -> None:
        """Nothing is kept."""
