"""Records as JSON Lines: the form in which they leave one store for another, or for another tool.

One record a line, each with its `format`; arrays stand as blobs in a folder beside. What was written reads back as
it was: exporting what was imported gives the same canonical lines.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

import msgspec

from stretto.record.arrays import BlobFolder, Get, Put
from stretto.record.codec import (
    decode_annotation,
    decode_effect,
    decode_run,
    encode_annotation,
    encode_effect,
    encode_run,
)
from stretto.record.model import FORMAT, Annotation, EffectRecord, Run
from stretto.types.errors import StoreError, StrettoError

Record: TypeAlias = Run | EffectRecord | Annotation

EFFECT_FORMAT: Final = "stretto.effect/1"
ANNOTATION_FORMAT: Final = "stretto.annotation/1"


class _Line(msgspec.Struct):
    format: str


def export_runs(records: Iterable[Record], out: BinaryIO, blobs_dir: Path) -> int:
    """Write records as JSON Lines and their arrays into `blobs_dir`; returns how many were written.

    An effect or annotation belongs after the run that it names, so that an import can check it.
    """
    blobs = BlobFolder(blobs_dir)
    count = 0
    for record in records:
        out.write(encode_line(record, blobs.put))
        count += 1
    return count


def import_runs(lines: Iterable[bytes], blobs_dir: Path) -> Iterator[Record]:
    """Read what `export_runs` wrote, in order, one record at a time.

    Raises StoreError with the line's number when a line is no record of a known format or a blob is missing.
    """
    blobs = BlobFolder(blobs_dir)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield decode_line(line, blobs.get)
        except StrettoError as error:
            raise StoreError(f"line {number}: {error}") from error


def encode_line(record: Record, put: Put) -> bytes:
    """One record as one line."""
    if isinstance(record, Run):
        return encode_run(record, put) + b"\n"
    if isinstance(record, EffectRecord):
        return _tagged(EFFECT_FORMAT, encode_effect(record))
    return _tagged(ANNOTATION_FORMAT, encode_annotation(record))


def decode_line(line: bytes, get: Get) -> Record:
    """Read one line of any known format."""
    try:
        name = msgspec.json.decode(line, type=_Line).format
    except (msgspec.DecodeError, RecursionError) as error:
        raise StoreError(f"not a record: {error}; expected a JSON object with `format`") from error
    if name == FORMAT:
        return decode_run(line, get)
    if name == EFFECT_FORMAT:
        return decode_effect(line)
    if name == ANNOTATION_FORMAT:
        return decode_annotation(line)
    raise StoreError(
        f"unknown format {name!r}; this release reads {FORMAT}, {EFFECT_FORMAT} and {ANNOTATION_FORMAT}. "
        "If the file is from a newer release, upgrade stretto"
    )


def _tagged(name: str, data: bytes) -> bytes:
    return f'{{"format":"{name}",'.encode() + data[1:] + b"\n"
