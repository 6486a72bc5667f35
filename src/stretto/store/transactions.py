"""The connection that writes, and what a transaction on it is. One thread at a time may use it."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from stretto.store.connect import connect_writer, log_bytes, patiently
from stretto.store.failure import store_error
from stretto.store.living import identity
from stretto.types.errors import StoreError

_T = TypeVar("_T")

_BEGIN: Final = "BEGIN IMMEDIATE"
"""The write lock at once, so that nothing fails for want of it halfway."""

_CHECKPOINT_BYTES: Final = 16 << 20
"""Of the log, about, between two checkpoints."""

_MOST_LOG_BYTES: Final = 2 * _CHECKPOINT_BYTES
"""Of the log's file, from which on the others wait for a checkpoint."""

_TRANSACTION_BYTES: Final = 20_000
"""What a transaction adds to the log beside its documents: a few pages of tables and indexes."""

_LOOK_S: Final = 1.0
"""Between two looks whether the file is still there. SQLite goes on writing to one that was deleted, and never says."""

_PASSING: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL)
"""Failures after which the connection is as good as before."""


class Transactions:
    """Opens the file with the first transaction, and again after a failure that the connection did not survive."""

    def __init__(self, path: Path, *, fsync: bool) -> None:
        self.waits_for_disk = fsync
        """Whether each commit does."""
        self.lost_unsaved = 0
        """Records that could not be committed, and of which the file does not know yet: the next transaction says."""
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._file = (0, 0)
        """Device and number of the file that is open."""
        self._look_at = 0.0
        """When to look again whether it is still in its place, by the monotonic clock."""
        self._logged = 0
        """Bytes, about, that the log has grown by since it was last copied into the file."""

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self._connection is not None

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether the log should be copied into the file: whoever does it waits for the disk."""
        return self._logged >= _CHECKPOINT_BYTES

    def run(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do work between BEGIN and COMMIT; waits for another process's lock.

        Raises StoreError, with the remedy, for what SQLite reports, but IntegrityError as it is.
        """
        if self._connection is None:
            self._connection = connect_writer(self._path, fsync=self.waits_for_disk)
            self._file = identity(self._path)
        self._look()
        connection = self._connection
        try:
            patiently(lambda: connection.execute(_BEGIN))
            return self._until_commit(connection, work)
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) not in _PASSING:
                self.close()
            raise store_error(error, self._path) from error

    def run_at_once(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """`run` on a connection that is open, without waiting for a lock; raises whatever SQLite reports."""
        if self._connection is None:
            raise sqlite3.OperationalError("the file is not open")
        self._look()
        self._connection.execute(_BEGIN)
        return self._until_commit(self._connection, work)

    def wrote(self, size: int) -> None:
        """Count the bytes of the documents that a transaction has committed."""
        self._logged += size

    def checkpoint(self) -> None:
        """Copy the log into the file when it has grown; it is then written from its start again.

        Where several write, hardly ever is all of it copied at a moment when none of them adds to it, and it would grow
        without end: when it has, the others are made to wait.
        """
        if self._connection is None or not self.is_checkpoint_due:
            return
        with suppress(sqlite3.Error, OSError):  # a reader or another writer is in its way: next time
            mode = "RESTART" if log_bytes(self._path) > _MOST_LOG_BYTES else "PASSIVE"
            self._connection.execute(f"PRAGMA wal_checkpoint({mode})")
        self._logged = 0

    def close(self) -> None:
        """Close the connection; the next transaction opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _look(self) -> None:
        """Raise StoreError when the file is gone from its place; the next transaction makes a new one."""
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_S
        if identity(self._path) != self._file:
            self.close()
            raise StoreError(
                f"{self._path} was deleted or replaced while it was in use, and with it what it held; bring it back "
                "before anything more is run, or go on with a new store: the next run makes one"
            )

    def _until_commit(self, connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do the work of a transaction that has begun."""
        try:
            result = work(connection)
            if self.lost_unsaved:
                connection.execute("UPDATE meta SET value = value + ? WHERE key = 'lost'", (self.lost_unsaved,))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # SQLite itself has rolled back after some failures
                connection.execute("ROLLBACK")
            raise
        self.lost_unsaved = 0
        self._logged += _TRANSACTION_BYTES
        return result
