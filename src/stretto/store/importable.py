"""Whether a store can take in what a file holds, told before anything of it is written."""

import re
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from stretto.record.canonical import canonical
from stretto.record.codec import encode_run
from stretto.record.lines import Record
from stretto.record.model import Annotation, EffectRecord, Run
from stretto.store.reading import has_run, load_run
from stretto.types.arguments import INT64_MAX, INT64_MIN
from stretto.types.errors import UsageError
from stretto.types.ids import Digest, digest_of

_RUN_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""As RFC 9562 writes a UUID: by any other id a run could not be asked for."""


def check_all(connection: sqlite3.Connection, records: Iterable[tuple[str, Record]], source: Path) -> None:
    """Raise UsageError, with file and line, for the first record that could not be taken in, and when there is none."""
    runs: dict[str, Digest] = {}
    place = ""
    for place, record in records:
        if isinstance(record, Run):
            _check_run(connection, place, record, runs)
        else:
            _check_named(connection, place, record, runs)
        _check_time(place, record)
    if not place:
        raise UsageError(f"{source} holds no records; expected what `stretto runs export` writes")


def _check_run(connection: sqlite3.Connection, place: str, run: Run, runs: dict[str, Digest]) -> None:
    if run.status is None:
        raise UsageError(f"{place}: run {run.id} is not sealed; only sealed runs are imported")
    if not _RUN_ID.fullmatch(run.id):
        raise UsageError(f"{place}: {run.id!r} is no id of a run; expected a UUID in lower case")
    content = _content(run)
    if runs.setdefault(run.id, content) != content:
        raise UsageError(f"{place}: run {run.id} is there twice with different content")
    here = load_run(connection, run.id)
    if here is not None and _content(here) != content:
        raise UsageError(f"{place}: run {run.id} is in the store with other content; a sealed run never changes")


def _check_named(
    connection: sqlite3.Connection, place: str, record: EffectRecord | Annotation, runs: dict[str, Digest]
) -> None:
    if record.run_id not in runs and not has_run(connection, record.run_id):
        raise UsageError(
            f"{place}: it names run {record.run_id}, which is neither in the store nor before it in the file"
        )


def _check_time(place: str, record: Record) -> None:
    name = (
        "started_at_ns" if isinstance(record, Run) else "at_ns" if isinstance(record, Annotation) else "intended_at_ns"
    )
    at_ns = getattr(record, name)
    if not INT64_MIN <= at_ns <= INT64_MAX:
        raise UsageError(f"{place}: {name} is {at_ns}; expected nanoseconds in 64 bits")


def _content(run: Run) -> Digest:
    return digest_of(canonical(encode_run(run, digest_of)))
