"""Deleting runs, with everything that is theirs alone. One transaction's work on the writer's connection."""

import sqlite3
from collections.abc import Sequence

from stretto.store.claim import is_executing
from stretto.store.owner import described
from stretto.types.errors import UsageError


def delete(connection: sqlite3.Connection, run_ids: Sequence[str], *, force: bool) -> int:
    """Delete runs and all that belongs to them; returns how many there were."""
    for run_id in run_ids:
        _check_deletable(connection, run_id, force=force)
    deleted = 0
    for run_id in run_ids:
        deleted += connection.execute("DELETE FROM runs WHERE id = ?", (run_id,)).rowcount
        for table in ("step_batches", "effects", "annotations"):
            connection.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))  # noqa: S608  # tables of our own
        connection.execute(
            "DELETE FROM blobs WHERE (tenant, digest) IN "
            "(SELECT tenant, digest FROM blob_refs WHERE run_id = ?1 EXCEPT "
            " SELECT others.tenant, others.digest FROM blob_refs AS mine JOIN blob_refs AS others "
            " ON others.tenant = mine.tenant AND others.digest = mine.digest AND others.run_id <> mine.run_id "
            " WHERE mine.run_id = ?1)",
            (run_id,),
        )
        connection.execute("DELETE FROM blob_refs WHERE run_id = ?", (run_id,))
    return deleted


def _check_deletable(connection: sqlite3.Connection, run_id: str, *, force: bool) -> None:
    row = connection.execute("SELECT status, owner, lease_until_ns FROM runs WHERE id = ?", (run_id,)).fetchone()
    if row is not None and is_executing(*row):
        raise UsageError(f"run {run_id} is being executed by {described(row[1])}; wait until it has ended")
    doubt = "SELECT path FROM effects WHERE run_id = ? AND state = 'intended' LIMIT 1"
    found = connection.execute(doubt, (run_id,)).fetchone()
    if found is not None and not force:
        raise UsageError(
            f"run {run_id} has a write in doubt at '{found[0]}', and this record is all that is known of it; "
            "settle it first, or force the deletion"
        )
