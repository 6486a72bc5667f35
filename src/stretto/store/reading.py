"""Queries: rows into records, on whatever connection they are given."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final, TypedDict

import msgspec

from stretto.record.arrays import Get
from stretto.record.codec import decode_annotation
from stretto.record.model import Annotation, EffectRecord, Run, StepRecord
from stretto.store.rows import read_effect, read_run, read_steps
from stretto.types.arguments import INT64_MAX
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import StoreError, UsageError
from stretto.types.ids import Digest, RunId

_PAGE: Final = 200
"""Runs per query of a scan: enough to make the query's cost small, few enough to hold."""


_SHOWN: Final = 5
"""Candidates that an ambiguous id names."""


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A run as listings show it."""

    id: RunId
    workflow_run_id: str
    workflow: str
    version: str
    tenant: str
    status: RunStatus | None
    """None while it runs, and after its process was killed."""
    reason: Reason | None
    started_at_ns: int
    duration_ms: float
    reward: float | None
    labels: dict[str, str]
    simulated: bool
    replay_of: str


class Filters(TypedDict, total=False):
    """Which runs are meant; every one given must hold."""

    workflow: str
    status: RunStatus | str
    tenant: str
    task: str
    group: str
    split: str
    purpose: str
    since_ns: int
    """Started at or after, nanoseconds since the epoch."""


class _Listed(msgspec.Struct):
    """What a listing reads of a run's document."""

    workflow_run_id: str
    reason: Reason | None = None
    duration_ms: float = 0.0
    reward: float | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    simulated: bool = False
    replay_of: str = ""


_CONDITIONS: Final = {
    "workflow": "workflow = ?",
    "status": "status = ?",
    "tenant": "tenant = ?",
    "task": "task = ?",
    "group": '"group" = ?',
    "split": "split = ?",
    "purpose": "purpose = ?",
    "since_ns": "started_at_ns >= ?",
}

_LISTED: Final = "id, workflow, version, tenant, status, started_at_ns, doc"

_listed: Final = msgspec.json.Decoder(_Listed).decode


def list_runs(connection: sqlite3.Connection, filters: Filters, limit: int | None) -> list[RunSummary]:
    """Newest first."""
    where, values = _where(filters)
    order = "started_at_ns DESC, id DESC" if "workflow" in filters else "id DESC"
    query = f"SELECT {_LISTED} FROM runs WHERE {where} ORDER BY {order} LIMIT ?"  # noqa: S608  # columns of our own
    return [_summary(row) for row in connection.execute(query, [*values, -1 if limit is None else limit])]


def list_unsealed(connection: sqlite3.Connection) -> Iterator[tuple[RunSummary, str, int]]:
    """Runs accepted and not sealed, oldest first, with their owner and the end of its lease."""
    query = f"SELECT {_LISTED}, owner, lease_until_ns FROM runs WHERE status IS NULL ORDER BY id"  # noqa: S608  # no text of a caller is in it
    for *row, owner, lease_until_ns in connection.execute(query):
        yield _summary(tuple(row)), owner, lease_until_ns


def list_parked(connection: sqlite3.Connection) -> list[tuple[RunSummary, bool]]:
    """Parked runs of which no intent is without a receipt, oldest first, each with whether it can be resumed."""
    query = (
        f"SELECT {_LISTED}, durability = 'step' FROM runs WHERE status = 'parked' AND NOT EXISTS "  # noqa: S608  # as above
        "(SELECT 1 FROM effects WHERE run_id = runs.id AND state = 'intended') ORDER BY id"
    )
    return [(_summary(tuple(row)), bool(can_go_on)) for *row, can_go_on in connection.execute(query)]


def resolve(connection: sqlite3.Connection, run_id: str) -> RunId:
    """The full id that is meant by its beginning; raises UsageError when there is none or more than one."""
    query = "SELECT id FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
    rows = connection.execute(query, (run_id, run_id + "g", _SHOWN + 1)).fetchall()  # 'g' follows the hex digits
    found = [row[0] for row in rows]
    if not found:
        raise UsageError(
            f"no run has an id that begins with {run_id!r}; `stretto runs list` shows those there are, and "
            "`last` is the newest"
        )
    if len(found) > 1:
        more = ", ..." if len(found) > _SHOWN else ""
        raise UsageError(f"{run_id!r} begins more than one id: {', '.join(found[:_SHOWN])}{more}; give more of it")
    return RunId(found[0])


def has_run(connection: sqlite3.Connection, run_id: str) -> bool:
    """Whether there is a run of this id, sealed or not."""
    return connection.execute("SELECT 1 FROM runs WHERE id = ?", (run_id,)).fetchone() is not None


def load_run(connection: sqlite3.Connection, run_id: str) -> Run | None:
    """A run with its steps."""
    row = connection.execute("SELECT id, tenant, doc, spilled FROM runs WHERE id = ?", (run_id,)).fetchone()
    return None if row is None else _with_steps(connection, [row])[0]


def load_by_effect_key(connection: sqlite3.Connection, workflow: str, effect_key: str) -> list[Run]:
    """Runs of a workflow that answer the call with this key, oldest first."""
    query = "SELECT id, tenant, doc, spilled FROM runs WHERE effect_key = ? AND workflow = ? ORDER BY id"
    return _with_steps(connection, connection.execute(query, (effect_key, workflow)).fetchall())


def scan_runs(connection: sqlite3.Connection, filters: Filters, after: str, limit: int | None) -> list[Run]:
    """One page of sealed runs, oldest first, that come after an id."""
    where, values = _where(filters)
    size = _PAGE if limit is None else min(_PAGE, limit)
    query = (
        f"SELECT id, tenant, doc, spilled FROM runs "  # noqa: S608  # columns of our own
        f"WHERE {where} AND status IS NOT NULL AND id > ? ORDER BY id LIMIT ?"
    )
    return _with_steps(connection, connection.execute(query, [*values, after, size]).fetchall())


def load_effects(connection: sqlite3.Connection, run_id: str) -> list[EffectRecord]:
    """A run's writes, in the order of their intents."""
    return _effects(connection, "effects.run_id = ?", (run_id,))


def load_in_doubt(connection: sqlite3.Connection, run_ids: Sequence[str]) -> list[EffectRecord]:
    """Intents without a receipt of these runs."""
    where = "effects.state = 'intended' AND effects.run_id IN (SELECT value FROM json_each(?))"
    return _effects(connection, where, (json.dumps(list(run_ids)),))


def runs_in_doubt(connection: sqlite3.Connection) -> list[tuple[str, str | None, str, int]]:
    """Runs that have an intent without a receipt: (id, status, owner, end of the lease)."""
    return connection.execute(
        "SELECT DISTINCT effects.run_id, runs.status, coalesce(runs.owner, ''), coalesce(runs.lease_until_ns, 0) "
        "FROM effects LEFT JOIN runs ON runs.id = effects.run_id WHERE effects.state = 'intended'"
    ).fetchall()


def quarantined(connection: sqlite3.Connection, run_ids: Sequence[str]) -> set[str]:
    """Which of these runs hold a value that a domain of mode `quarantine` refused; few are read whole."""
    marked = "(instr(doc, '\"quarantined\":true') OR instr(coalesce(spilled, ''), 'evidence'))"
    query = (
        "WITH asked(id) AS (SELECT value FROM json_each(?)) "  # noqa: S608  # a condition of our own
        f"SELECT run_id FROM step_batches WHERE run_id IN asked AND {marked} "
        f"UNION SELECT id FROM runs WHERE id IN asked AND {marked}"
    )
    found = [
        load_run(connection, run_id) for (run_id,) in connection.execute(query, (json.dumps(list(run_ids)),)).fetchall()
    ]
    return {run.id for run in found if run is not None and run.is_quarantined}


def load_annotations(connection: sqlite3.Connection, run_id: str, as_of_ns: int | None) -> list[Annotation]:
    """What is known of a run, in the order in which it became known."""
    query = "SELECT doc FROM annotations WHERE run_id = ? AND at_ns <= ? ORDER BY at_ns, id"
    until = INT64_MAX if as_of_ns is None else as_of_ns
    return [decode_annotation(row[0]) for row in connection.execute(query, (run_id, until))]


def annotated(connection: sqlite3.Connection, name: str) -> list[tuple[str, Annotation]]:
    """Annotations of a name with the workflow of their run, oldest first."""
    query = (
        "SELECT runs.workflow, annotations.doc FROM annotations JOIN runs ON runs.id = annotations.run_id "
        "WHERE annotations.name = ? ORDER BY annotations.at_ns, annotations.id"
    )
    return [(workflow, decode_annotation(doc)) for workflow, doc in connection.execute(query, (name,))]


def _where(filters: Filters) -> tuple[str, list[object]]:
    given = {name: value for name, value in filters.items() if value is not None}
    return " AND ".join([_CONDITIONS[name] for name in given]) or "TRUE", list(given.values())


def _summary(row: tuple[str, str, str, str, str | None, int, str]) -> RunSummary:
    run_id, workflow, version, tenant, status, started_at_ns, doc = row
    listed = _listed(doc)
    return RunSummary(
        id=RunId(run_id),
        workflow_run_id=listed.workflow_run_id,
        workflow=workflow,
        version=version,
        tenant=tenant,
        status=None if status is None else RunStatus(status),
        reason=listed.reason,
        started_at_ns=started_at_ns,
        duration_ms=listed.duration_ms,
        reward=listed.reward,
        labels=listed.labels,
        simulated=listed.simulated,
        replay_of=listed.replay_of,
    )


def _with_steps(connection: sqlite3.Connection, heads: Sequence[tuple[str, str, str, str | None]]) -> list[Run]:
    steps: dict[str, list[StepRecord]] = {head[0]: [] for head in heads}
    gets = {tenant: _getter(connection, tenant) for tenant in {head[1] for head in heads}}
    tenants = {head[0]: head[1] for head in heads}
    marks = ",".join("?" * len(heads))
    query = f"SELECT run_id, doc, spilled FROM step_batches WHERE run_id IN ({marks}) ORDER BY run_id, seq"  # noqa: S608  # no text of a caller is in it
    for run_id, doc, spilled in connection.execute(query, list(steps)).fetchall():
        steps[run_id] += read_steps(doc, spilled, gets[tenants[run_id]])
    runs = []
    for run_id, tenant, doc, spilled in heads:
        run = read_run(doc, spilled, gets[tenant])
        run.steps = steps[run_id]
        runs.append(run)
    return runs


def _effects(connection: sqlite3.Connection, where: str, values: Sequence[str]) -> list[EffectRecord]:
    query = (
        "SELECT coalesce(runs.tenant, 'default'), effects.doc, effects.spilled "  # noqa: S608  # conditions of our own
        f"FROM effects LEFT JOIN runs ON runs.id = effects.run_id WHERE {where} ORDER BY effects.intended_at_ns, path"
    )
    rows = connection.execute(query, values).fetchall()
    return [read_effect(doc, spilled, _getter(connection, tenant)) for tenant, doc, spilled in rows]


def _getter(connection: sqlite3.Connection, tenant: str) -> Get:
    """Reads one tenant's blobs."""

    def get(digest: Digest) -> bytes:
        query = "SELECT content FROM blobs WHERE tenant = ? AND digest = ?"
        row = connection.execute(query, (tenant, digest)).fetchone()
        if row is None:
            raise StoreError(f"blob {digest} of tenant '{tenant}' is missing; the store is damaged: `stretto doctor`")
        return bytes(row[0])

    return get
