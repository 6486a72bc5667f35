"""One run's way into the store. Implements `record.recorder.Journal`."""

import threading
import time
from collections.abc import Sequence
from operator import is_
from typing import Final

from stretto.record.model import EffectRecord, Run, StepRecord
from stretto.store.batch import Refusable, Write
from stretto.store.owner import LEASE_S
from stretto.store.rows import Row, StepRow, effect_row, head_doc, kept_row, opened_row, step_rows
from stretto.store.writer import Writer
from stretto.types.enums import Durability
from stretto.types.errors import NotJsonError, StoreError
from stretto.types.ids import RunId

_NONE: Final = Durability.NONE  # quicker, for each run


class RunJournal(Refusable):
    """Writes one run when it has ended: durability ``run`` and ``none``. A record may not change once handed over."""

    __slots__ = ("_durability", "_epoch", "_run_id", "_store", "_tenant", "_writer")

    def __init__(self, store: object, writer: Writer, run: Run, durability: Durability) -> None:
        self.refused = None
        self._store = store
        """Held so that it is not closed while runs are written; nothing else is asked of it."""
        self._writer = writer
        self._run_id: RunId = run.id
        self._tenant = run.tenant
        self._durability = durability
        self._epoch = 0
        """The fence that its writes are held to; 0 before the run has a row."""

    def step(self, record: StepRecord) -> None:
        """Nothing yet: it waits for the seal."""

    async def intent(self, effect: EffectRecord) -> None:
        """Commit an intent, and every step that was to be written before it, before returning."""
        await self._effect(effect)

    async def receipt(self, effect: EffectRecord) -> None:
        """Commit a receipt, or that the component refused the write, before returning."""
        await self._effect(effect)

    async def seal(self, run: Run) -> None:
        """Keep the ended run; committed on return, except under ``none``, where only a full queue makes it wait."""
        if run.status is None:
            raise _not_ended(run)
        write = self._begin()
        write.kept = kept_row(run, self._durability, write.put)
        write.steps = step_rows(run.id, 0, run.steps, write.put)
        _sized(write, write.kept, *write.steps)
        if self._durability is _NONE and not self._writer.inbox.full:
            self._writer.post(write)
        else:
            await self._writer.submit(write)

    async def _effect(self, effect: EffectRecord) -> None:
        write = self._begin()
        write.effect = effect_row(effect, write.put)
        await self._writer.submit(_sized(write, write.effect))

    def _begin(self) -> Write:
        if self.refused is not None:
            raise self.refused
        return Write(self._run_id, self._tenant, self._epoch, self)


class StepJournal(RunJournal):
    """Writes one run as it goes: durability ``step``.

    Finished steps are written behind, all those together that there are when the writer comes round, and the head is
    updated at the end. A write that another process's claim has fenced off raises StoreError here, or, when it was
    written behind, at the next call.
    """

    __slots__ = ("__weakref__", "_fresh", "_kept", "_lock", "ended")

    def __init__(self, store: object, writer: Writer, run: Run, *, epoch: int, kept: Sequence[StepRecord] = ()) -> None:
        super().__init__(store, writer, run, Durability.STEP)
        self.ended = False
        """Whether it tried to seal the run: whatever became of that, nothing more is written here."""
        self._epoch = epoch
        self._kept = list(kept)
        """Steps that are written, or are about to be, in their order."""
        self._fresh: list[StepRecord] = []
        """Steps after those, which a queued write brings along: encoded when it is committed."""
        self._lock = threading.Lock()
        """Of both: the writer's thread takes the fresh ones."""

    async def accept(self, run: Run) -> None:
        """Commit the run's acceptance, with a lease that the writer renews."""
        write = self._begin()
        lease_until_ns = time.time_ns() + int(LEASE_S * 1e9)
        write.opened = opened_row(run, self._writer.owner, self._epoch, lease_until_ns, write.put)
        await self._writer.submit(_sized(write, write.opened))

    def step(self, record: StepRecord) -> None:
        """Write a finished step behind."""
        with self._lock:
            self._fresh.append(record)
            is_first = len(self._fresh) == 1
        if is_first:
            write = self._begin()
            write.late = self._bring
            self._writer.post(write)

    async def seal(self, run: Run) -> None:
        """Update the head as it ended, with the steps that were not written yet; committed on return."""
        if run.status is None:
            raise _not_ended(run)
        try:
            write = self._begin()
            write.sealed = (run.id, self._epoch, run.status.value, *head_doc(run, write.put))
            write.steps = self._missing_steps(run.steps, write)
            await self._writer.submit(_sized(write, write.sealed, *write.steps))
        finally:  # not before: until its seal is queued, this very process could take the run over
            self.ended = True

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

    def _missing_steps(self, steps: Sequence[StepRecord], write: Write) -> list[StepRow]:
        """Rows of the steps that were not written yet; of all when those written are not the run's first ones."""
        with self._lock:
            self._fresh = []
            count = len(self._kept)
        write.rewrite = len(steps) < count or not all(map(is_, self._kept, steps))
        first = 0 if write.rewrite else count
        return step_rows(self._run_id, first, steps[first:], write.put)


def _not_ended(run: Run) -> StoreError:
    return StoreError(f"run {run.id} has not ended; a run is sealed once it has a status")


def _sized(write: Write, *rows: Row) -> Write:
    """Count the documents of these rows into the write's size."""
    for row in rows:
        write.size += len(row[-2])  # type: ignore[arg-type]  # the document, always text
    return write
