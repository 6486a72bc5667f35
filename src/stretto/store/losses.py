"""What a store shows was lost or done twice. Each detector is one query over the rows; nothing is decoded in Python.

* A run's steps are numbered from 0 as they end: a number that is missing is a step that was lost, one that is given
  twice was kept by two writers.
* A step path stands for one thing that happens once. Twice *answered* is a step, or a join, that ran twice; a failed
  record before an answered one is a run that was resumed, and calls inside a component that is tried again repeat by
  right as long as they do not write.
* An effect has one key, the run and the path. It happened twice where two attempts at one path answered, and where a
  step's write was received and its fallback's too.
* What was received is acknowledged: its step must stand in the sealed run; and under durability ``step`` a write that
  answered must have its receipt. What stands there from a replay, or simulated, was never sent.
"""

import sqlite3
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec


class LossKind(StrEnum):
    """What may be wrong."""

    STEPS_LOST = "steps_lost"
    RAN_TWICE = "ran_twice"
    EFFECT_DUPLICATED = "effect_duplicated"
    WRITE_LOST = "write_lost"


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """One place where something was lost or done twice."""

    kind: LossKind
    run_id: str
    path: str
    """Of the step; empty where it is not known which."""


_WRITES: Final = """
    SELECT run_id, json_extract(value, '$.path') AS path, json_extract(value, '$.status') AS status,
           iif(json_type(value, '$.attempts') = 'object',
               (SELECT CAST(blobs.content AS TEXT) FROM blob_refs JOIN blobs USING (tenant, digest)
                WHERE blob_refs.run_id = step_batches.run_id
                  AND blob_refs.digest = json_extract(value, '$.attempts."$blob"')),
               json_extract(value, '$.attempts')) AS attempts,
           coalesce(json_extract(value, '$.reused_from'), json_extract(value, '$.simulated')) IS NOT NULL AS stands_in
    FROM step_batches, json_each(iif(doc LIKE '[%', doc, '[' || doc || ']'))
    WHERE instr(doc, '"effect":"write"') AND json_extract(value, '$.effect') = 'write'
"""
"""Steps that wrote, one by one; long attempts lie in a blob. The first condition leaves out batches without any before
they are parsed."""

_INSIDE: Final = """
    EXISTS (
        SELECT 1 FROM steps AS around
        WHERE around.run_id = twice.run_id AND around.component IS NOT NULL
          AND substr(twice.path, 1, length(around.path) + 1) = around.path || '/'
    )
"""
"""Whether a component made the call, which may be tried again as a whole."""

_QUERIES: Final[Sequence[tuple[LossKind, str]]] = (
    (
        LossKind.STEPS_LOST,
        """
        SELECT run_id, '' FROM step_batches GROUP BY run_id HAVING min(seq) > 0 OR max(seq + size) > sum(size)
        """,
    ),
    (
        LossKind.RAN_TWICE,
        """
        SELECT run_id, '' FROM step_batches GROUP BY run_id HAVING max(seq + size) < sum(size)
        """,
    ),
    (
        LossKind.RAN_TWICE,
        f"""
        SELECT run_id, path
        FROM (
            SELECT run_id, path FROM steps WHERE status <> 'failed' GROUP BY run_id, path HAVING count(*) > 1
        ) AS twice
        WHERE NOT {_INSIDE}
        """,  # noqa: S608  # no text of a caller is in it
    ),
    (
        LossKind.EFFECT_DUPLICATED,
        f"""
        WITH writes AS MATERIALIZED ({_WRITES})
        SELECT run_id, path
        FROM (
            SELECT run_id, path FROM writes WHERE status <> 'failed' AND NOT stands_in
            GROUP BY run_id, path HAVING count(*) > 1
        ) AS twice
        WHERE NOT {_INSIDE}
        UNION
        SELECT run_id, path FROM writes
        WHERE 1 < (
            SELECT count(*) FROM json_each(coalesce(attempts, '[]')) WHERE json_extract(value, '$.error') IS NULL
        )
        UNION
        SELECT own.run_id, own.path FROM effects AS own
        JOIN effects AS other ON other.run_id = own.run_id AND other.path = own.path || '/fallback'
        WHERE own.state = 'received' AND other.state = 'received'
        """,  # noqa: S608  # as above
    ),
    (
        LossKind.WRITE_LOST,
        f"""
        WITH writes AS MATERIALIZED ({_WRITES})
        SELECT effects.run_id, effects.path FROM effects
        LEFT JOIN runs ON runs.id = effects.run_id
        LEFT JOIN writes ON writes.run_id = effects.run_id AND writes.path = effects.path
        WHERE effects.state = 'received' AND writes.path IS NULL AND (runs.id IS NULL OR runs.status IS NOT NULL)
          AND NOT EXISTS (SELECT 1 FROM steps WHERE steps.run_id = effects.run_id AND steps.path = effects.path)
        UNION
        SELECT writes.run_id, writes.path FROM writes
        JOIN runs ON runs.id = writes.run_id AND runs.durability = 'step'
        LEFT JOIN effects ON effects.run_id = writes.run_id AND effects.path = writes.path
        WHERE writes.status = 'ok' AND NOT writes.stands_in AND coalesce(effects.state, '') <> 'received'
        """,  # noqa: S608  # as above
    ),
)


def find_losses(connection: sqlite3.Connection) -> list[Loss]:
    """Every place where something was lost or done twice, by kind, oldest run first."""
    return [
        Loss(kind=kind, run_id=run_id, path=path)
        for kind, query in _QUERIES
        for run_id, path in sorted(connection.execute(query).fetchall())
    ]
