"""Records as rows, and rows as records. What is encoded may not change between its hand-over and its commit.

A document's field above 4 KiB is kept in `blobs` and stands in the row as a marker. The `spilled` column names those
fields, so that no value which only looks like a marker is ever taken for one.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from stretto.record.arrays import Get, Put
from stretto.record.codec import (
    decode_effect,
    decode_run,
    decode_step,
    decode_steps,
    encode_effect,
    encode_head,
    encode_step,
    encode_step_lines,
)
from stretto.record.model import EffectRecord, Run, StepRecord
from stretto.types.enums import Durability
from stretto.types.ids import Digest, digest_of

SPILL_BYTES: Final = 4096
"""Larger values go to `blobs`: they tend to repeat from run to run, and few are ever read."""

_STEPS_PER_ROW: Final = 256
"""At most, so that a row comes to no more than a megabyte: it is read whole."""

_LINE_BREAK: Final = "\n"
"""Between steps that were encoded together: inside one there is none."""

_KEPT_INLINE: Final = frozenset({"labels", "id", "path", "status", "effect_key"})
"""Fields that listings read; they never spill."""

_SEARCHABLE: Final = ("task", "group", "split", "purpose")
"""Labels with a column of their own."""

KEPT_COLUMNS: Final = (
    "id, workflow, version, tenant, status, started_at_ns, durability, effect_key, "
    'task, "group", split, purpose, doc, spilled'
)
PLAIN_COLUMNS: Final = "id, workflow, version, tenant, status, started_at_ns, doc, durability"
"""All that there is to say of a run without labels, effect key or anything spilled: a value that is not bound saves
0.2 µs."""

OPENED_COLUMNS: Final = f"owner, epoch, lease_until_ns, {KEPT_COLUMNS}"

Value: TypeAlias = str | int | bytes | None
Row: TypeAlias = tuple[Value, ...]
StepRow: TypeAlias = tuple[str, int, int, str, str | None]
"""Run id, number of the first step, how many steps, document, what of it is spilled."""


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


def head_doc(run: Run, put: Put) -> tuple[str, str | None]:
    """The document of a run without its steps, and what of it is spilled."""
    return _spill(encode_head(run), put)


def kept_row(run: Run, durability: Durability, put: Put) -> Row:
    """The row of `runs` of a run that nobody executes, in the order of `PLAIN_COLUMNS` where they say all, else of
    `KEPT_COLUMNS`."""
    if run.labels or run.effect_key:
        return _labelled_row(run, durability, head_doc(run, put))
    doc, spilled = head_doc(run, put)
    if spilled is not None:
        return _labelled_row(run, durability, (doc, spilled))
    manifest, status = run.manifest, None if run.status is None else str(run.status)
    return run.id, manifest.workflow, manifest.version, run.tenant, status, run.started_at_ns, doc, str(durability)


def _labelled_row(run: Run, durability: Durability, doc: tuple[str, str | None]) -> Row:
    task, group, split, purpose = map(run.labels.get, _SEARCHABLE)
    manifest = run.manifest
    return (
        run.id,
        manifest.workflow,
        manifest.version,
        run.tenant,
        None if run.status is None else run.status.value,
        run.started_at_ns,
        durability.value,
        run.effect_key or None,
        task,
        group,
        split,
        purpose,
        *doc,
    )


def opened_row(run: Run, owner: str, epoch: int, lease_until_ns: int, put: Put) -> Row:
    """The row of a run that begins under durability ``step``, in the order of `OPENED_COLUMNS`."""
    return owner, epoch, lease_until_ns, *_labelled_row(run, Durability.STEP, head_doc(run, put))


def step_rows(run_id: str, first: int, steps: Sequence[StepRecord], put: Put) -> list[StepRow]:
    """Rows of `step_batches` for consecutive steps, of which the first has the number `first`.

    Steps go together into a row, which costs a third of a row for each; one that spills has a row of its own.
    """
    if not steps:
        return []
    lines = encode_step_lines(steps)
    if lines is not None and len(lines) <= SPILL_BYTES:
        return [(run_id, first, len(steps), f"[{lines[:-1].decode().replace(_LINE_BREAK, ',')}]", None)]
    texts = lines.split(b"\n")[:-1] if lines is not None else [encode_step(step, put) for step in steps]
    rows: list[StepRow] = []
    begun = 0
    for at, text in enumerate(texts):
        is_large = len(text) > SPILL_BYTES
        if begun < at and (is_large or at - begun == _STEPS_PER_ROW):
            rows.append(_batch(run_id, first + begun, texts[begun:at]))
            begun = at
        if is_large:
            rows.append((run_id, first + at, 1, *_spill(text, put)))
            begun = at + 1
    if begun < len(texts):
        rows.append(_batch(run_id, first + begun, texts[begun:]))
    return rows


def _batch(run_id: str, first: int, texts: Sequence[bytes]) -> StepRow:
    """One row of several steps."""
    return run_id, first, len(texts), f"[{b','.join(texts).decode()}]", None


def effect_row(effect: EffectRecord, put: Put) -> Row:
    """The row of `effects`."""
    state = "refused" if effect.refused else "intended" if effect.receipt is None else "received"
    doc = _spill(encode_effect(effect), put)
    return (effect.run_id, effect.path, state, effect.request_digest, effect.intended_at_ns, *doc)


def read_run(doc: str, spilled: str | None, get: Get) -> Run:
    """A run without its steps."""
    return decode_run(_restore(doc, spilled, get))


def read_steps(doc: str, spilled: str | None, get: Get) -> list[StepRecord]:
    """The steps of a row, with their arrays."""
    if doc.startswith("["):
        return decode_steps(doc, get)
    return [decode_step(_restore(doc, spilled, get), get)]


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
