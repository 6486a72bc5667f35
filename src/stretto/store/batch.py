"""One transaction's worth of writes, each table in as few statements as there are sizes.

SQLite lets go of the interpreter once per statement, and a thread that lets go of it beside a busy event loop waits
up to 5 ms to get it back: row by row (`executemany`), a hundred runs at once would wait for seconds.
"""

import sqlite3
from asyncio import Future
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec

from stretto.store.rows import KEPT_COLUMNS, OPENED_COLUMNS, PLAIN_COLUMNS, Row, StepRow
from stretto.types.errors import StoreError
from stretto.types.ids import Digest, digest_of

_VALUES_PER_STATEMENT: Final = 4096
"""Half a megabyte prepared for the widest table; SQLite allows eight times as many."""


_TAKEN: Final = (sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE)
"""Breaking any other rule of the tables does not mean that the run is there already."""


class RefusedError(Exception):
    """Some row of a batch was not taken: another process holds its run, or it exists already."""


class Write(msgspec.Struct):
    """What one call of a journal hands over: rows of one run, all committed or none."""

    run_id: str
    tenant: str
    epoch: int
    """The fence that must still stand; 0 when the run has no row yet."""
    journal: "Refusable | None" = None
    opened: Row | None = None
    steps: Sequence[StepRow] = ()
    rewrite: bool = False
    """Whether `steps` replace all that were written before."""
    effect: Row | None = None
    kept: Row | None = None
    """A whole run that had no row."""
    sealed: Row | None = None
    """What the seal changes of a run that has: (id, epoch, status, doc, spilled)."""
    blobs: dict[Digest, bytes] | None = None
    waiter: "Future[None] | None" = None
    """Who waits for the commit; None for a write behind."""
    late: "Callable[[Write], None] | None" = None
    """Adds what there is by the time that it is committed."""
    size: int = 0
    """About how many bytes it holds until it is committed."""

    def put(self, content: bytes) -> Digest:
        """Bring a blob along."""
        if self.blobs is None:
            self.blobs = {}
        digest = digest_of(content)
        self.blobs[digest] = content
        self.size += len(content)
        return digest

    def complete(self) -> None:
        """Add what came late; once, whoever asks."""
        late, self.late = self.late, None
        if late is not None:
            late(self)

    @property
    def fence(self) -> tuple[str, int]:
        """Which run, in whose hands."""
        return self.run_id, self.epoch

    @property
    def records(self) -> int:
        """Runs and steps in it, as the loss counter counts them."""
        self.complete()
        return sum([count for _, _, count, _, _ in self.steps]) + (self.kept is not None or self.sealed is not None)

    @property
    def leases(self) -> int:
        """How many runs it begins to hold a lease on; negative when it lets go."""
        return (self.opened is not None) - (self.sealed is not None)

    @property
    def bereft(self) -> StoreError | None:
        """What became of an earlier write of the same run, written behind, without which this one may not stand."""
        return None if self.journal is None else self.journal.refused

    def refusal(self, error: Exception) -> StoreError:
        """Why it did not stand."""
        if self.bereft is not None:
            return self.bereft
        if isinstance(error, OverflowError):
            return StoreError(f"run {self.run_id} holds a time beyond 64-bit nanoseconds: {error}")
        if isinstance(error, sqlite3.IntegrityError) and error.sqlite_errorcode not in _TAKEN:
            return StoreError(f"run {self.run_id} cannot be kept, its record is not whole: {error}")
        if isinstance(error, sqlite3.IntegrityError) and "effect_key" in str(error):
            return StoreError(
                f"run {self.run_id} is not made: another run answers the call with its effect key, or has answered it",
                retryable=True,
            )
        if self.opened is not None or self.kept is not None:
            return StoreError(f"run {self.run_id} is already in the store; a run id is used once")
        if self.effect is not None and self.epoch == 0:
            return StoreError(f"the write {self.effect[1]!r} of run {self.run_id} has its receipt already")
        return StoreError(
            f"run {self.run_id} is no longer this journal's to write: it was sealed or deleted, another process took "
            "it over, or the write has its receipt already; see `stretto runs show`"
        )


class Refusable:
    """Who hears that a write behind was refused or lost."""

    __slots__ = ("refused",)

    refused: StoreError | None


class _Insert:
    """A statement over many rows, prepared once for each power of two."""

    def __init__(self, head: str, width: int, tail: str = "", *, fixed: str = "") -> None:
        """`fixed` ends each row with the same values, which are not bound then: that costs 0.2 µs each."""
        group = f"({','.join('?' * width)}{fixed})"
        sizes = range((_VALUES_PER_STATEMENT // width).bit_length())
        self._by_size = {1 << n: f"{head} {','.join([group] * (1 << n))} {tail}" for n in sizes}
        self._most = max(self._by_size)

    def run(self, connection: sqlite3.Connection, rows: Sequence[Row]) -> int:
        """Execute it over all rows; returns how many were inserted or changed."""
        if len(rows) == 1:
            return connection.execute(self._by_size[1], rows[0]).rowcount
        return sum([cursor.rowcount for cursor in self._executed(connection, rows)])

    def count(self, connection: sqlite3.Connection, rows: Sequence[Row]) -> int:
        """Execute it as a query that answers one number; returns the sum."""
        return sum([cursor.fetchone()[0] for cursor in self._executed(connection, rows)])

    def _executed(self, connection: sqlite3.Connection, rows: Sequence[Row]) -> Iterator[sqlite3.Cursor]:
        at = 0
        while at < len(rows):
            size = min(self._most, 1 << (len(rows) - at).bit_length() - 1)
            values = [value for row in rows[at : at + size] for value in row]
            yield connection.execute(self._by_size[size], values)
            at += size


def _width(columns: str) -> int:
    return len(columns.split(","))


def _keeping(columns: str) -> _Insert:
    """Keeps runs that nobody executes, of which these columns say all."""
    head = f"INSERT INTO runs ({columns}, owner, epoch, lease_until_ns) VALUES"
    return _Insert(head, _width(columns), "ON CONFLICT (id) DO NOTHING", fixed=", '', 1, 0")


_PLAIN_WIDTH: Final = _width(PLAIN_COLUMNS)

_OPEN: Final = _Insert(f"INSERT INTO runs ({OPENED_COLUMNS}) VALUES", _width(OPENED_COLUMNS))
_KEEP: Final = _keeping(KEPT_COLUMNS)
_KEEP_PLAIN: Final = _keeping(PLAIN_COLUMNS)
_SEAL_ONE: Final = (
    "UPDATE runs SET status = ?3, lease_until_ns = 0, doc = ?4, spilled = ?5"
    " WHERE id = ?1 AND epoch = ?2 AND status IS NULL"
)
"""The same as `_SEAL` for one row, in a third of the time."""
_SEAL: Final = _Insert(
    "UPDATE runs SET status = new.column3, lease_until_ns = 0, doc = new.column4, spilled = new.column5 FROM (VALUES",
    5,
    ") AS new WHERE runs.id = new.column1 AND runs.epoch = new.column2 AND runs.status IS NULL",
)
_STEP: Final = _Insert("INSERT INTO step_batches VALUES", 5)
_EFFECT: Final = _Insert(
    "INSERT INTO effects VALUES",
    7,
    "ON CONFLICT (run_id, path) DO UPDATE SET state = excluded.state, request_digest = excluded.request_digest,"
    " intended_at_ns = excluded.intended_at_ns, doc = excluded.doc, spilled = excluded.spilled"
    " WHERE effects.state <> 'received'",
)
_BLOB: Final = _Insert("INSERT OR IGNORE INTO blobs VALUES", 3)
_BLOB_REF: Final = _Insert("INSERT OR IGNORE INTO blob_refs VALUES", 3)
_FENCE: Final = _Insert(
    "SELECT count(*) FROM (VALUES",
    2,
    ") AS held JOIN runs ON runs.id = held.column1 AND runs.epoch = held.column2 AND runs.status IS NULL",
)


def apply(connection: sqlite3.Connection, writes: Sequence[Write]) -> None:
    """Execute the writes inside the open transaction; raises RefusedError when any of them does not stand."""
    opened: list[Row] = []
    steps: list[StepRow] = []
    rewritten: list[Write] = []
    effects: list[Row] = []
    kept: list[Row] = []
    plain: list[Row] = []
    sealed: list[Row] = []
    blobs: list[tuple[str, str, dict[Digest, bytes]]] = []
    for write in writes:
        if write.late is not None:
            write.complete()
        if write.journal is not None and write.journal.refused is not None:  # `bereft`
            raise RefusedError
        if write.opened is not None:
            opened.append(write.opened)
        if write.rewrite:
            rewritten.append(write)
        else:
            steps += write.steps
        if write.effect is not None:
            effects.append(write.effect)
        if write.kept is not None:
            (plain if len(write.kept) == _PLAIN_WIDTH else kept).append(write.kept)
        if write.sealed is not None:
            sealed.append(write.sealed)
        if write.blobs:
            blobs.append((write.run_id, write.tenant, write.blobs))
    _insert_all(connection, _OPEN, opened)
    _check_fences(connection, writes)
    if steps:
        _STEP.run(connection, steps)
    for write in rewritten:
        connection.execute("DELETE FROM step_batches WHERE run_id = ?", (write.run_id,))
        _STEP.run(connection, write.steps)
    _insert_all(connection, _EFFECT, effects)
    _insert_all(connection, _KEEP, kept)
    _insert_all(connection, _KEEP_PLAIN, plain)
    if sealed:
        _seal_all(connection, sealed)
    if blobs:
        insert_blobs(connection, blobs)


def insert_blobs(connection: sqlite3.Connection, of_runs: Iterable[tuple[str, str, dict[Digest, bytes]]]) -> None:
    """Keep blobs, each once per tenant, and note which run needs them: (run id, tenant, content by digest)."""
    contents: list[Row] = []
    references: list[Row] = []
    for run_id, tenant, blobs in of_runs:
        contents.extend((tenant, digest, content) for digest, content in blobs.items())
        references.extend((run_id, tenant, digest) for digest in blobs)
    _BLOB.run(connection, contents)
    _BLOB_REF.run(connection, references)


def _insert_all(connection: sqlite3.Connection, statement: _Insert, rows: Sequence[Row]) -> None:
    if rows and statement.run(connection, rows) != len(rows):
        raise RefusedError


def _seal_all(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    changed = connection.execute(_SEAL_ONE, rows[0]).rowcount if len(rows) == 1 else _SEAL.run(connection, rows)
    if changed != len(rows):
        raise RefusedError


def _check_fences(connection: sqlite3.Connection, writes: Sequence[Write]) -> None:
    """Raise unless every run that has a row is unsealed and in the hands of the writer that wrote.

    A run that is sealed or opened in the same transaction is checked by that.
    """
    checked = {write.fence for write in writes if write.sealed is not None or write.opened is not None}
    held = {write.fence for write in writes if write.epoch} - checked
    if held and _FENCE.count(connection, list(held)) != len(held):
        raise RefusedError
