"""Taking over a run whose process is gone. One transaction's work on the writer's connection."""

import sqlite3
import time

from stretto.record.model import EffectRecord, Run
from stretto.store.batch import insert_blobs
from stretto.store.owner import LEASE_S, OWNER_PARTS, described, surely_gone
from stretto.store.reading import load_effects, load_run
from stretto.store.rows import collect, head_doc
from stretto.types.enums import Durability, RunStatus
from stretto.types.errors import StoreError, UsageError
from stretto.types.ids import Digest


def is_executing(status: str | None, owner: str, lease_until_ns: int, now_ns: int | None = None) -> bool:
    """Whether a process may still be at work on a run."""
    now = time.time_ns() if now_ns is None else now_ns
    return status is None and lease_until_ns > now and not surely_gone(owner)


def claim(connection: sqlite3.Connection, run_id: str, owner: str) -> tuple[Run, list[EffectRecord], int]:
    """Make `owner` the one who may write the run; returns it, its effects and the new epoch."""
    status, epoch, holder, lease = _claimable(connection, run_id)
    if is_executing(status, holder, lease) and holder.split("/")[:OWNER_PARTS] != owner.split("/")[:OWNER_PARTS]:
        left_s = (lease - time.time_ns()) / 1e9
        raise StoreError(
            f"run {run_id} is being executed by {described(holder)}; if that process hangs, end it, "
            f"or wait {left_s:.0f} s for its lease to end",
            retryable=True,
        )
    run = load_run(connection, run_id)
    if run is None:
        raise UsageError(f"run {run_id} is not in the store")
    run.status, run.reason, run.error = None, None, None
    blobs: dict[Digest, bytes] = {}
    doc, spilled = head_doc(run, collect(blobs))
    connection.execute(
        "UPDATE runs SET status = NULL, owner = ?, epoch = ?, lease_until_ns = ?, doc = ?, spilled = ? WHERE id = ?",
        (owner, epoch + 1, time.time_ns() + int(LEASE_S * 1e9), doc, spilled, run_id),
    )
    insert_blobs(connection, [(run.id, run.tenant, blobs)])
    return run, load_effects(connection, run_id), epoch + 1


def _claimable(connection: sqlite3.Connection, run_id: str) -> tuple[str | None, int, str, int]:
    """The run's (status, epoch, owner, lease); refuses one that cannot be gone on with."""
    row: tuple[str | None, str, int, str, int] | None = connection.execute(
        "SELECT status, durability, epoch, owner, lease_until_ns FROM runs WHERE id = ?", (run_id,)
    ).fetchone()
    if row is None:
        raise UsageError(f"run {run_id} is not in the store")
    status, durability, epoch, owner, lease_until_ns = row
    if status not in (None, RunStatus.PARKED):
        raise UsageError(
            f"run {run_id} has ended ({status}); only an interrupted or parked run can be resumed. Replay it"
        )
    if durability != Durability.STEP:
        raise UsageError(
            f"run {run_id} is kept here with durability '{durability}', which keeps no intents: whether its writes "
            "happened is not known. Replay it, or run it again; declare `durability: step` to resume the next one. "
            "One that was imported is resumed in the store where it was made"
        )
    return status, epoch, owner, lease_until_ns
