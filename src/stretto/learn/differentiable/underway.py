"""One batch under way: what its steps share, and what is noted of them for records, rewards and the loss."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import orjson
from torch import Tensor, nn

from stretto.engine.place import failed_uncalled
from stretto.engine.state import StepFailed
from stretto.learn.adversity.adversary import Adversary
from stretto.learn.adversity.marks import PERTURBED
from stretto.learn.adversity.stranger import Stranger
from stretto.learn.differentiable.chosen import Choices
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.columns import Column
from stretto.learn.differentiable.data import Batch
from stretto.learn.differentiable.kept import Stood
from stretto.learn.differentiable.states import States
from stretto.plan.model import Op
from stretto.record.canonical import exact
from stretto.record.model import StepRecord
from stretto.types.enums import Estimator, RunStatus, StepStatus
from stretto.types.errors import StrettoError
from stretto.types.ids import StepPath
from stretto.types.json import Json, JsonObject


@dataclass(slots=True, kw_only=True)
class Event:
    """One step, done in some rows at once: what its records are made of."""

    op: Op
    cohort: Cohort
    started: float
    """As `time.monotonic` has it, seconds."""
    ended: float


@dataclass(slots=True, kw_only=True)
class Skipped(Event):
    """It was left out."""


@dataclass(slots=True, kw_only=True)
class Computed(Event):
    """A module computed."""

    place: str
    """In the workflow, with the steps around it."""
    read: Callable[["Underway", Cohort], Mapping[str, Column]]
    """Reads the inputs again. It holds no batch, which holds this: what a pass computed goes with the pass."""
    output: Column
    outputs: Mapping[str, Tensor]
    """What the module returned, with its graph."""
    choices: Mapping[str, Choices]
    estimator: Estimator
    """By which its choices are learnt from."""
    weights_L: Tensor | None
    """Of the lives of then."""
    lives: int
    """How many there were."""
    rewards: Mapping[str, tuple[Tensor, Tensor | None]]
    """Term → its values, and which of them are known; None where all are."""
    perturbed: Mapping[int, JsonObject]
    """Rows in which its component was perturbed, and how."""

    def inputs(self, batch: "Underway") -> Mapping[str, Column]:
        """What it read."""
        return self.read(batch, self.cohort)


@dataclass(slots=True, kw_only=True)
class Held(Event):
    """A step that holds others ended in all rows."""

    input: Column | None
    output: Column


@dataclass(slots=True)
class Recorded:
    """What the engine's own call recorded, by life."""

    records: list[tuple[int, list[StepRecord]]]


@dataclass(slots=True, kw_only=True)
class Underway:
    """One pass over a batch."""

    data: Batch
    states: States
    modules: Mapping[str, nn.Module]
    """Of each differentiable component, the copy that learns."""
    seeds: Sequence[int]
    adversaries: Mapping[str, Adversary]
    """Of each component that is perturbed in some runs, what does it."""
    strangers: Mapping[str, Stranger] = field(default_factory=dict)
    """The same of components outside."""
    is_elsewhere: bool = False
    """A module's parameters are on another device than the CPU, where columns are made."""
    weights_L: Tensor | None = None
    """Of each life, how likely it is among those of its run, with its graph; None while each run has one."""
    events: list[Event | Recorded | Stood] = field(default_factory=list)

    def keep(self, cohort: Cohort, row: int, record: StepRecord) -> None:
        """Record a step of one row at once, as the engine does: what comes after may read of it."""
        life = cohort.lives[row]
        self.states.of([life])[0].keep(record)
        self.events.append(Recorded([(life, [record])]))

    def hold_failure(self, cohort: Cohort, row: int, name: str, started: float, failure: StepFailed) -> None:
        """Let a step that holds others fail in a row, because of one inside."""
        cohort.failed[row] = failure
        path = cohort.path(row, name)
        if failure.status is RunStatus.PARKED or failure.error.path == path:
            return
        record = self._record(cohort, row, path, StepStatus.FAILED, started)
        record.reason, record.error = failure.reason, failure.error
        self.keep(cohort, row, record)

    def hold_items(
        self, cohort: Cohort, row: int, name: str, started: float, output: Json, failed: Mapping[int, StepFailed]
    ) -> None:
        """Record a map with items that failed, and count as null."""
        record = self._record(cohort, row, cohort.path(row, name), StepStatus.FALLBACK, started)
        first = failed[min(failed)]
        record.reason, record.error = first.reason, first.error
        record.evidence = {"failed_items": [*sorted(failed)]}
        record.output = msgspec.Raw(exact(orjson.dumps(output)))
        self.keep(cohort, row, record)

    def _record(self, cohort: Cohort, row: int, path: StepPath, status: StepStatus, started: float) -> StepRecord:
        (state,) = self.states.of([cohort.lives[row]])
        return StepRecord(path=path, status=status, started_ms=state.ms(started), ended_ms=state.ms(self.now()))

    @staticmethod
    def now() -> float:
        """Seconds, as the engine's loop has them."""
        return time.monotonic()

    def seeds_of(self, cohort: Cohort) -> Sequence[int]:
        """Of each row, its run's seed."""
        if cohort.is_whole:
            return self.seeds
        runs = self.states.runs
        return [self.seeds[runs[life]] for life in cohort.lives]

    def references_of(self, cohort: Cohort) -> list[Json]:
        """Of each row, its run's gold answers; in a list of its own."""
        references = self.data.references
        if cohort.is_whole:
            return [*references]
        runs = self.states.runs
        return [references[runs[life]] for life in cohort.lives]

    def refuse(self, cohort: Cohort, row: int, name: str, error: StrettoError) -> None:
        """Let a row fail at a step that called nothing, as the engine would."""
        life = cohort.lives[row]
        (state,) = self.states.of([life])
        before = len(state.run.steps)
        cohort.failed[row] = failed_uncalled(state, cohort.path(row, name), error)
        self.events.append(Recorded([(life, state.run.steps[before:])]))


def perturbed_in(batch: Underway) -> frozenset[int]:
    """Runs, by their place, in which a component was perturbed."""
    struck: set[int] = set()
    for event in batch.events:
        if isinstance(event, Computed):
            struck.update(event.cohort.lives[row] for row in event.perturbed)
        elif isinstance(event, Recorded):
            struck.update(life for life, those in event.records if any(PERTURBED in each.evidence for each in those))
    return frozenset(batch.states.runs[life] for life in struck)
