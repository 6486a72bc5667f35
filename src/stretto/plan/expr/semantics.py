"""CEL's equality, order and membership on JSON values, exactly as the Rust library has them.

Python differs in two ways: it takes True for 1, and it compares an integer with a float exactly, where CEL compares
them as doubles. Values of different types are unequal in CEL, never an error; their order is an error.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import orjson

from stretto.types.json import Json


class NoValue(Exception):  # noqa: N818  # becomes an ExpressionError where the source and the values are known
    """An expression has no value for what it read."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


SCALARS: Final = (str, bool, int, type(None))
"""Types whose values Python and CEL compare alike, among themselves."""

EXACT_BELOW: Final = 2.0**53
"""Numbers nearer to zero than this compare alike as doubles and exactly: their integers are doubles."""

NAMES: Final[dict[type, str]] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}


def in_words(value: Json) -> str:
    """A value's type as a noun phrase."""
    return NAMES.get(type(value), "a value that JSON does not have")


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal in CEL."""
    kind = type(one)
    if kind is not type(other):
        numbers = (kind is int and type(other) is float) or (kind is float and type(other) is int)
        return numbers and float(one) == float(other)
    if kind in SCALARS or kind is float:
        return bool(one == other)
    if len(one) != len(other):
        return False
    if kind is list:
        return all(map(equal, one, other))
    return all(name in other and equal(value, other[name]) for name, value in one.items())


def ordering(operator: str, test: Callable[[Any, Any], bool]) -> Callable[[Json, Json], bool]:
    """``<`` and its kin for numbers, texts (by code point) and booleans, each among themselves."""

    def compare(one: Any, other: Any) -> bool:
        kind, other_kind = type(one), type(other)
        if kind is other_kind and kind in (int, float, str, bool):
            return test(one, other)
        if (kind is int and other_kind is float) or (kind is float and other_kind is int):
            return test(float(one), float(other))
        raise NoValue(f"`{operator}` cannot order {in_words(one)} and {in_words(other)}")

    return compare


def contained(item: Json, container: Json) -> bool:
    """``item in container``: an item of a list, or a key of an object."""
    if type(container) is list:
        return any(equal(item, one) for one in container)
    if type(container) is dict and isinstance(item, (str, int)):
        return type(item) is str and item in container
    if type(container) is dict:
        raise NoValue(f"{in_words(item)} is no key of an object")
    raise NoValue(f"`in` does not look into {in_words(container)}")


def size(value: Json) -> int:
    """Characters (code points) of a text, items of a list, fields of an object."""
    if type(value) in (str, list, dict):
        return len(value)  # type: ignore[arg-type]  # narrowed by type(), which is faster than isinstance
    raise NoValue(f"size() does not take {in_words(value)}")


def indexed(container: Json, index: Json) -> Json:
    """``container[index]``, null where nothing stands there."""
    if container is None:
        return None
    if type(index) is float and index.is_integer() and abs(index) < EXACT_BELOW:
        index = int(index)  # JSON may write an integer so
    if type(container) is list and type(index) is int:
        return container[index] if 0 <= index < len(container) else None
    if type(container) is dict and isinstance(index, (str, int)):
        return container.get(index) if isinstance(index, str) else None
    raise NoValue(f"{in_words(container)} has nothing at {in_words(index)}")


def not_boolean(operator: str, value: Json) -> NoValue:
    """What to raise where a boolean was needed."""
    return NoValue(f"`{operator}` takes booleans, and met {in_words(value)}")


def settle(operator: str, operands: Iterable[Callable[[list[Any]], Json]], frame: list[Any], settling: bool) -> bool:
    """Booleans joined by `&&`, or by `||` where `settling` is true: the value that settles it wins over errors on
    either side (langdef, Logical Operators)."""
    failure: NoValue | None = None
    for operand in operands:
        try:
            value = operand(frame)
        except NoValue as error:
            failure = failure or error
            continue
        if value is settling:
            return settling
        if type(value) is not bool:
            failure = failure or not_boolean(operator, value)
    if failure:
        raise failure
    return not settling


def is_json(text: Json) -> bool:
    """Whether a text is a JSON document (RFC 8259): what a model was asked for, and may not have written."""
    if type(text) is not str:
        raise NoValue(f"isJson() does not take {in_words(text)}")
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True
