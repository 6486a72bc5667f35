"""Files of labelled texts: CSV with a heading, or one JSON object a line; each a text and the value that it means."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer

from stretto.learn.semantics.samples import Sample
from stretto.types.errors import UsageError

SamplesFiles = Annotated[
    list[Path] | None,
    typer.Option("--samples", metavar="FILE", help="Labelled texts, CSV or JSON Lines; may be repeated."),
]

EXPECTED: Final = 'a heading "text,value" and a row for each text, or lines like {"text": "...", "value": "..."}'

_LARGEST_FIELD: Final = 1_000_000
"""Characters of a CSV field; Python's own limit is lower and its message names no line."""


def read_labelled(path: Path) -> list[Sample]:
    """The samples of a file; an empty value, or null, is a text that means no value of the domain.

    A file whose name ends with .csv is CSV, any other is JSON Lines. Raises UsageError with the line's number.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"--samples: {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--samples: {path} is not UTF-8: {error.reason} at byte {error.start}") from error
    rows = _csv_rows(path, text) if path.suffix.lower() == ".csv" else _json_rows(path, text)
    samples = [_sample(row, place) for place, row in rows]
    if not samples:
        raise UsageError(f"{path} holds no labelled text; expected {EXPECTED}")
    return samples


def _csv_rows(path: Path, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    csv.field_size_limit(_LARGEST_FIELD)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            yield f"{path}:{reader.line_num}", row
    except csv.Error as error:
        raise UsageError(f"{path}:{reader.line_num} is no CSV: {error}; expected {EXPECTED}") from error


def _json_rows(path: Path, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield f"{path}:{number}", msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.DecodeError as error:
                raise UsageError(f"{path}:{number} is no labelled text: {error}; expected {EXPECTED}") from error


def _sample(row: dict[str, Any], place: str) -> Sample:
    text, value = row.get("text"), row.get("value", row)
    if not isinstance(text, str) or not (value is None or isinstance(value, str)):
        lacks = "text" if not isinstance(text, str) else "value"
        raise UsageError(f"{place} has no '{lacks}' that is a text; expected {EXPECTED}")
    return Sample(text=text, value=value or "")
