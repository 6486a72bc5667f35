"""The store: one SQLite file, written by one thread of each process that uses it, read by any."""

import asyncio
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self, Unpack

import msgspec

from stretto.record.model import Annotation, EffectRecord, Run, StepRecord
from stretto.store import reading, settings
from stretto.store.asked import as_annotation, check_filters, check_run_id, check_run_ids, check_settings, check_word
from stretto.store.batch import Write
from stretto.store.claim import claim, is_executing
from stretto.store.connect import is_there
from stretto.store.delete import delete
from stretto.store.exchange import Imported, export_to, import_from
from stretto.store.executing import Executing
from stretto.store.journal import RunJournal, StepJournal
from stretto.store.living import once_opened
from stretto.store.losses import Loss, find_losses
from stretto.store.owner import named, new_owner
from stretto.store.reader import Reader
from stretto.store.reading import Filters, RunSummary
from stretto.store.settle import annotate, settle_effect
from stretto.store.stats import StoreStats, count
from stretto.store.writer import Writer
from stretto.types.arguments import as_path, check_flag, check_text, check_whole, wrong
from stretto.types.enums import Durability, Reason, RunStatus
from stretto.types.errors import UsageError
from stretto.types.ids import RunId
from stretto.types.json import JsonObject
from stretto.types.setting import Setting, SettingValue

_UUID_CHARS: Final = 36

_STEP: Final = Durability.STEP  # quicker, for each run


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A run taken over: what it did so far, and the way to go on writing it."""

    run: Run
    """With the steps that were recorded."""
    effects: list[EffectRecord]
    journal: StepJournal
    epoch: int
    """The new fence: what the former owner writes from now on is refused."""

    @property
    def steps(self) -> list[StepRecord]:
        """The steps that were recorded."""
        return self.run.steps


class Store:
    """Runs, effects, annotations and settings in one SQLite file. Implements `record.recorder.Recorder`.

    Making one touches no disk; the file is made by the first write. Reading methods block: from an event loop, call
    them with `asyncio.to_thread`. Every method may be called from any thread, and sees what was handed over before.
    All raise StoreError, with the remedy, when the file is locked, read-only, damaged, full or not a store.
    """

    def __init__(self, path: str | Path, *, fsync: bool = False) -> None:
        """`fsync` makes each commit survive a power cut, not only a killed process."""
        check_flag("fsync", fsync)
        self.path = as_path("the path of a store", path)
        self._executing = Executing()
        at = self.path.absolute()  # a program may change its working folder
        self._writer = Writer(at, new_owner(), fsync=fsync, executing=self._executing.run_ids)
        self._reader = Reader(at)
        self._opened = False
        self._input_key = b""
        self._finalizer = weakref.finalize(self, _close, self._writer, self._reader)

    # writing runs

    async def open(self, run: Run, durability: Durability) -> RunJournal:
        """Begin a run's record; under ``step`` its acceptance is committed on return.

        Cancelled meanwhile, it seals the run as cancelled: its acceptance is on its way, and nobody is going to execute
        it.
        """
        if type(durability) is not Durability:
            raise wrong("the durability of a run", durability, "a Durability, such as Durability.STEP")
        if durability is _STEP:
            journal = StepJournal(self, self._writer, run, epoch=1)
            self._executing.begin(run.id, journal)
            try:
                await journal.accept(run)
            except asyncio.CancelledError:
                run.status, run.reason = RunStatus.CANCELLED, Reason.CANCELLED
                await journal.seal(run)
                raise
            self._opened = True
            return journal
        if not self._opened:
            await self._writer.submit(Write(run.id, run.tenant, 0))  # a store that cannot be opened says so now
            self._opened = True
        return RunJournal(self, self._writer, run, durability)

    def claim(self, run_id: str, owner: str = "") -> Claim:
        """Take over an interrupted or parked run; `owner` is a name for whoever asks who holds it.

        Raises UsageError when the run has ended or keeps no intents, StoreError when it is being executed, by another
        process or by this one.
        """
        check_text("owner", owner)
        run_id = self._resolve(run_id)
        self._catch_up()
        holder = named(self._writer.owner, owner)
        with self._executing.claim(run_id):
            run, effects, epoch = self._writer.call(lambda connection: claim(connection, run_id, holder), lease=True)
            journal = StepJournal(self, self._writer, run, epoch=epoch, kept=run.steps)
            self._executing.begin(run_id, journal)
        return Claim(run=run, effects=effects, journal=journal, epoch=epoch)

    @property
    def input_key(self) -> bytes:
        """Secret of this store, with which digests of inputs are keyed."""
        if not self._input_key:
            query = "SELECT value FROM meta WHERE key = 'input_key'"
            self._input_key = bytes(self._writer.call(lambda connection: connection.execute(query).fetchone()[0]))
        return self._input_key

    @property
    def lost(self) -> int:
        """Runs and steps that this object accepted for writing and could not commit; `stats` counts all there were."""
        return self._writer.lost

    # reading

    def get(self, run_id: str) -> Run:
        """A run by its id, by the unique beginning of it, or by its workflow_run_id."""
        found = self._resolve(run_id)
        self._catch_up()
        with self._reader.snapshot() as connection:
            run = reading.load_run(connection, found)
        if run is None:
            raise UsageError(f"run {run_id!r} is not in {self.path}; `stretto runs list` shows those that are")
        return run

    def by_effect_key(self, workflow: str, effect_key: str) -> Sequence[Run]:
        """The runs of a workflow that answer the call with this effect key, sealed or not, oldest first."""
        check_text("workflow", workflow)
        check_text("effect_key", effect_key)
        self._catch_up()
        with self._reader.snapshot() as connection:
            return reading.load_by_effect_key(connection, workflow, effect_key)

    def list(self, *, limit: int | None = None, **filters: Unpack[Filters]) -> Sequence[RunSummary]:
        """Runs, sealed or not, newest first."""
        check_filters(filters, limit)
        self._catch_up()
        with self._reader.snapshot() as connection:
            return reading.list_runs(connection, filters, limit)

    def runs(self, *, limit: int | None = None, **filters: Unpack[Filters]) -> Iterator[Run]:
        """Sealed runs with their steps, oldest first, a page at a time: what folds read."""
        check_filters(filters, limit)
        return self._scan(limit, filters)

    def _scan(self, limit: int | None, filters: Filters) -> Iterator[Run]:
        self._catch_up()
        after = ""
        while limit is None or limit > 0:
            with self._reader.snapshot() as connection:
                page = reading.scan_runs(connection, filters, after, limit)
            if not page:
                return
            yield from page
            after = page[-1].id
            limit = None if limit is None else limit - len(page)

    def effects(self, run_id: str) -> Sequence[EffectRecord]:
        """The writes of a run, in the order of their intents."""
        found = self._resolve(run_id)
        self._catch_up()
        with self._reader.snapshot() as connection:
            return reading.load_effects(connection, found)

    def in_doubt(self) -> Sequence[EffectRecord]:
        """Writes that may or may not have happened, of runs that nobody executes any more."""
        self._catch_up()
        with self._reader.snapshot() as connection:
            runs = reading.runs_in_doubt(connection)
            left = [run_id for run_id, status, owner, lease in runs if not is_executing(status, owner, lease)]
            return reading.load_in_doubt(connection, left)

    def quarantined(self, run_ids: Sequence[str]) -> set[str]:
        """Which of these runs hold a value that meant nothing in a domain of mode `quarantine`."""
        self._catch_up()
        with self._reader.snapshot() as connection:
            return reading.quarantined(connection, run_ids)

    def pending(self, now_ns: int | None = None) -> Sequence[RunSummary]:
        """Accepted runs that were never sealed and whose process is gone or silent: they wait to be resumed."""
        if now_ns is not None:
            check_whole("now_ns", now_ns)
        self._catch_up()
        with self._reader.snapshot() as connection:
            unsealed = list(reading.list_unsealed(connection))
        return [run for run, owner, lease in unsealed if not is_executing(None, owner, lease, now_ns)]

    def parked(self) -> Sequence[tuple[RunSummary, bool]]:
        """Parked runs with nothing left to settle, each with whether it can be resumed: one whose writes in doubt were
        settled can, one that kept no intents, or came from another store, cannot."""
        self._catch_up()
        with self._reader.snapshot() as connection:
            return reading.list_parked(connection)

    def annotations(self, run_id: str, *, as_of_ns: int | None = None) -> Sequence[Annotation]:
        """What became known of a run up to a time, in that order."""
        if as_of_ns is not None:
            check_whole("as_of_ns", as_of_ns)
        found = self._resolve(run_id)
        self._catch_up()
        with self._reader.snapshot() as connection:
            return reading.load_annotations(connection, found, as_of_ns)

    def annotated(self, name: str) -> Sequence[tuple[str, Annotation]]:
        """Every annotation of a name, each with the workflow of its run, in the order in which they became known."""
        check_text("the name of annotations", name)
        self._catch_up()
        with self._reader.snapshot() as connection:
            return reading.annotated(connection, name)

    def stats(self) -> StoreStats:
        """How much there is."""
        self._catch_up()
        with self._reader.snapshot() as connection:
            return count(connection, self.path, self._writer.lost_unsaved)

    def losses(self) -> Sequence[Loss]:
        """What was lost or done twice, as far as the store can show it; in a store that is well there is none."""
        self._catch_up()
        with self._reader.snapshot() as connection:
            return find_losses(connection)

    # changing what is kept

    def annotate(self, *annotations: Annotation) -> None:
        """Append what became known of runs; committed on return. Raises NotJsonError for a value that is not JSON."""
        kept = [as_annotation(annotation) for annotation in annotations]
        self._writer.call(lambda connection: annotate(connection, kept))

    def settle_effect(
        self, run_id: str, path: str, *, response: JsonObject | None, by: str = "", reason: str = ""
    ) -> EffectRecord:
        """Write down a person's word on a write in doubt: the response it gave, or None when it did not happen.

        Who said so and why is kept as an annotation. The run can be resumed afterwards.
        """
        check_word(response, path, by, reason)
        found = self._resolve(run_id)
        return self._writer.call(lambda connection: settle_effect(connection, found, path, response, by, reason))

    def delete(self, run_ids: Sequence[str], *, force: bool = False) -> int:
        """Delete runs with their steps, effects, annotations and content that no other run shares; returns how many.

        Refuses a run that is being executed, and without `force` one with a write in doubt.
        """
        found = [self._resolve(run_id) for run_id in check_run_ids(run_ids)]
        return self._writer.call(lambda connection: delete(connection, found, force=force))

    # settings

    def set_settings(
        self,
        workflow: str,
        changes: Mapping[str, SettingValue],
        *,
        by: str = "",
        reason: str = "",
        after: int | None = None,
    ) -> Sequence[Setting] | None:
        """Write down other values of a workflow's keys, or None to take them back; committed on return.

        Whether the workflow has such keys and values, `Workflow.set` knows and not the store. With `after`, nothing is
        written and None is returned when another change came since that revision.
        """
        check_settings(workflow, changes, by, reason)
        return self._writer.call(
            lambda connection: settings.append_settings(connection, workflow, changes, by, reason, after)
        )

    def settings(self, workflow: str) -> Sequence[Setting]:
        """The last change of each key of a workflow, oldest first; also those that took one back."""
        with self._reader.snapshot() as connection:
            return settings.load_settings(connection, workflow)

    def settings_history(self, workflow: str, key: str | None = None) -> Sequence[Setting]:
        """Every change of a workflow, or of one of its keys, oldest first."""
        with self._reader.snapshot() as connection:
            return settings.load_history(connection, workflow, key)

    def settings_revision(self, workflow: str) -> int:
        """Revision of the last change of a workflow, 0 when there is none; cheap enough to ask all the time."""
        if not is_there(self.path):
            return 0
        with self._reader.snapshot() as connection:
            return settings.newest_revision(connection, workflow)

    # leaving and entering

    def export(
        self,
        out: str | Path,
        *,
        blobs_dir: str | Path | None = None,
        limit: int | None = None,
        **filters: Unpack[Filters],
    ) -> int:
        """Write sealed runs, each followed by its effects and annotations, as JSON Lines; returns how many runs.

        Arrays go to `blobs_dir`, by default a folder beside: ``runs.jsonl`` has ``runs.blobs``.
        """
        runs = self.runs(limit=limit, **filters)
        return export_to(self, as_path("out", out), _folder(blobs_dir), runs)

    def import_(self, source: str | Path, *, blobs_dir: str | Path | None = None) -> Imported:
        """Take in what an export wrote. A record that is here already is left as it stands; a run that differs from
        its namesake here is refused. The whole file is checked before anything is written: UsageError names file and
        line.

        What was imported can be read, folded and replayed, not resumed: its own store may be resuming it.
        """
        self._catch_up()
        return import_from(self._writer, self._reader, as_path("source", source), _folder(blobs_dir))

    # life

    def flush(self) -> None:
        """Return when everything handed over so far is committed."""
        if not self._writer.inbox.idle:
            self._writer.call(lambda _: None)

    def close(self) -> None:
        """Commit what is queued, let others take over unsealed runs, and close the file. Closing twice is no harm."""
        self._finalizer()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._writer.inbox.closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _catch_up(self) -> None:
        """Let a reader see what was handed over before."""
        if not self._writer.inbox.closed:
            self.flush()

    def _resolve(self, run_id: str) -> RunId:
        """The full id that is meant; raises UsageError when there is none or more than one."""
        check_run_id(run_id)
        wanted = run_id.rpartition(".")[2].lower()
        if len(wanted) == _UUID_CHARS:
            return RunId(wanted)
        self._catch_up()
        with self._reader.snapshot() as connection:
            return reading.resolve(connection, wanted)


def _folder(given: str | Path | None) -> Path | None:
    return None if given is None else as_path("blobs_dir", given)


def _close(writer: Writer, reader: Reader) -> None:
    def close() -> None:
        writer.close()
        reader.close()

    once_opened(close)
