"""A memory in an SQLite file, which outlives the process."""

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import orjson

from stretto.components.memory.backend import Found, Memory, Query, Shelf
from stretto.components.memory.embedding import made_with_another
from stretto.components.memory.sqlite_index import SEARCH_SCHEMA, WITHOUT_VECTORS, ShelfIndexes, add_vector
from stretto.types.errors import Code, ComponentError
from stretto.types.json import Json

if TYPE_CHECKING:
    from stretto.components.memory.backend import Vector

T = TypeVar("T")

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

_RECENT: Final = """
SELECT value FROM memory WHERE memory = :memory AND tenant = :tenant AND scope = :scope ORDER BY id DESC LIMIT :limit
"""

_KEEP: Final = """
INSERT OR IGNORE INTO memory (memory, tenant, scope, effect_key, at_ns, value)
SELECT :memory, :tenant, :scope, :effect_key, :at_ns, :value
WHERE NOT EXISTS (SELECT 1 FROM memory WHERE memory = :memory || '/gone' AND effect_key = :effect_key)
"""

_DROP_OLDEST: Final = """
DELETE FROM memory WHERE memory = :memory AND tenant = :tenant AND scope = :scope AND id <= (
    SELECT id FROM memory WHERE memory = :memory AND tenant = :tenant AND scope = :scope
    ORDER BY id DESC LIMIT 1 OFFSET :keep)
"""

_NOTE_GONE: Final = """
INSERT OR IGNORE INTO memory (memory, tenant, scope, effect_key, at_ns, value)
SELECT memory || '/gone', tenant, scope, effect_key, :at_ns, :value FROM memory
WHERE memory = :memory AND tenant = :tenant AND scope = :scope AND id < :before ORDER BY id
"""
"""What was forgotten, by effect key: whoever sends it again brings it back for nobody."""

_DROP_BEFORE: Final = """
DELETE FROM memory WHERE memory = :memory AND tenant = :tenant AND scope = :scope AND id < :before
"""


class SqliteBackend:
    """Keeps values in a file, which is made with its folder when it is first needed; several processes may share it.

    A killed process loses nothing that was committed. With an `embedding`, the name of what vectors are made by, they
    are kept beside the values; a file that has those of another is refused. Implements `MemoryBackend`.
    """

    blocks = True

    def __init__(self, path: Path, memory: str, keep: int, embedding: str = "") -> None:
        self._path = path
        self._memory = memory
        self._keep = keep
        self._embedding = embedding
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._indexes = ShelfIndexes()

    async def open(self) -> None:
        """Nothing to do: the file is opened when it is first needed."""

    async def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            self._indexes.clear()
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    async def remember(self, shelf: Shelf, memory: Memory) -> None:
        """As `MemoryBackend.remember`. Raises ComponentError, and then nothing was kept."""
        row = self._row(shelf) | {"effect_key": memory.effect_key, "value": orjson.dumps(memory.value)}

        def keep(connection: sqlite3.Connection) -> None:
            kept = connection.execute(_KEEP, row)
            if kept.rowcount and kept.lastrowid and self._embedding:
                add_vector(connection, kept.lastrowid, memory.vector)
            connection.execute(_DROP_OLDEST, row)

        self._do("written", keep)

    async def recall(self, shelf: Shelf, limit: int) -> Sequence[Json]:
        """As `MemoryBackend.recall`. Raises ComponentError when the file cannot be read."""
        asked = self._row(shelf) | {"limit": limit}
        rows = self._do("read", lambda connection: connection.execute(_RECENT, asked).fetchall())
        return [orjson.loads(value) for (value,) in rows][::-1]

    async def search(self, shelf: Shelf, query: Query) -> Sequence[Found]:
        """As `MemoryBackend.search`. Raises ComponentError when the file cannot be read."""

        def nearest(connection: sqlite3.Connection) -> list[Found]:
            connection.execute("BEGIN")  # what is found is still there when it is read
            ranked = self._indexes.of(connection, shelf, self._row(shelf), len(query.vector)).nearest(query)
            one = "SELECT value, effect_key FROM memory WHERE id = ?"
            rows = [(connection.execute(one, (number,)).fetchone(), score) for number, score in ranked]
            return [Found(value=orjson.loads(row[0]), score=score, source=row[1]) for row, score in rows]

        return self._do("read", nearest)

    async def without_vectors(self, shelf: Shelf, most: int) -> Sequence[tuple[int, Json]]:
        """As `KeptUnsearched.without_vectors`."""
        asked = self._row(shelf) | {"most": most}
        rows = self._do("read", lambda connection: connection.execute(WITHOUT_VECTORS, asked).fetchall())
        return [(number, orjson.loads(value)) for number, value in rows]

    async def add_vectors(self, vectors: "Sequence[tuple[int, Vector | None]]") -> None:
        """As `KeptUnsearched.add_vectors`."""

        def add(connection: sqlite3.Connection) -> None:
            for number, vector in vectors:
                add_vector(connection, number, vector)
            self._indexes.clear()

        self._do("written", add)

    async def forget(self, shelf: Shelf, effect_key: str) -> None:
        """As `MemoryBackend.forget`. Raises ComponentError, and then nothing was forgotten.

        A row of its own, under a name that no memory can have, keeps its place among what was told.
        """
        row = self._row(shelf) | {"value": b"null"}
        place = row | {"memory": f"{self._memory}/forgotten", "effect_key": effect_key}

        def forget(connection: sqlite3.Connection) -> None:
            connection.execute(_KEEP, place)
            where = "SELECT id FROM memory WHERE memory = :memory AND effect_key = :effect_key"
            (before,) = connection.execute(where, place).fetchone()
            connection.execute(_NOTE_GONE, row | {"before": before})
            connection.execute(_DROP_BEFORE, row | {"before": before})
            for kind in ("forgotten", "gone"):
                connection.execute(_DROP_OLDEST, row | {"memory": f"{self._memory}/{kind}"})

        self._do("written", forget)

    def _row(self, shelf: Shelf) -> dict[str, str | int | bytes]:
        return {
            "memory": self._memory,
            "tenant": shelf.tenant,
            "scope": shelf.scope,
            "at_ns": time.time_ns(),
            "keep": self._keep,
        }

    def _do(self, done: str, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do it in one transaction, of which others see all or nothing."""
        try:
            with self._lock, self._open() as connection:
                return work(connection)
        except (sqlite3.Error, OSError) as error:
            raise self._trouble(done, error) from error

    # the file

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
        if self._embedding:
            self._prepare_search(connection)

    def _prepare_search(self, connection: sqlite3.Connection) -> None:
        connection.executescript(SEARCH_SCHEMA)
        with connection:
            connection.execute("INSERT OR IGNORE INTO memory_search VALUES (?, ?)", (self._memory, self._embedding))
        one = "SELECT embedding FROM memory_search WHERE memory = ?"
        (found,) = connection.execute(one, (self._memory,)).fetchone()
        if found != self._embedding:
            raise made_with_another(self._memory, str(self._path), found, self._embedding, "another `path`")

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
