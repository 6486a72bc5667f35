"""Opening the file: its folder made, its header judged, its schema brought up to date."""

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from stretto.store.failure import LOCK_WAIT_S, PRIMARY, damaged, newer, not_a_store, store_error, unreachable
from stretto.store.living import living, none_living
from stretto.store.schema import APPLICATION_ID, VERSION, application_of, migrate, version_of

_CACHED_STATEMENTS: Final = 256
"""Seven sizes of each of the writer's multi-row statements, and every query, stay prepared."""

_MAGIC: Final = b"SQLite format 3\0"
_HEADER_BYTES: Final = 100
_PAGE_SIZE_AT: Final = slice(16, 18)
_PAGE_COUNT_AT: Final = slice(28, 32)
"""Offsets in the database header (https://sqlite.org/fileformat2.html, section 1.3)."""

_NO_LOG: Final = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
"""Failures of a reader that may not make the files of the log; without a log it needs none."""

_RETRY_S: Final = 0.002
"""Pause between tries to get a lock that another process holds."""


def connect_writer(path: Path, *, fsync: bool) -> sqlite3.Connection:
    """Open the file for writing, making or migrating it; raises StoreError with the remedy.

    The connection itself waits for no lock: begin with `patiently` to wait.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        judge_header(path)
    except OSError as error:
        raise unreachable(error, path, "opened") from error
    try:
        connection = _connect(path)
    except sqlite3.Error as error:
        raise store_error(error, path) from error
    try:
        _judge_owner(connection, path)
        _use_wal(connection)
        connection.execute(f"PRAGMA synchronous = {'FULL' if fsync else 'NORMAL'}")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # the writer makes its checkpoints between tasks
        migrate(connection)
        _judge_owner(connection, path)  # again: it may have become a later release's meanwhile
        connection.execute("PRAGMA busy_timeout = 0")
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.Error):
            raise store_error(error, path) from error
        raise
    return connection


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open a file of this release for reading only; from a medium that cannot be written to as well.

    Raises StoreError with the remedy.
    """
    try:
        judge_header(path)
        try:
            return _reading(_connect(path), path)
        except sqlite3.Error as error:
            if error.sqlite_errorcode & PRIMARY not in _NO_LOG or log_bytes(path):
                raise
            return _reading(_connect(path, f"{path.absolute().as_uri()}?immutable=1"), path)
    except sqlite3.Error as error:
        raise store_error(error, path) from error
    except OSError as error:
        raise unreachable(error, path, "read") from error


def is_there(path: Path) -> bool:
    """Whether something stands at the path of a store; raises StoreError where nobody may look."""
    try:
        return path.exists()
    except OSError as error:
        raise unreachable(error, path, "read") from error


def _reading(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """Judge the file and let nothing be written; closes the connection when it raises."""
    try:
        _judge_owner(connection, path)
        connection.execute("PRAGMA query_only = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def judge_header(path: Path) -> None:
    """Refuse a file that is not a database, or is shorter than its header says, before SQLite touches it."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return
    if not path.is_file():
        raise not_a_store(path, "it is not a file")
    with none_living(path) as may_open:
        header = _header(path) if may_open else b""  # then it was judged before
    if not header:
        return
    if not header.startswith(_MAGIC[: len(header)]) or len(header) < _HEADER_BYTES:
        raise not_a_store(path, "it is not an SQLite database")
    page = int.from_bytes(header[_PAGE_SIZE_AT], "big")
    expected = int.from_bytes(header[_PAGE_COUNT_AT], "big") * (65536 if page == 1 else page)
    if size < expected and not log_bytes(path):
        raise damaged(path, f"it has {size:,} bytes where its header says {expected:,}; it was truncated")


def _header(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEADER_BYTES)


def log_bytes(path: Path) -> int:
    """Size of the write-ahead log beside the file; if there is one, it may hold what the file lacks."""
    try:
        return os.stat(f"{path}-wal").st_size
    except FileNotFoundError:
        return 0


def _connect(path: Path, uri: str = "") -> sqlite3.Connection:
    """A connection in autocommit mode that any one thread at a time may use."""
    return living(
        path,
        uri,
        timeout=LOCK_WAIT_S,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_CACHED_STATEMENTS,
    )


def _judge_owner(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file of another application or of a later release."""
    application, version = application_of(connection), version_of(connection)
    if application not in (0, APPLICATION_ID):
        raise not_a_store(path, f"it belongs to another application (application_id {application:#x})")
    if application == 0 and connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
        raise not_a_store(path, "it is an SQLite database with tables of its own")
    if version > VERSION:
        raise newer(path, version, VERSION)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log, which lets readers read while the writer writes."""
    patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))


def patiently(attempt: Callable[[], object]) -> None:
    """Make an attempt, again while another process holds the lock; after LOCK_WAIT_S its failure is raised."""
    give_up = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            attempt()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(_RETRY_S)
        else:
            return
