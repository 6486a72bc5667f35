"""What one run holds while it executes."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from stretto.engine.alarm import Alarm, Watch
from stretto.engine.history import History
from stretto.engine.protections import Protected
from stretto.engine.sessions import Sessions
from stretto.engine.standby import Standbys
from stretto.engine.taint import Taint
from stretto.plan.model import AnyOp, Op, Plan
from stretto.record.model import EffectRecord, ErrorInfo, Run, StepRecord
from stretto.record.recorder import Journal
from stretto.types.budget import Budget
from stretto.types.enums import Durability, Reason, RunStatus, StepStatus
from stretto.types.ids import StepPath
from stretto.types.json import Json, JsonObject
from stretto.types.learning import Reward
from stretto.types.messages import RunInfo
from stretto.types.protocols import Clock, Live
from stretto.types.resources import SEEN

SomeOp = TypeVar("SomeOp", bound=Op)

_OK: Final = StepStatus.OK  # quicker, at each step


def milliseconds(seconds: float) -> float:
    """Seconds, not negative, as milliseconds to a microsecond; `round` to three digits costs twice as much."""
    return int(seconds * 1e6 + 0.5) / 1e3


def downgrade(record: StepRecord) -> Json:
    """A step that something answered in place of, as others of its run may read it."""
    reason = record.reason or Reason.ERROR
    return {"step": record.path, "component": record.component, "reason": reason.value}


class StepFailed(Exception):  # noqa: N818  # control flow inside the engine, never raised out of it
    """A step failed for good; unwinds to the nearest map that tolerates it, or to the run."""

    def __init__(
        self, error: ErrorInfo, reason: Reason, status: RunStatus = RunStatus.FAILED, *, simulated: bool = False
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.reason = reason
        self.status = status
        self.simulated = simulated


class Lane(msgspec.Struct):
    """One task's share of a run: its alarm, and the budget that the steps it runs spend from."""

    alarm: Alarm
    budget: Budget


Reopen: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Opens a component that did not open before; raises ComponentError when it does not."""

NONE_SHUT: Final[Mapping[str, Reopen]] = MappingProxyType({})


class RunState(msgspec.Struct, kw_only=True):
    """One run in flight. Everything mutable about it is here."""

    plan: Plan
    run: Run
    info: RunInfo
    info_with_reference: RunInfo
    journal: Journal
    clock: Clock
    now: Callable[[], float]
    """Event-loop time, seconds."""
    started: float
    """Event-loop time at which the run started; step times are milliseconds since."""
    watch: Watch
    jitter: random.Random
    durability: Durability
    sessions: Sessions
    protections: Protected
    """Of the plan's components, by name: only those for which anything was declared."""
    retuned: Mapping[int, AnyOp]
    """Steps that people changed while the workflow runs: by the id of the plan's operation, the one in its place."""
    given: JsonObject
    """What the caller gave for `resources`."""
    live: Live | None = None
    """What probes tell of the machine; None without any."""
    shut: Mapping[str, Reopen] = NONE_SHUT
    """Components that did not open, by name, and what opens each; empty when all are open."""
    standbys: Standbys | None = None
    """Where it is counted that a fallback answered; None where that is nobody's business, as in a replay."""
    seen: dict[StepPath, JsonObject] = msgspec.field(default_factory=dict)
    """What steps under way read of `resources`, with the values seen; goes into their records."""
    history: History | None = None
    taint: Taint | None = None
    """The marks on the run's own frame; only a replay has any."""
    downgrades: list[Json] = msgspec.field(default_factory=list)
    """What answered in place of a step so far, as `run.downgrades` has it: the list that the steps read."""
    rewards: list[Reward] = msgspec.field(default_factory=list)
    receipts: dict[StepPath, EffectRecord] = msgspec.field(default_factory=dict)
    """Writes of this run so far, so that a repeated path is never written twice."""
    writing: dict[StepPath, asyncio.Future[None]] = msgspec.field(default_factory=dict)
    """Writes under way; each is done when its own is over, however that ends."""
    stood_in: set[str] = msgspec.field(default_factory=set)
    """Components for whose writes a replay used the record: what they are asked live afterwards is simulated."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0

    @property
    def is_downgraded(self) -> bool:
        """Whether something answered in place of a step."""
        return bool(self.downgrades)

    def as_set(self, op: SomeOp) -> SomeOp:
        """An operation of the plan under the settings of now."""
        return self.retuned.get(id(op), op)  # type: ignore[return-value]  # what stands in its place is of its kind

    def ms(self, at: float) -> float:
        """Milliseconds since the run's start, to a microsecond."""
        return milliseconds(at - self.started)

    def keep(self, record: StepRecord) -> None:
        """Add a finished step to the record, unless that is closed: a component may leave a call behind."""
        if self.run.status is not None:
            return
        if self.seen and (seen := self.seen.pop(record.path, None)) is not None:
            record.evidence = {**record.evidence, SEEN: seen}
        self.run.steps.append(record)
        if record.status is not _OK:
            self._heed(record)
        if self.taint is not None and record.simulated and self._changes_downgrades(record):
            self.taint.mark_run()
        self.journal.step(record)

    def _changes_downgrades(self, record: StepRecord) -> bool:
        """Whether a step of a replay, or what is inside it, is or was downgraded."""
        recorded = () if self.history is None else self.history.downgraded
        return record.status is StepStatus.FALLBACK or any(
            path == record.path or path.startswith((f"{record.path}/", f"{record.path}[")) for path in recorded
        )

    def _heed(self, record: StepRecord) -> None:
        """Go by a step that did not answer itself, for this run and for those after it."""
        is_fallback = record.status is StepStatus.FALLBACK
        if is_fallback:
            self.downgrades.append(downgrade(record))
        if self.standbys is None:
            return
        if is_fallback:
            self.standbys.count(record.component, record.reason)
        if record.error is not None and record.attempts:
            self.protections.failed(record.component, self.now(), record.error)
