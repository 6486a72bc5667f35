"""Where a memory keeps what it is told: in the process, or in an SQLite file."""

import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec
import orjson

from stretto.types.errors import Code, ComponentError
from stretto.types.json import Json

SCHEMA_VERSION: Final = 1

BUSY_TIMEOUT_S: Final = 5.0
"""How long a write waits for another process's; SQLite's own default fails at once."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS memory (
    id INTEGER PRIMARY KEY,
    memory TEXT NOT NULL,
    tenant TEXT NOT NULL,
    scope TEXT NOT NULL,
    effect_key TEXT NOT NULL,
    at_ns INTEGER NOT NULL,
    value BLOB NOT NULL,
    UNIQUE (memory, effect_key)
) STRICT;
CREATE INDEX IF NOT EXISTS memory_recent ON memory (memory, tenant, scope, id);
"""

_FORGET: Final = """
DELETE FROM memory WHERE memory = :memory AND tenant = :tenant AND scope = :scope AND id <= (
    SELECT id FROM memory WHERE memory = :memory AND tenant = :tenant AND scope = :scope
    ORDER BY id DESC LIMIT 1 OFFSET :keep)
"""


class Shelf(msgspec.Struct, frozen=True):
    """Whose memories are meant: those of one tenant and scope never meet another's."""

    tenant: str
    scope: str


class MemoryStore(Protocol):
    """Keeps values in the order in which they came. Its methods may block."""

    def add(self, shelf: Shelf, effect_key: str, value: Json) -> None:
        """Keep a value; a second time with the same effect key does nothing."""
        ...

    def recent(self, shelf: Shelf, limit: int) -> Sequence[Json]:
        """The last values, oldest first."""
        ...

    def close(self) -> None: ...


class ProcessStore:
    """Keeps values while the process lives."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._shelves: dict[Shelf, OrderedDict[str, bytes]] = {}

    def add(self, shelf: Shelf, effect_key: str, value: Json) -> None:
        """As `MemoryStore.add`."""
        kept = self._shelves.setdefault(shelf, OrderedDict())
        kept.setdefault(effect_key, orjson.dumps(value))
        while len(kept) > self._keep:
            kept.popitem(last=False)

    def recent(self, shelf: Shelf, limit: int) -> Sequence[Json]:
        """As `MemoryStore.recent`."""
        kept = self._shelves.get(shelf)
        return [] if kept is None or not limit else [orjson.loads(value) for value in list(kept.values())[-limit:]]

    def close(self) -> None:
        """Nothing to do: what is kept stays, for the next event loop."""


class SqliteStore:
    """Keeps values in a file, which is made with its folder when it is first needed; several processes may share it.

    A killed process loses nothing that was committed.
    """

    def __init__(self, path: Path, memory: str, keep: int) -> None:
        self._path = path
        self._memory = memory
        self._keep = keep
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def add(self, shelf: Shelf, effect_key: str, value: Json) -> None:
        """As `MemoryStore.add`. Raises ComponentError, and then nothing was kept."""
        row = {"memory": self._memory, "tenant": shelf.tenant, "scope": shelf.scope, "keep": self._keep}
        try:
            with self._lock, self._open() as connection:  # one transaction
                connection.execute(
                    "INSERT OR IGNORE INTO memory (memory, tenant, scope, effect_key, at_ns, value) "
                    "VALUES (:memory, :tenant, :scope, :effect_key, :at_ns, :value)",
                    {**row, "effect_key": effect_key, "at_ns": time.time_ns(), "value": orjson.dumps(value)},
                )
                connection.execute(_FORGET, row)
        except (sqlite3.Error, OSError) as error:
            raise self._trouble("written", error) from error

    def recent(self, shelf: Shelf, limit: int) -> Sequence[Json]:
        """As `MemoryStore.recent`. Raises ComponentError when the file cannot be read."""
        try:
            with self._lock:
                rows = self._open().execute(
                    "SELECT value FROM memory WHERE memory = ? AND tenant = ? AND scope = ? ORDER BY id DESC LIMIT ?",
                    (self._memory, shelf.tenant, shelf.scope, limit),
                )
                return [orjson.loads(value) for (value,) in rows][::-1]
        except (sqlite3.Error, OSError) as error:
            raise self._trouble("read", error) from error

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found > SCHEMA_VERSION:
            raise ComponentError(
                f"memory '{self._memory}': {self._path} was written by a newer version (format {found}, this one knows "
                f"{SCHEMA_VERSION}); use that version, or another file",
                Code.FAILED_PRECONDITION,
            )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(_SCHEMA)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _trouble(self, done: str, error: sqlite3.Error | OSError) -> ComponentError:
        busy = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
        remedy = (
            "another process holds it; try again"
            if busy
            else "see that it is a memory file, writable, on a disk with room"
        )
        return ComponentError(
            f"memory '{self._memory}': {self._path} could not be {done}: {error}; {remedy}",
            Code.UNAVAILABLE if busy else Code.FAILED_PRECONDITION,
            sent=False,
        )
