"""Values as text: in an address, a header, a form field or an element."""

import re
from typing import Final

import orjson

from stretto.plan.valuetype import Kind
from stretto.types.arguments import INT64_MAX, INT64_MIN
from stretto.types.json import Json

TEXT_KINDS: Final = frozenset({Kind.STRING, Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.DYN})
"""Types whose values may be text; of `dyn` run time tells."""

MAX_DIGITS_SHOWN: Final = 30
"""Of a number that is too long: enough to know it again."""

_HALF: Final = re.compile(r"[\ud800-\udfff]")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


class UnfitError(Exception):
    """A value of the input cannot stand where the declaration puts it; the message says which and why."""


def as_text(value: Json, what: str) -> str:
    """One value as text, numbers and booleans as JSON writes them. Raises UnfitError for null, lists and objects."""
    if isinstance(value, str):
        return _whole(value, what)
    if isinstance(value, bool | float) or (isinstance(value, int) and INT64_MIN <= value <= INT64_MAX):
        text = orjson.dumps(value).decode()
        if text != "null":  # NaN and infinity
            return text
    raise UnfitError(f"{what} is {_named(value)}; expected text, a number, true or false")


def _whole(text: str, what: str) -> str:
    """The same text. Raises UnfitError for half of a surrogate pair, which no encoding writes."""
    if text.isascii() or not _HALF.search(text):
        return text
    raise UnfitError(f"{what} holds half of a surrogate pair, which is no character")


def check_one_line(text: str, what: str) -> str:
    """The same text. Raises UnfitError for a control character, by which a value could end its line."""
    if _CONTROL.search(text):
        raise UnfitError(f"{what} holds a control character, such as a line break, and nothing may follow its line")
    return text


def _named(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, int | float):
        return f"{str(value)[:MAX_DIGITS_SHOWN]}, which is no number of 64 bits"
    return "a list" if isinstance(value, list) else "an object"
