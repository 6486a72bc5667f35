"""Words that name no field of what comes in: the engine reads them as null, and mostly they were meant as text."""

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

import orjson

from stretto.components.rules.model import Table
from stretto.components.rules.references import says_more
from stretto.spec.nodes import quote
from stretto.spec.source import Located, Span
from stretto.types.json import Schema

_LIKE_TEXT: Final = re.compile(r"(?P<test>[=!]=\s*)?(?P<words>\w+(?:(?:\s*[-./,]\s*|\s+)\w+)*)")
"""Words with nothing between them but what stands between words of a text: ``flat``, ``n/a``, ``short-stay``."""

_PROSE: Final = re.compile(r"[^\W\d][\w ',.:;!?-]*[\w'.!?]")
"""What the engine cannot read and a person can: ``zone b``, ``Ask us!``."""

_ROOT: Final = re.compile(r"(?<![\w.])[^\W\d]\w*")
_OR: Final = re.compile(r"\s*,\s*|\s+or\s+")
_OPERATORS: Final = frozenset({"and", "or", "not", "in"})
_CONSTANTS: Final = frozenset({"true", "false", "null"})


def known_fields(schema: Schema) -> frozenset[str]:
    """The fields that come in, where a schema names them and welcomes no others by word; else empty."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or says_more(dict(schema)) or schema.get("additionalProperties", False):
        return frozenset()
    return frozenset(properties)


def strangers(value: str, fields: frozenset[str]) -> list[str]:
    """The words of what looks like text that are none of these fields; none when it looks like an expression."""
    found = _LIKE_TEXT.fullmatch(value)
    words = _ROOT.findall(found["words"]) if found else []
    return [word for word in words if word not in fields | _OPERATORS | _CONSTANTS]


def as_text(text: Located[str], *, is_cell: bool) -> str:
    """What to write where a text was meant, as the file wants it; empty when that cannot be told."""
    value = text.value
    found = _LIKE_TEXT.fullmatch(value)
    if '"' in value or (found is None and _PROSE.fullmatch(value) is None):
        return ""
    test, words = (found["test"] or "", found["words"]) if found else ("", value)
    if is_cell and _OPERATORS - {"or"} & {*words.split()}:
        return ""
    parts = _OR.split(words) if is_cell else [words]
    return _in_file(test + ", ".join(f'"{part}"' for part in parts), text.span)


def _in_file(cell: str, span: Span) -> str:
    """A cell inside the quotes of its file: JSON's, or YAML's, where the cell's own would be taken for the file's."""
    if PurePath(span.mark.file).suffix == ".json":
        return orjson.dumps(cell).decode()
    return "'" + cell.replace("'", "''") + "'"


def untold_words(table: Table, seen: Schema) -> Iterator[tuple[Span, str]]:
    """Of a table whose input no schema describes: the first word that may be a field or a text, with their number."""
    if known_fields(seen):
        return
    fields = frozenset(column.field for column in (*table.inputs, *table.outputs))
    cells = [
        (row, cell, is_cell)
        for row in table.rows
        for columns, written, is_cell in ((table.inputs, row.inputs, True), (table.outputs, row.outputs, False))
        for column, cell in zip(columns, written, strict=True)
        if strangers(cell.value, fields) and (column.field or not is_cell)
    ]
    for row, cell, is_cell in cells[:1]:
        number = f"{len(cells)} cells" if len(cells) > 1 else "a cell"
        reads = f"reads fields of which no schema tells in {number}, such as {quote(cell.value)} in {row.label}"
        meant = as_text(cell, is_cell=is_cell)
        yield cell.span, f"{reads}; a text is written {meant}" if meant else reads
