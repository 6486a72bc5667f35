"""Records as JSON Lines: the form in which they leave one store for another, or for another tool.

One record a line, each with its `format` and a digest of what it says, by which a line that was cut or changed on the
way is known; arrays stand as blobs in a folder beside. What was written reads back as it was: exporting what was
imported gives the same canonical lines.
"""

from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

import msgspec

from stretto.record.arrays import BlobFolder, Get, Put
from stretto.record.canonical import canonical
from stretto.record.codec import (
    decode_annotation,
    decode_effect,
    decode_run,
    encode_annotation,
    encode_effect,
    encode_run,
)
from stretto.record.model import FORMAT, Annotation, EffectRecord, Run
from stretto.types.errors import StoreError, StrettoError, UsageError
from stretto.types.ids import digest_of

Record: TypeAlias = Run | EffectRecord | Annotation

EFFECT_FORMAT: Final = "stretto.effect/1"
ANNOTATION_FORMAT: Final = "stretto.annotation/1"

LINE_DIGEST: Final = "line_digest"
"""Field of a line: SHA-256 of the canonical form of all its other fields. A line that a tool wrote may lack it."""


class _Line(msgspec.Struct):
    format: str
    line_digest: str = ""


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


def import_lines(lines: Iterable[bytes], blobs_dir: Path, source: str) -> Iterator[tuple[str, Record]]:
    """Read what `export_runs` wrote, in order, one record at a time, each with its place: ``runs.jsonl:3``.

    Raises UsageError with the place when a line is no record of a known format, was changed, or a blob is missing.
    """
    blobs = BlobFolder(blobs_dir)
    for number, line in enumerate(lines, start=1):
        if number == 1:
            line = line.removeprefix(BOM_UTF8)  # noqa: PLW2901  # an editor or a shell put it there
        if not line.strip():
            continue
        place = f"{source}:{number}"
        try:
            record = decode_line(line, blobs.get)
        except StrettoError as error:
            raise UsageError(f"{place}: {error}") from error
        yield place, record


def encode_line(record: Record, put: Put) -> bytes:
    """One record as one line."""
    if isinstance(record, Run):
        data = encode_run(record, put)
    elif isinstance(record, EffectRecord):
        data = _tagged(EFFECT_FORMAT, encode_effect(record))
    else:
        data = _tagged(ANNOTATION_FORMAT, encode_annotation(record))
    return data[:-1] + f',"{LINE_DIGEST}":"{digest_of(canonical(data))}"}}\n'.encode()


def decode_line(line: bytes, get: Get) -> Record:
    """Read one line of any known format."""
    try:
        head = msgspec.json.decode(line, type=_Line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise StoreError(
            f"not a record: {error}; expected a JSON object with `format`, as `stretto runs export` writes them"
        ) from error
    decode = _decoders(get).get(head.format)
    if decode is None:
        raise StoreError(
            f"unknown format {head.format!r}; this release reads {FORMAT}, {EFFECT_FORMAT} and {ANNOTATION_FORMAT}. "
            "If the file is from a newer release, upgrade stretto"
        )
    if head.line_digest and head.line_digest != digest_of(content_of(line)):
        raise StoreError(f"something in it was changed since it was exported: its {LINE_DIGEST} is of another content")
    return decode(line)


def _decoders(get: Get) -> dict[str, Callable[[bytes], Record]]:
    return {
        FORMAT: lambda line: decode_run(line, get),
        EFFECT_FORMAT: decode_effect,
        ANNOTATION_FORMAT: decode_annotation,
    }


def content_of(line: bytes) -> bytes:
    """What a line says, in canonical form: all of it but its digest."""
    fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    fields.pop(LINE_DIGEST, None)
    return canonical(msgspec.json.encode(fields))


def _tagged(name: str, data: bytes) -> bytes:
    return f'{{"format":"{name}",'.encode() + data[1:]
