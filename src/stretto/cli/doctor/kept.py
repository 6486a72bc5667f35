"""The store: reachable, whole, nothing lost, nothing stranded, nothing in doubt."""

import os
import shlex
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from stretto.cli.doctor.findings import Finding, State
from stretto.cli.words import bytes_text, count_text
from stretto.store.connect import connect_reader
from stretto.store.failure import store_error
from stretto.store.schema import VERSION, version_of
from stretto.store.sqlite import Store
from stretto.types.errors import StoreError

_SHOWN: Final = 3
"""Ids in one finding; `stretto runs list` has them all."""


def examine_store(path: Path, *, given: Path | None) -> Sequence[Finding]:
    """Everything about one store, up to the first thing that makes the rest unknowable: then nothing is called well."""
    if not path.exists():
        return [_no_store(path)]
    if not path.is_file():
        return [_no_file(path)]
    findings: list[Finding] = []
    try:
        findings += _file(path)
        with Store(path) as store:
            findings += _content(store, "" if given is None else f" --store {shlex.quote(str(given))}")
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


def _no_store(path: Path) -> Finding:
    folder = next(parent for parent in path.absolute().parents if parent.exists())
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


def _content(store: Store, flag: str) -> Iterator[Finding]:
    stats = store.stats()
    sizes = f"{count_text(stats.runs, 'run')}, {count_text(stats.steps, 'step')}, {bytes_text(stats.bytes)}"
    yield Finding(name="content", state=State.WELL, text=sizes)
    yield _counted(
        "lost",
        stats.lost,
        "record",
        "the disk was full or failed when they were written; see that it is well, and run them again",
    )
    yield _listed(
        "interrupted",
        [run.id for run in store.pending()],
        "run",
        f"stretto runs resume {{}}{flag}, with --workflow FILE",
    )
    yield _listed(
        "in doubt",
        [f"{effect.run_id} {effect.path}" for effect in store.in_doubt()],
        "write",
        f"find out whether it happened, then: stretto runs resume RUN{flag} --happened OUTPUT | --did-not-happen",
    )


def _counted(name: str, count: int, what: str, remedy: str) -> Finding:
    if not count:
        return Finding(name=name, state=State.WELL, text="0")
    return Finding(name=name, state=State.WRONG, text=count_text(count, what), remedy=remedy)


def _listed(name: str, found: Sequence[str], what: str, remedy: str) -> Finding:
    if not found:
        return Finding(name=name, state=State.WELL, text="0")
    more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    text = f"{count_text(len(found), what)}: {', '.join([*found[:_SHOWN], *more])}"
    return Finding(name=name, state=State.WRONG, text=text, remedy=remedy.format(found[0]))
