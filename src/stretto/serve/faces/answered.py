"""What a run came to, as the answer or the error of the call that it answers. The one table for all faces:

ok                         the answer
degraded, business_fallback  the answer, outcome `fallback`
parked                     in doubt
failed, expired, cancelled in doubt where something was written; else an error that says that nothing was
"""

from collections.abc import Sequence
from typing import Final

from stretto.acp.server.outcome import GRADIENT_HANDLE, REPLAYED, RUN_ID
from stretto.record.model import EffectRecord, Run
from stretto.types.enums import Effect, Outcome, RunStatus, StepStatus
from stretto.types.errors import RETRYABLE_CODES, Code, ComponentError, InDoubtError
from stretto.types.messages import Response

EVIDENCE: Final = "workflow"
"""Key of the evidence under which the run's own facts stand."""

_TOLD: Final = RETRYABLE_CODES | {Code.FAILED_PRECONDITION, Code.DATA_LOSS}
"""Codes of a failure inside that hold for the whole; others speak of a request that the caller did not make."""


def response_of(run: Run, *, is_earlier: bool) -> Response:
    """The response of a run that answered, maybe an earlier call."""
    status = RunStatus.OK if run.status is None else run.status
    return Response(
        output=run.output_value,
        outcome=Outcome.OK if status is RunStatus.OK else Outcome.FALLBACK,
        usage=run.usage,
        evidence={
            RUN_ID: run.id,
            REPLAYED: is_earlier,
            GRADIENT_HANDLE: run.id,
            EVIDENCE: {"status": status.value, "workflow_run_id": run.workflow_run_id},
        },
    )


def error_of(run: Run, effects: Sequence[EffectRecord]) -> ComponentError:
    """The error of a run that did not answer. `effects` are its writes, as far as they were kept."""
    what = f"run {run.id} of workflow '{run.manifest.workflow}'"
    why = f": {run.error.message}" if run.error is not None else ""
    if run.status is RunStatus.PARKED:
        parked = f"{what} is parked over a write in doubt{why}; a person settles it: stretto runs resume {run.id}"
        return _of(run, InDoubtError(parked))
    if may_have_written(run, effects):
        wrote = (
            f"{what} {_ended(run)}, and had written something before that{why}; see what: stretto runs show {run.id}"
        )
        return _of(run, InDoubtError(wrote))
    ended = "did not answer in time" if run.status is RunStatus.EXPIRED else _ended(run)
    return _of(run, ComponentError(f"{what} {ended}{why}", _code_of(run), sent=False))


def _ended(run: Run) -> str:
    return "failed" if run.status is RunStatus.FAILED else f"is {run.status}"


def may_have_written(run: Run, effects: Sequence[EffectRecord]) -> bool:
    """Whether the run changed the world, or may have: by what was kept of its writes, and by its steps, which tell of
    those that a durability below ``step`` does not keep."""
    if effects:
        return any(not effect.refused for effect in effects)
    return any(step.effect is Effect.WRITE and step.status is not StepStatus.SKIPPED for step in run.steps)


def _code_of(run: Run) -> Code:
    if run.status is RunStatus.EXPIRED:
        return Code.DEADLINE_EXCEEDED
    if run.status is RunStatus.CANCELLED:
        return Code.CANCELLED
    if run.error is not None and run.error.code == "budget":
        return Code.RESOURCE_EXHAUSTED
    inside = Code(run.error.rpc_code) if run.error is not None and run.error.rpc_code else Code.INTERNAL
    return inside if inside in _TOLD else Code.INTERNAL


def _of(run: Run, error: ComponentError) -> ComponentError:
    error.run_id = run.id
    return error
