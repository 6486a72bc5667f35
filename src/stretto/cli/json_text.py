"""JSON that people give, read with the place of what is wrong. Readers differ in what they make of a key that stands
twice in one object (RFC 8259 section 4), so it is refused, and in what they make of a long integer (section 6), so it
keeps its digits until a record, which could not hold it, refuses it by name."""

import json
from codecs import BOM_UTF8
from typing import Final

import orjson

from stretto.spec.source import printable
from stretto.types.errors import UsageError
from stretto.types.json import Json, JsonObject

_SHOWN_CHARS: Final = 60
"""Of a wrong value, around the place where it is wrong."""


def parse_json(data: bytes, what: str, hint: str = "") -> Json:
    """The value of a JSON text, integers of any length as they stand there; raises UsageError that says of `what`
    where it is none."""
    data = data.removeprefix(BOM_UTF8)  # what some editors and shells begin a file with
    try:
        rounded: Json = orjson.loads(data)  # its errors have a place; an integer beyond 64 bits it makes a float
    except orjson.JSONDecodeError as error:
        raise UsageError(
            f"{what} is not JSON: {error.msg}, at line {error.lineno} column {error.colno}{hint}\n  {_around(error)}"
        ) from error
    try:
        return read_unrepeated(data, what)
    except RecursionError:  # deeper than any record may hold, which says so in its own words
        return rounded


def read_unrepeated(data: bytes, what: str) -> Json:
    """The value of a text that is JSON; raises UsageError when a key stands twice in one of its objects."""

    def as_object(pairs: list[tuple[str, Json]]) -> JsonObject:
        made = dict(pairs)
        if len(made) == len(pairs):
            return made
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise UsageError(f"{what} has the key {_shown(key)} twice in one object; keep one of the two")
            seen.add(key)
        return made

    value: Json = json.loads(data.decode(), object_pairs_hook=as_object)
    return value


def _shown(key: str) -> str:
    return repr(key) if len(key) <= _SHOWN_CHARS else f"{key[:_SHOWN_CHARS]!r}…"


def _around(error: orjson.JSONDecodeError) -> str:
    """The wrong line, or its part around the place, with a caret under it."""
    line = (error.doc.splitlines() or [""])[error.lineno - 1 : error.lineno]
    text = printable(line[0]) if line else ""
    first = max(0, error.colno - 1 - _SHOWN_CHARS // 2)
    return f"{text[first : first + _SHOWN_CHARS]}\n  {' ' * (error.colno - 1 - first)}^"
