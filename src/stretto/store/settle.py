"""What is learnt of a run after it ended: annotations, and a person's word on a write in doubt.

One transaction's work on the writer's connection.
"""

import sqlite3
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from stretto.record.canonical import snapshot
from stretto.record.codec import encode_annotation
from stretto.record.model import Annotation, EffectRecord
from stretto.store.batch import Write, apply
from stretto.store.claim import is_executing
from stretto.store.owner import described
from stretto.store.reading import has_run, load_effects
from stretto.store.rows import effect_row
from stretto.types.errors import StoreError, UsageError
from stretto.types.ids import StepPath
from stretto.types.json import JsonObject

SETTLED: Final = "effect.settled"
"""Name of the annotation that says what a person decided of a write in doubt."""


def annotate(connection: sqlite3.Connection, annotations: Sequence[Annotation]) -> None:
    """Append annotations; refuses one of a run that is not here."""
    for annotation in annotations:
        if not has_run(connection, annotation.run_id):
            raise UsageError(f"run {annotation.run_id} is not in the store, so it cannot be annotated")
        insert_annotation(connection, annotation)


def settle_effect(
    connection: sqlite3.Connection, run_id: str, path: str, response: JsonObject | None, by: str, reason: str
) -> EffectRecord:
    """Write down a person's word on a write in doubt: its response, None when it did not happen."""
    effect = next((effect for effect in load_effects(connection, run_id) if effect.path == path), None)
    if effect is None or not effect.in_doubt:
        raise UsageError(f"run {run_id} has no write in doubt at '{path}'; `stretto runs show` lists those it has")
    row = connection.execute(
        "SELECT tenant, status, owner, lease_until_ns FROM runs WHERE id = ?", (run_id,)
    ).fetchone()
    if row is not None and is_executing(*row[1:]):
        raise StoreError(f"run {run_id} is being executed by {described(row[2])}; it may settle the write itself")
    if response is None:
        effect.refused = True
    else:
        effect.receipt = msgspec.Raw(snapshot(response))
        effect.received_at_ns = time.time_ns()
        effect.confirmed = True
    write_effect(connection, effect, "default" if row is None else row[0])
    note = Annotation(
        run_id=effect.run_id,
        name=SETTLED,
        value={"happened": response is not None},
        at_ns=time.time_ns(),
        path=StepPath(path),
        by=by,
        reason=reason,
    )
    insert_annotation(connection, note)
    return effect


def insert_annotation(connection: sqlite3.Connection, annotation: Annotation) -> None:
    values = (annotation.run_id, annotation.name, annotation.at_ns, encode_annotation(annotation).decode())
    connection.execute("INSERT INTO annotations (run_id, name, at_ns, doc) VALUES (?, ?, ?, ?)", values)


def write_effect(connection: sqlite3.Connection, effect: EffectRecord, tenant: str) -> None:
    """Write an effect over what was known of it."""
    write = Write(effect.run_id, tenant, 0)
    write.effect = effect_row(effect, write.put)
    apply(connection, [write])
