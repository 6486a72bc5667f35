"""Records as rows, and rows as records. Encoding happens where the record is handed over, so that a row is a snapshot.

A document's field above 4 KiB is kept in `blobs` and stands in the row as a marker. The `spilled` column names those
fields, so that no value which only looks like a marker is ever taken for one.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from stretto.record.arrays import Get, Put
from stretto.record.codec import decode_effect, decode_run, decode_step, encode_effect, encode_head, encode_steps
from stretto.record.model import EffectRecord, Run, StepRecord
from stretto.types.enums import Durability
from stretto.types.ids import Digest, digest_of

SPILL_BYTES: Final = 4096
"""Larger values go to `blobs`: a row should fit a page, and large values tend to repeat from run to run."""

_KEPT_INLINE: Final = frozenset({"labels", "id", "path", "status"})
"""Fields that listings read; they never spill."""

_SEARCHABLE: Final = ("task", "group", "split", "purpose")
"""Labels with a column of their own."""

_NONE_SEARCHABLE: Final = (None,) * len(_SEARCHABLE)

Value: TypeAlias = str | int | bytes | None
Row: TypeAlias = tuple[Value, ...]


class Marker(msgspec.Struct, frozen=True):
    """What stands in a row for a spilled value."""

    blob: Digest = msgspec.field(name="$blob")
    size: int = msgspec.field(name="bytes")


def collect(blobs: dict[Digest, bytes]) -> Put:
    """Puts blobs into a dictionary."""

    def put(content: bytes) -> Digest:
        digest = digest_of(content)
        blobs[digest] = content
        return digest

    return put


def run_row(run: Run, durability: Durability, owner: str, epoch: int, lease_until_ns: int, put: Put) -> Row:
    """The row of `runs`, in the order of its columns."""
    labels = run.labels
    task, group, split, purpose = map(labels.get, _SEARCHABLE) if labels else _NONE_SEARCHABLE
    doc, spilled = _spill(encode_head(run), put)
    return (
        run.id,
        run.manifest.workflow,
        run.manifest.version,
        run.tenant,
        None if run.status is None else run.status.value,
        run.started_at_ns,
        durability.value,
        owner,
        epoch,
        lease_until_ns,
        task,
        group,
        split,
        purpose,
        doc,
        spilled,
    )


def step_rows(run_id: str, first: int, steps: Sequence[StepRecord], put: Put) -> list[Row]:
    """The rows of `steps` for consecutive steps, of which the first has the number `first`."""
    return [
        (run_id, seq, text.decode(), None) if len(text) <= SPILL_BYTES else (run_id, seq, *_spill(text, put))
        for seq, text in enumerate(encode_steps(steps, put), first)
    ]


def effect_row(effect: EffectRecord, put: Put) -> Row:
    """The row of `effects`."""
    state = "refused" if effect.refused else "intended" if effect.receipt is None else "received"
    doc = _spill(encode_effect(effect), put)
    return (effect.run_id, effect.path, state, effect.request_digest, effect.intended_at_ns, *doc)


def read_run(doc: str, spilled: str | None, get: Get) -> Run:
    """A run without its steps."""
    return decode_run(_restore(doc, spilled, get))


def read_step(doc: str, spilled: str | None, get: Get) -> StepRecord:
    """A step with its arrays."""
    return decode_step(_restore(doc, spilled, get), get)


def read_effect(doc: str, spilled: str | None, get: Get) -> EffectRecord:
    """An effect."""
    return decode_effect(_restore(doc, spilled, get))


def _spill(data: bytes, put: Put) -> tuple[str, str | None]:
    """The document for the row, and the names of the fields that went to blobs."""
    if len(data) <= SPILL_BYTES:
        return data.decode(), None
    fields = _fields(data)
    spilled = [name for name, raw in fields.items() if len(memoryview(raw)) > SPILL_BYTES and name not in _KEPT_INLINE]
    for name in spilled:
        content = bytes(fields[name])
        fields[name] = msgspec.Raw(_encode(Marker(put(content), len(content))))
    return _encode(fields).decode(), ",".join(spilled) or None


def _restore(doc: str, spilled: str | None, get: Get) -> bytes | str:
    """The document with its spilled values back in place."""
    if spilled is None:
        return doc
    fields = _fields(doc)
    for name in spilled.split(","):
        fields[name] = msgspec.Raw(get(_marker(fields[name]).blob))
    return _encode(fields)


_encode: Final = msgspec.json.Encoder().encode
_fields: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_marker: Final = msgspec.json.Decoder(Marker).decode
