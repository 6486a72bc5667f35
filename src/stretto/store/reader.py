"""Connections to read with: as many as there are readers at once, each used by one thread at a time."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stretto.store.connect import connect_reader, connect_writer, is_there
from stretto.store.failure import store_error
from stretto.store.living import identity
from stretto.store.schema import VERSION, migrate, version_of
from stretto.types.errors import StoreError


class Reader:
    """A pool of reading connections to one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._free: list[sqlite3.Connection] = []
        self._file = (0, 0)
        """Which file those are open on."""
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one state of the store until it is given back; raises StoreError with the remedy."""
        connection = self._borrow()
        try:
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")
        except BaseException as error:
            connection.close()
            if isinstance(error, sqlite3.Error):
                raise store_error(error, self._path) from error
            raise
        self._give_back(connection)

    def close(self) -> None:
        """Close the connections; one in use is closed when it is given back."""
        with self._lock:
            self._closed = True
            free, self._free = self._free, []
        for connection in free:
            connection.close()

    def _borrow(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise StoreError(f"{self._path} was closed; open a new Store to go on")
            self._leave_former_file()
            if self._free:
                return self._free.pop()
        return self._connect() if is_there(self._path) else _nothing()

    def _leave_former_file(self) -> None:
        """Close connections to a file that another has replaced; the lock is held."""
        here = identity(self._path)
        if here != self._file:
            former, self._free, self._file = self._free, [], here
            for connection in former:
                connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = connect_reader(self._path)
        if version_of(connection) == VERSION:
            return connection
        connection.close()
        connect_writer(self._path, fsync=False).close()  # brings an older file up to date
        return connect_reader(self._path)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        if connection.execute("SELECT file = '' FROM pragma_database_list WHERE name = 'main'").fetchone()[0]:
            connection.close()  # the empty store that stands for a missing file
            return
        with self._lock:
            if not self._closed:
                self._free.append(connection)
                return
        connection.close()


def _nothing() -> sqlite3.Connection:
    """What a store that was never written to holds."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    migrate(connection)
    return connection
