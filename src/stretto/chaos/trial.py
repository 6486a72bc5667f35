"""Many runs of a workflow whose components a schedule strikes, and what became of each."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final
from uuid import uuid4

import msgspec

from stretto.chaos.harness import INDEX, Harness, Schedule
from stretto.chaos.lapse import jumping
from stretto.engine.request import RunRequest
from stretto.record.model import Run
from stretto.runtime.many import in_order
from stretto.runtime.workflow import Workflow
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import ReplayError, StoreError, UsageError
from stretto.types.json import Json, JsonObject

ANSWERED: Final = frozenset({RunStatus.OK, RunStatus.DEGRADED, RunStatus.BUSINESS_FALLBACK})


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is given."""

    input: JsonObject
    reference: Json = None
    memory: JsonObject | None = None
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)


class Asked(msgspec.Struct, frozen=True):
    """One run of a trial."""

    given: Given
    seed: int


class TrialRun(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one run."""

    index: int
    run: str
    """Its id."""
    status: RunStatus
    reason: Reason | None
    error: str
    duration_ms: float
    in_time: bool
    """It ended within its deadline, or has none."""

    @property
    def answered(self) -> bool:
        """It answered, and in time."""
        return self.status in ANSWERED and self.in_time


class Redelivered(msgspec.Struct):
    """What became of the runs that were delivered again after they had ended."""

    refused: int = 0
    """They had ended, and were left as they were."""
    resumed: int = 0
    """They were parked, and asked once more about their writes in doubt."""


class Trial:
    """Runs of one workflow under one schedule. Everything in it is readable at any time, also when it was stopped."""

    def __init__(
        self,
        workflow: Workflow,
        schedule: Schedule,
        *,
        purpose: str,
        run_limit_s: float,
        concurrency: int,
        alone: bool = False,
        on_run: Callable[[], None] | None = None,
    ) -> None:
        """Runs are served as they would be, one after what became of the others; with `alone` they know of none."""
        self.harness = Harness(schedule)
        self.workflow = workflow.wrapped(self.harness.wrap, alone=alone)
        self.outcomes: dict[int, TrialRun] = {}
        self.begun: set[int] = set()
        """Indices of the runs that were accepted."""
        self.lost: list[int] = []
        """Indices of runs that were accepted and have no end in the store."""
        self.redelivered = Redelivered()
        self._purpose = purpose
        self._group = uuid4().hex
        self._run_limit_s = run_limit_s
        self._concurrency = concurrency
        self._on_run = on_run
        deadline = self.workflow.plan.budget.deadline
        self._deadline_ms = None if deadline is None else deadline.total_seconds() * 1000.0

    async def go(self, asked: Mapping[int, Asked], keep: Callable[[int, Run], None] | None = None) -> None:
        """Make the runs, by their indices; `keep` is given each as it ends."""

        async def make(index: int) -> None:
            run = await self._make(index, asked[index])
            if run is not None:
                self.outcomes[index] = self._outcome(index, run)
                if keep is not None:
                    keep(index, run)
            if self._on_run is not None:
                self._on_run()

        try:
            with jumping(self.harness.lapse):
                async with self.workflow:
                    await in_order(make, asked, concurrency=self._concurrency)
        finally:
            self.lost = await asyncio.shield(asyncio.to_thread(self._look))

    async def _make(self, index: int, asked: Asked) -> Run | None:
        """One run; None when it did not end within the limit: it is then cancelled, and found in the store."""
        given = asked.given
        request = RunRequest(
            input=dict(given.input),
            reference=given.reference,
            memory=None if given.memory is None else dict(given.memory),
            labels={**given.labels, "purpose": self._purpose, "group": self._group, INDEX: str(index)},
            seed=asked.seed,
        )
        self.begun.add(index)
        run: Run | None = None
        try:
            with self.harness.lapse.run(index):
                async with asyncio.timeout(self._run_limit_s):
                    run = await self.workflow.run_request(request)
                    return await self._again(run) if index in self.harness.again else run
        except TimeoutError:
            return None
        finally:
            if run is None and index not in self.harness.asked:
                self.begun.discard(index)  # it was broken off before anybody had accepted it

    async def _again(self, run: Run) -> Run:
        """Deliver a run once more, as a queue does that delivers at least once."""
        await asyncio.to_thread(self.workflow.store.flush)
        try:
            run = await self.workflow.resume(run.id)
        except (UsageError, ReplayError, StoreError):
            self.redelivered.refused += 1
        else:
            self.redelivered.resumed += 1
        return run

    def _look(self) -> list[int]:
        """Find in the store what became of every run that was begun; the indices of those that have no end there."""
        store = self.workflow.store
        store.flush()
        kept = {int(run.labels[INDEX]): run for run in store.runs(purpose=self._purpose, group=self._group)}
        for index, run in kept.items():
            if index not in self.outcomes:
                self.outcomes[index] = self._outcome(index, run)
        return sorted(self.begun - kept.keys())

    def _outcome(self, index: int, run: Run) -> TrialRun:
        status = run.status or RunStatus.FAILED
        return TrialRun(
            index=index,
            run=run.id,
            status=status,
            reason=run.reason,
            error="" if run.error is None else run.error.message,
            duration_ms=run.duration_ms,
            in_time=self._deadline_ms is None or run.duration_ms <= self._deadline_ms,
        )
