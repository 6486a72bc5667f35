"""The store: reachable, whole, nothing lost, nothing stranded, nothing in doubt."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from stretto.cli.doctor.fallbacks import fallbacks
from stretto.cli.doctor.findings import Finding, State
from stretto.cli.doctor.losses import losses
from stretto.cli.doctor.unfinished import unfinished
from stretto.cli.doctor.unopened import unopened
from stretto.cli.waiting import Typed
from stretto.cli.words import bytes_text, count_text
from stretto.store.connect import connect_reader, is_there
from stretto.store.failure import store_error
from stretto.store.schema import VERSION, version_of
from stretto.store.sqlite import Store
from stretto.types.errors import StoreError


def examine_store(path: Path, *, given: Path | None) -> Sequence[Finding]:
    """Everything about one store, up to the first thing that makes the rest unknowable: then nothing is called well."""
    findings: list[Finding] = []
    try:
        if not is_there(path):
            return [_no_store(path, given=given)]
        if not path.is_file():
            return [_no_file(path)]
        findings += _file(path)
        with Store(path) as store:
            findings += _content(store, Typed(store=given))
    except StoreError as error:
        what, _, remedy = str(error).partition("; ")
        wrong = Finding(name="store", state=State.WRONG, text=what, remedy=remedy)
        return [*(finding for finding in findings if finding.state is State.WRONG), wrong]
    return findings


def _no_file(path: Path) -> Finding:
    return Finding(
        name="store",
        state=State.WRONG,
        text=f"{path} is {'a folder' if path.is_dir() else 'no file'}, and a store is a file",
        remedy="name the file with --store or $STRETTO_STORE",
    )


def _no_store(path: Path, *, given: Path | None) -> Finding:
    """Somebody who names a store means one that is there; the usual place may well be empty before the first run."""
    folder = next(parent for parent in path.absolute().parents if is_there(parent))
    if not folder.is_dir():
        return Finding(
            name="store",
            state=State.WRONG,
            text=f"none at {path}, and {folder} is no folder",
            remedy="name another store with --store or $STRETTO_STORE",
        )
    if os.access(folder, os.W_OK) and given is not None:
        return Finding(
            name="store",
            state=State.WRONG,
            text=f"there is none at {path.absolute()}",
            remedy="see that the path is right; only a first run makes a store there",
        )
    if os.access(folder, os.W_OK):
        return Finding(name="store", state=State.NOTE, text=f"none yet at {path}; the first run makes it")
    return Finding(
        name="store",
        state=State.WRONG,
        text=f"none at {path}, and {folder} may not be written to",
        remedy="give this user the right to, or name another store with --store or $STRETTO_STORE",
    )


def _file(path: Path) -> Iterator[Finding]:
    connection = connect_reader(path)
    try:
        version = version_of(connection)
        findings = [_told(row[0]) for row in connection.execute("PRAGMA integrity_check(3)")]
    except sqlite3.Error as error:
        raise store_error(error, path) from error
    finally:
        connection.close()
    older = "" if version == VERSION else f", brought up to {VERSION} by the next write"
    yield Finding(name="store", state=State.WELL, text=f"{path.absolute()}, schema {version}{older}")
    if findings == ["ok"]:
        yield Finding(name="integrity", state=State.WELL, text="ok")
    else:
        yield Finding(
            name="integrity",
            state=State.WRONG,
            text="; ".join(findings),
            remedy=f"restore it from a backup or an export; what can be read: sqlite3 {path} .recover",
        )
    if not (os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)):
        yield Finding(
            name="rights",
            state=State.WRONG,
            text="the store may be read and not written to",
            remedy=f"give this user the right to write to {path} and its folder",
        )


def _told(finding: str) -> str:
    """What SQLite's check says, without its headings: ``*** in database main ***``."""
    return "; ".join(line for line in finding.splitlines() if not line.startswith("***"))


def _content(store: Store, typed: Typed) -> Iterator[Finding]:
    stats = store.stats()
    sizes = f"{count_text(stats.runs, 'run')}, {count_text(stats.steps, 'step')}, {bytes_text(stats.bytes)}"
    yield Finding(name="content", state=State.WELL, text=sizes)
    yield _counted(
        "lost",
        stats.lost,
        "record",
        "the disk was full or failed when they were written; see that it is well, and run them again",
    )
    yield from losses(store)
    yield from unfinished(store, typed)
    yield from fallbacks(store)
    yield from unopened(store)


def _counted(name: str, count: int, what: str, remedy: str) -> Finding:
    if not count:
        return Finding(name=name, state=State.WELL, text="0", count=0)
    return Finding(name=name, state=State.WRONG, text=count_text(count, what), remedy=remedy, count=count)
