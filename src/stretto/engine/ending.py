"""How a run ends, whatever became of it: its figures are added up, what it holds is closed, its record is sealed."""

import msgspec

from stretto.engine.state import RunState
from stretto.record.model import ErrorInfo
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import Code
from stretto.types.learning import Reward, total_reward
from stretto.types.messages import Usage


async def finish(state: RunState, answer_by: float | None) -> None:
    """Close what the run holds, which nobody waits for after `answer_by`, and seal its record; also when it was
    cancelled."""
    run = state.run
    if state.receipts and (in_doubt := [effect.path for effect in state.receipts.values() if effect.in_doubt]):
        run.status, run.reason = RunStatus.PARKED, Reason.IN_DOUBT
        if run.error is None:
            message = f"a write was sent and not answered, and may have happened: {', '.join(in_doubt)}"
            run.error = ErrorInfo(
                code="component.in_doubt", rpc_code=Code.ABORTED.value, message=message, path=in_doubt[0]
            )
    if run.status is None:  # only when the engine or the store broke: the exception says more
        run.status, run.reason = RunStatus.FAILED, Reason.ERROR
    run.duration_ms = state.ms(state.now())
    if state.rewards or state.plan.reward_weights:
        run.rewards = _weighed(state)
        run.reward = total_reward(run.rewards) if run.succeeded else None
    if state.history is not None:
        run.simulated = any(step.simulated for step in run.steps)
    if state.tokens_in or state.tokens_out or state.cost:
        run.usage = Usage(input_tokens=state.tokens_in, output_tokens=state.tokens_out, cost=state.cost)
    try:
        if state.sessions.end():  # released even when the run is cancelled again meanwhile
            run.warnings = await state.sessions.close(None if answer_by is None else max(0.0, answer_by - state.now()))
    finally:
        await state.journal.seal(run)  # queued before it first waits, so a cancellation here loses nothing


def _weighed(state: RunState) -> tuple[Reward, ...]:
    """The run's rewards with the contract's weights; a term that the contract names and no step gave is unknown."""
    weights = state.plan.reward_weights
    if not weights:
        return tuple(state.rewards)
    latest = {reward.name: reward for reward in state.rewards}
    named = [
        msgspec.structs.replace(latest[name], weight=weight)
        if name in latest
        else Reward(name=name, value=None, weight=weight, reason="no step gave it")
        for name, weight in weights.items()
    ]
    return (*named, *(msgspec.structs.replace(r, weight=0.0) for r in latest.values() if r.name not in weights))
