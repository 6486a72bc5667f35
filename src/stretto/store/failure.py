"""What SQLite says, as a StoreError that says what to do."""

import errno
import sqlite3
from pathlib import Path
from typing import Final

from stretto.types.errors import StoreError

LOCK_WAIT_S: Final = 10.0
"""How long a statement waits for another process's lock. A writer's transaction takes milliseconds, a checkpoint of
a large log on a slow disk can take seconds; longer than this, somebody holds the lock and forgot it."""

PRIMARY: Final = 0xFF
"""An extended result code's low byte is its primary code (https://sqlite.org/rescode.html)."""


_REMEDIES: Final = {
    errno.EACCES: "give this user the right to read and write it and its folder, or choose another path",
    errno.ENAMETOOLONG: "choose a shorter path",
    errno.EEXIST: "that is no folder; choose another path",
    errno.ENOTDIR: "a part of the path is no folder; choose another path",
}
"""What to do about a place that cannot be reached."""


def store_error(error: sqlite3.Error, path: Path) -> StoreError:
    """Name the failure and its remedy."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & PRIMARY
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(
            f"{path} is locked: another process has held its write lock for {LOCK_WAIT_S:g} s; "
            "end that process (a shell in a transaction?), or try again",
            retryable=True,
        )
    if code == sqlite3.SQLITE_READONLY:
        return StoreError(
            f"{path} is read-only; give this user the right to write to the file and its folder, "
            "or choose another store"
        )
    if code == sqlite3.SQLITE_FULL:
        return StoreError(
            f"{path} cannot grow: the disk is full; free some space and try again. Everything acknowledged is kept",
            retryable=True,
        )
    if code == sqlite3.SQLITE_CANTOPEN:
        return StoreError(f"{path} cannot be opened ({error}); check that its folder exists and may be written to")
    if code == sqlite3.SQLITE_NOTADB:
        return not_a_store(path, "it is not an SQLite database")
    if code == sqlite3.SQLITE_CORRUPT:
        return damaged(path, _first_finding(path) or str(error))
    if code == sqlite3.SQLITE_IOERR:
        return StoreError(f"{path}: the disk failed ({name}); check the disk and its mount, then `stretto doctor`")
    return StoreError(f"{path}: {error} ({name})")


def unreachable(error: OSError, path: Path, to: str) -> StoreError:
    """The error for a place that the system does not let anybody get at; `to` is what was to be done with it."""
    at = "" if error.filename in (None, path, str(path)) else f" at {error.filename}"
    remedy = _REMEDIES.get(error.errno or 0, "choose another path, or correct its rights")
    return StoreError(f"{path} cannot be {to}: {error.strerror or error}{at}; {remedy}")


def not_a_store(path: Path, why: str) -> StoreError:
    """The error for a file that is something else."""
    return StoreError(f"{path} is not a Stretto store: {why}; choose another path, nothing was changed")


def damaged(path: Path, finding: str) -> StoreError:
    """The error for a file that lost some of its content."""
    return StoreError(
        f"{path} is damaged: {finding}. Restore it from a backup or an export; what can still be read: "
        f"sqlite3 {path} .recover | sqlite3 recovered.db"
    )


def newer(path: Path, version: int, known: int) -> StoreError:
    """The error for a file of a later release."""
    return StoreError(
        f"{path} was written by a newer release (schema {version}, this one reads up to {known}); upgrade stretto"
    )


def _first_finding(path: Path) -> str:
    """The first thing that SQLite's own check finds wrong; empty when it finds nothing or cannot look."""
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            finding = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.Error:
        return ""
    found = (line for line in finding.splitlines() if line != "ok" and not line.startswith("***"))  # but the heading
    return next(found, "")
