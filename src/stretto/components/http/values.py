"""Values as text: in an address, a header, a form field or an element."""

import math
import re
from typing import Final

import orjson

from stretto.plan.valuetype import Kind
from stretto.types.json import Json

TEXT_KINDS: Final = frozenset({Kind.STRING, Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.DYN})
"""Types whose values may be text; of `dyn` run time tells."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


class UnfitError(Exception):
    """A value of the input cannot stand where the declaration puts it; the message says which and why."""


def as_text(value: Json, what: str) -> str:
    """One value as text, numbers and booleans as JSON writes them. Raises UnfitError for null, lists and objects."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or (isinstance(value, int | float) and math.isfinite(value)):
        return orjson.dumps(value).decode()
    raise UnfitError(f"{what} is {_named(value)}; expected text, a number, true or false")


def check_one_line(text: str, what: str) -> str:
    """The same text. Raises UnfitError for a control character, by which a value could end its line."""
    if _CONTROL.search(text):
        raise UnfitError(f"{what} holds a control character, such as a line break, and nothing may follow its line")
    return text


def _named(value: Json) -> str:
    if value is None:
        return "null"
    return "a list" if isinstance(value, list) else "an object"
