"""Vectors in a memory's SQLite file, and those of the shelves searched last, held ready."""

import sqlite3
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from stretto.components.memory.backend import Shelf

if TYPE_CHECKING:
    from stretto.components.memory.backend import Vector
    from stretto.components.memory.vectors import VectorIndex

MAX_INDEX_BYTES: Final = 64 << 20
"""Vectors held for searches, of the shelves searched last: 30,000 of 512 dimensions."""

SEARCH_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS memory_vector (id INTEGER PRIMARY KEY, vector BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS memory_search (memory TEXT PRIMARY KEY, embedding TEXT NOT NULL) STRICT;
CREATE TRIGGER IF NOT EXISTS memory_vector_gone AFTER DELETE ON memory
    BEGIN DELETE FROM memory_vector WHERE id = old.id; END;
"""
"""Beside the first schema, so that files of both are read by both: a memory that is not searched never makes it. An
empty vector is that of a value without text."""

WITHOUT_VECTORS: Final = """
SELECT id, value FROM memory LEFT JOIN memory_vector USING (id)
WHERE memory = :memory AND tenant = :tenant AND scope = :scope AND vector IS NULL ORDER BY id LIMIT :most
"""

_OLDEST: Final = """
SELECT id FROM memory WHERE memory = :memory AND tenant = :tenant AND scope = :scope ORDER BY id LIMIT 1
"""

_NEW_VECTORS: Final = """
SELECT id, vector FROM memory JOIN memory_vector USING (id)
WHERE memory = :memory AND tenant = :tenant AND scope = :scope AND id > :last AND length(vector) > 0 ORDER BY id
"""


def add_vector(connection: sqlite3.Connection, number: int, vector: "Vector | None") -> None:
    """Keep the vector of a row, unless that was forgotten meanwhile."""
    content = b"" if vector is None else vector.astype("<f4").tobytes()
    keep = "INSERT OR REPLACE INTO memory_vector SELECT id, ? FROM memory WHERE id = ?"
    connection.execute(keep, (content, number))


class ShelfIndexes:
    """The vectors of some shelves, read once and then kept up with the file."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[Shelf, VectorIndex] = OrderedDict()

    def __contains__(self, shelf: Shelf) -> bool:
        return shelf in self._indexes

    def clear(self) -> None:
        """Hold none."""
        self._indexes.clear()

    def of(
        self, connection: sqlite3.Connection, shelf: Shelf, row: Mapping[str, str | int | bytes], dimensions: int
    ) -> "VectorIndex":
        """The shelf's vectors as they are now. Other processes too add at its end and drop from its front.

        Raises sqlite3.DatabaseError for a vector that was damaged.
        """
        from stretto.components.memory.vectors import VectorIndex

        index = self._indexes.pop(shelf, None) or VectorIndex(dimensions)
        first = connection.execute(_OLDEST, row).fetchone()
        index.drop_before(index.last_id + 1 if first is None else first[0])
        for number, vector in connection.execute(_NEW_VECTORS, {**row, "last": index.last_id}):
            if len(vector) != 4 * dimensions:
                raise sqlite3.DatabaseError(f"the vector of row {number} has {len(vector)} bytes, not {4 * dimensions}")
            index.append(number, _read(vector))
        self._indexes[shelf] = index
        self._drop_some()
        return index

    def _drop_some(self) -> None:
        """Keep those that were searched last, and always one."""
        while len(self._indexes) > 1 and sum(index.nbytes for index in self._indexes.values()) > MAX_INDEX_BYTES:
            self._indexes.popitem(last=False)


def _read(vector: bytes) -> "Vector":
    import numpy as np

    return np.frombuffer(vector, "<f4")
