"""Steps that call nothing themselves, or could not: what they read, how they end, how they fail."""

import msgspec
import orjson

from stretto.engine.failure import error_info, reason_of
from stretto.engine.state import Lane, RunState, StepFailed
from stretto.engine.taint import Taint
from stretto.plan.model import Frame, Getter, Op
from stretto.record.canonical import exact
from stretto.record.model import NULL, ErrorInfo, StepRecord
from stretto.types.enums import Reason, StepStatus
from stretto.types.errors import ExpressionError, StrettoError
from stretto.types.ids import StepPath
from stretto.types.json import Json, JsonObject


class Place(msgspec.Struct):
    """Where in a run such a step stands."""

    state: RunState
    frame: Frame
    path: StepPath
    lane: Lane
    taint: Taint | None
    """A replay's marks on the frame."""

    def read(self, get: Getter, *, simulated: bool) -> Json:
        """What an expression of the step reads; one that cannot be evaluated fails the step."""
        return self.read_in(self.frame, get, simulated=simulated)

    def read_in(self, frame: Frame, get: Getter, *, simulated: bool) -> Json:
        """`read` in a body's frame."""
        try:
            return get(frame)
        except ExpressionError as error:
            raise self.fail(error, simulated=simulated) from error

    def mapped(self, inputs: tuple[tuple[str, Getter], ...], frame: Frame, *, simulated: bool) -> JsonObject:
        """`read_in` for each field of a mapping."""
        return {name: self.read_in(frame, get, simulated=simulated) for name, get in inputs}

    def record(self, status: StepStatus, started: float, output: JsonObject | None = None) -> StepRecord:
        """A record of the step, which ends now."""
        state = self.state
        return StepRecord(
            path=self.path,
            status=status,
            started_ms=state.ms(started),
            ended_ms=state.ms(state.now()),
            output=NULL if output is None else msgspec.Raw(exact(orjson.dumps(output))),
        )

    def failure(self, started: float, error: ErrorInfo, reason: Reason) -> StepRecord:
        """`record` of a step that failed."""
        record = self.record(StepStatus.FAILED, started)
        record.reason, record.error = reason, error
        return record

    def end(self, op: Op, record: StepRecord, *, is_marked: bool) -> None:
        """Keep the step's record, and pass its mark on."""
        record.simulated = is_marked
        if self.taint is not None:
            self.taint.put(op.slot, is_marked)
        self.state.keep(record)

    def fail(self, error: StrettoError, *, simulated: bool, evidence: dict[str, Json] | None = None) -> StepFailed:
        """Record that the step failed before it could call anything; returns what to raise."""
        return failed_uncalled(self.state, self.path, error, simulated=simulated, evidence=evidence)


def failed_uncalled(
    state: RunState,
    path: StepPath,
    error: StrettoError,
    *,
    simulated: bool = False,
    evidence: dict[str, Json] | None = None,
) -> StepFailed:
    """Record that a step failed before it could call anything; returns what to raise."""
    info, reason, now = error_info(error, path), reason_of(error), state.ms(state.now())
    record = StepRecord(
        path=path,
        status=StepStatus.FAILED,
        started_ms=now,
        ended_ms=now,
        reason=reason,
        error=info,
        simulated=simulated,
    )
    if evidence is not None:
        record.evidence = evidence
    state.keep(record)
    return StepFailed(info, reason, simulated=simulated)
