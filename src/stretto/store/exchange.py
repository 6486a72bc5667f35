"""Leaving a store as JSON Lines, and entering another."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

import msgspec

from stretto.record.codec import encode_annotation
from stretto.record.lines import Record, export_runs, import_lines
from stretto.record.model import Annotation, EffectRecord, Run
from stretto.store.batch import Write, apply
from stretto.store.importable import check_all
from stretto.store.reader import Reader
from stretto.store.reading import has_run
from stretto.store.rows import kept_row, step_rows
from stretto.store.settle import insert_annotation, write_effect
from stretto.store.whole_file import whole_file
from stretto.store.writer import Writer
from stretto.types.enums import Durability
from stretto.types.errors import StoreError, UsageError

_BATCH: Final = 200
"""Records per transaction of an import."""


class Keeper(Protocol):
    """What is exported beside the runs themselves, and where it lies."""

    @property
    def path(self) -> Path: ...

    def effects(self, run_id: str) -> Sequence[EffectRecord]: ...

    def annotations(self, run_id: str) -> Sequence[Annotation]: ...


class Imported(msgspec.Struct, kw_only=True):
    """What an import took."""

    runs: int = 0
    effects: int = 0
    annotations: int = 0
    already_here: int = 0
    """Records that the store had already, left as they stand."""


def export_to(store: Keeper, out: Path, blobs_dir: Path | None, runs: Iterable[Run]) -> int:
    """Write runs, each followed by its effects and annotations; returns how many runs.

    What `out` held before stays until all is written. Raises UsageError when it is a file of the store itself.
    """
    if out.resolve() in _own_files(store.path):
        raise UsageError(f"{out} is a file of the store itself, which an export would destroy; choose another place")
    count = 0

    def records() -> Iterator[Record]:
        nonlocal count
        for run in runs:
            count += 1
            yield run
            yield from store.effects(run.id)
            yield from store.annotations(run.id)

    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(out) as file:
            export_runs(records(), file, blobs_dir or _beside(out))
    except OSError as error:
        raise StoreError(f"{out} cannot be written: {error.strerror or error}; choose another place") from error
    return count


def import_from(writer: Writer, reader: Reader, source: Path, blobs_dir: Path | None) -> Imported:
    """Check the whole file, by itself and against the store, then take it in.

    That is done a batch at a time: an import that a full disk cut short can be repeated. Raises UsageError with file
    and line, before anything is written, for what no export wrote or this store cannot take.
    """
    imported = Imported()
    blobs = blobs_dir or _beside(source)
    try:
        with source.open("rb") as file, reader.snapshot() as connection:
            check_all(connection, import_lines(file, blobs, str(source)), source)
        with source.open("rb") as file:
            records = (record for _, record in import_lines(file, blobs, str(source)))
            said: Counter[str] = Counter()
            while batch := list(islice(records, _BATCH)):
                writer.call(partial(insert_records, records=batch, imported=imported, said=said))
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}; give the path of an export") from error
    return imported


def _own_files(path: Path) -> set[Path]:
    """The database with its write-ahead log and shared memory (sqlite.org/tempfiles.html)."""
    place = path.resolve()
    return {place, *(place.with_name(place.name + ending) for ending in ("-wal", "-shm", "-journal"))}


def _beside(path: Path) -> Path:
    return path.parent / f"{path.stem}.blobs"


def insert_records(
    connection: sqlite3.Connection, records: Iterable[Record], imported: Imported, said: Counter[str]
) -> None:
    """Add records that were checked; one that is here already is left as it stands.

    `said` counts the annotations of the run at hand: what was said twice in the same words is kept twice.
    """
    for record in records:
        if isinstance(record, Run):
            said.clear()
            imported.runs += _insert_run(connection, record, imported)
        elif isinstance(record, EffectRecord):
            imported.effects += _import_effect(connection, record, imported)
        else:
            imported.annotations += _import_annotation(connection, record, imported, said)


def _insert_run(connection: sqlite3.Connection, run: Run, imported: Imported) -> bool:
    if has_run(connection, run.id):
        imported.already_here += 1
        return False
    write = Write(run.id, run.tenant, 0)
    write.kept = kept_row(run, Durability.NONE, write.put)
    write.steps = step_rows(run.id, 0, run.steps, write.put)
    apply(connection, [write])
    return True


def _import_effect(connection: sqlite3.Connection, effect: EffectRecord, imported: Imported) -> bool:
    tenant = _tenant_of(connection, effect.run_id)
    known = "SELECT 1 FROM effects WHERE run_id = ? AND path = ?"
    if connection.execute(known, (effect.run_id, effect.path)).fetchone() is not None:
        imported.already_here += 1
        return False
    write_effect(connection, effect, tenant)
    return True


def _import_annotation(
    connection: sqlite3.Connection, annotation: Annotation, imported: Imported, said: Counter[str]
) -> bool:
    _tenant_of(connection, annotation.run_id)
    known = "SELECT count(*) FROM annotations WHERE run_id = ? AND doc = ?"
    doc = encode_annotation(annotation).decode()
    said[doc] += 1
    if connection.execute(known, (annotation.run_id, doc)).fetchone()[0] >= said[doc]:
        imported.already_here += 1
        return False
    insert_annotation(connection, annotation)
    return True


def _tenant_of(connection: sqlite3.Connection, run_id: str) -> str:
    row = connection.execute("SELECT tenant FROM runs WHERE id = ?", (run_id,)).fetchone()
    if row is None:
        raise StoreError(f"run {run_id} was deleted while its records were imported; import them again")
    return str(row[0])
