"""One run's way into the store. Implements `record.recorder.Journal`."""

import threading
import time
from collections.abc import Sequence
from operator import is_

from stretto.record.model import EffectRecord, Run, StepRecord
from stretto.store.batch import Refusable, Write
from stretto.store.owner import LEASE_S
from stretto.store.rows import Row, effect_row, run_row, step_rows
from stretto.store.writer import Writer
from stretto.types.enums import Durability, RunStatus
from stretto.types.errors import NotJsonError, StoreError
from stretto.types.ids import RunId


class RunJournal(Refusable):
    """Writes one run under its durability. A record may not change once it was handed over: it is encoded later.

    Under ``step`` finished steps are written behind, all those together that there are when the writer comes round,
    and the head is updated at the end; under ``run`` and ``none`` all is written at the end. A write that another
    process's claim has fenced off raises StoreError here, or, when it was written behind, at the next call.
    """

    __slots__ = (
        "__weakref__",
        "_durability",
        "_epoch",
        "_fresh",
        "_kept",
        "_lock",
        "_run_id",
        "_store",
        "_tenant",
        "_writer",
        "ended",
    )

    def __init__(
        self,
        store: object,
        writer: Writer,
        run: Run,
        durability: Durability,
        *,
        epoch: int,
        kept: Sequence[StepRecord] = (),
    ) -> None:
        self.refused = None
        self.ended = False
        """Whether it tried to seal the run: whatever became of that, nothing more is written here."""
        self._store = store
        """Held so that it is not closed while runs are written; nothing else is asked of it."""
        self._writer = writer
        self._run_id: RunId = run.id
        self._tenant = run.tenant
        self._durability = durability
        self._epoch = epoch
        self._kept = list(kept)
        """Steps that have rows, or are about to, in their order."""
        self._fresh: list[StepRecord] = []
        """Steps after those, which a queued write brings along."""
        self._lock = threading.Lock()
        """Of both: the writer's thread takes the fresh ones."""

    async def accept(self, run: Run) -> None:
        """Commit the run's acceptance, with a lease that the writer renews."""
        write = self._begin()
        lease_until_ns = time.time_ns() + int(LEASE_S * 1e9)
        write.opened = run_row(run, self._durability, self._writer.owner, self._epoch, lease_until_ns, write.put)
        await self._writer.submit(_sized(write, write.opened))

    def step(self, record: StepRecord) -> None:
        """Write a finished step behind, under durability ``step``; under the others it waits for the seal."""
        if self._durability is not Durability.STEP:
            return
        with self._lock:
            self._fresh.append(record)
            is_first = len(self._fresh) == 1
        if is_first:
            write = self._begin()
            write.late = self._bring
            self._writer.post(write)

    async def intent(self, effect: EffectRecord) -> None:
        """Commit an intent, and every step before it, before returning."""
        await self._effect(effect)

    async def receipt(self, effect: EffectRecord) -> None:
        """Commit a receipt, or that the component refused the write, before returning."""
        await self._effect(effect)

    async def seal(self, run: Run) -> None:
        """Keep the ended run; committed on return, except under ``none``, where only a full queue makes it wait."""
        if run.status is None:
            raise StoreError(f"run {run.id} has not ended; a run is sealed once it has a status")
        try:
            await self._hand_over(self._sealing(run, run.status))
        finally:  # not before: until its seal is queued, this very process could take the run over
            self.ended = True

    def _sealing(self, run: Run, status: RunStatus) -> Write:
        """The head as it ended, and the steps that were not written yet."""
        write = self._begin()
        head = run_row(run, self._durability, "", self._epoch, 0, write.put)
        if self._durability is Durability.STEP:
            write.sealed = (run.id, self._epoch, status.value, *head[-2:])
        else:
            write.kept = head
        write.steps = self._missing_steps(run.steps, write)
        return _sized(write, head, *write.steps)

    async def _hand_over(self, write: Write) -> None:
        if self._durability is Durability.NONE and not self._writer.inbox.full:
            self._writer.post(write)
        else:
            await self._writer.submit(write)

    async def _effect(self, effect: EffectRecord) -> None:
        write = self._begin()
        write.effect = effect_row(effect, write.put)
        await self._writer.submit(_sized(write, write.effect))

    def _bring(self, write: Write) -> None:
        """Add the fresh steps to a write; in whichever thread commits it."""
        with self._lock:
            fresh, self._fresh = self._fresh, []
            first = len(self._kept)
            self._kept += fresh
        try:
            write.steps = step_rows(self._run_id, first, fresh, write.put)
            _sized(write, *write.steps)
        except NotJsonError as error:
            self.refused = StoreError(f"a step of run {self._run_id} cannot be kept: {error}")

    def _missing_steps(self, steps: Sequence[StepRecord], write: Write) -> list[Row]:
        """Rows of the steps that were not written yet; of all when those written are not the run's first ones."""
        with self._lock:
            self._fresh = []
            count = len(self._kept)
        write.rewrite = len(steps) < count or not all(map(is_, self._kept, steps))
        first = 0 if write.rewrite else count
        return step_rows(self._run_id, first, steps[first:], write.put)

    def _begin(self) -> Write:
        if self.refused is not None:
            raise self.refused
        write = Write(self._run_id, self._tenant, self._epoch if self._durability is Durability.STEP else 0)
        write.journal = self
        return write


def _sized(write: Write, *rows: Row) -> Write:
    """Count the documents of these rows into the write's size."""
    write.size += sum([len(row[-2]) for row in rows])  # type: ignore[arg-type,misc]  # the document, always text
    return write
