"""Why a value is not JSON, and where: the slow half of `snapshot`, reached only when something looks wrong."""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple, NoReturn
from uuid import UUID

import msgspec

from stretto.types.arguments import INT64_MAX, INT64_MIN
from stretto.types.errors import NotJsonError

MAX_DEPTH: Final = 200
"""Levels of nesting that a value may have. JSON readers give up at some depth (Python's own near 1,000, msgspec at
what the call stack has left); every reader of a record can take this one."""

_LEAVES: Final = (str, int, float, bool, datetime, date, time, UUID)
"""Types with nothing inside, that the encoder writes itself."""

_REMEDIES: Final = {
    bytes: "encode it as text, with base64 for instance",
    bytearray: "encode it as text, with base64 for instance",
    set: "make it a list",
    frozenset: "make it a list",
    complex: "make it a list of two numbers",
}


class OpaqueError(TypeError):
    """A value of a type that JSON has nothing for."""


class _Place(NamedTuple):
    """A value on the way down, and how it was reached."""

    value: object
    key: str | int
    parent: "_Place | None"
    depth: int


def to_plain(value: object) -> object:
    """One step from a Python object towards JSON, for what the encoder does not know itself; raises OpaqueError."""
    kind = type(value)
    names = _field_names(kind)  # type: ignore[arg-type]  # mypy asks the class for its instances' __hash__
    if names:
        return {name: getattr(value, name) for name in names}
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value, enc_hook=to_plain)
    if hasattr(kind, "model_dump"):  # pydantic, without importing it
        return value.model_dump(mode="json", by_alias=True)  # type: ignore[attr-defined]  # duck-typed just above
    if hasattr(kind, "tolist"):  # arrays and scalars of numpy, without importing it
        return value.tolist()  # type: ignore[attr-defined]  # duck-typed on the line above
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, float):
        return float(value)
    raise OpaqueError(kind.__name__)


@lru_cache(maxsize=1024)  # asked for each instance of a list; more classes than these no program returns
def _field_names(kind: type) -> tuple[str, ...]:
    """The fields of a data class; none of any other."""
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else ()


def has_non_finite(value: object) -> bool:
    """Whether a value that could be encoded holds NaN or an infinity."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind is str or kind is int or kind is bool or value is None:
            continue
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list | tuple):
            waiting.extend(value)
        elif isinstance(value, float):
            if not math.isfinite(value):
                return True
        else:
            waiting.extend(child for _, child in _children(value))
    return False


def refuse(value: object) -> None:
    """Raise NotJsonError for the first thing in a value that is not JSON; return when there is none."""
    waiting = [_Place(value, "", None, 0)]
    while waiting:
        place = waiting.pop()
        if place.depth >= MAX_DEPTH and not (place.value is None or isinstance(place.value, _LEAVES)):
            _refuse_depth(place)
        _judge(place)
        deeper = [_Place(child, key, place, place.depth + 1) for key, child in _children_of(place)]
        waiting.extend(reversed(deeper))


def _judge(place: _Place) -> None:
    """Refuse a leaf that is not JSON."""
    value = place.value
    if isinstance(value, float) and not math.isfinite(value):
        _raise(place, f"{value} is not JSON; use null or a finite number")
    if isinstance(value, int) and not INT64_MIN <= value <= INT64_MAX:
        shown = f"{value}" if value.bit_length() < 256 else f"an integer of {value.bit_length()} bits"
        _raise(place, f"{shown} lies outside [-2^63, 2^63); write it as a string")
    if isinstance(value, str):
        _judge_text(place, value, "the text")


def _judge_text(place: _Place, text: str, what: str) -> None:
    at = next((i for i, char in enumerate(text) if "\ud800" <= char <= "\udfff"), None)
    if at is not None:
        _raise(
            place,
            f"{what} holds the lone surrogate U+{ord(text[at]):04X} at character {at}, which no UTF-8 text can; "
            "decode its bytes with errors='replace'",
        )


def _children_of(place: _Place) -> Iterator[tuple[str | int, object]]:
    """What a place holds, after judging its keys; raises for a type that is not JSON."""
    try:
        children = list(_children(place.value))
    except OpaqueError as error:
        kind = type(place.value)
        remedy = _REMEDIES.get(kind, "return plain values, a dataclass, a TypedDict, a msgspec or a pydantic model")
        _raise(place, f"a value of type {error} is not JSON; {remedy}")
    for key, child in children:
        if isinstance(key, str):
            _judge_text(place, key, "a key")
        elif isinstance(place.value, Mapping):
            _raise(place, f"the key {key!r} is not text but {type(key).__name__}; write it as a string")
        yield key, child


def _children(value: object) -> Iterator[tuple[str | int, object]]:
    """Keys and values inside a container, seen through dataclasses, models and arrays as the encoder sees them."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)
    elif isinstance(value, Enum):
        yield from _children(value.value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
    elif value is not None and not isinstance(value, _LEAVES):
        plain = to_plain(value)
        if isinstance(plain, dict | list):
            yield from _children(plain)
        else:
            yield "", plain


def _refuse_depth(place: _Place) -> NoReturn:
    """Tell a value that contains itself from one that is merely deep."""
    chain = [place]
    while chain[-1].parent is not None:
        chain.append(chain[-1].parent)
    seen: set[int] = set()
    for above in reversed(chain):
        if id(above.value) in seen:
            _raise(above, "the value contains itself")
        seen.add(id(above.value))
    raise NotJsonError(f"the value is nested more than {MAX_DEPTH} levels deep; flatten it, or pass it as text")


def _raise(place: _Place, message: str) -> NoReturn:
    raise NotJsonError(message, _pointer(place))


def _pointer(place: _Place) -> str:
    """JSON Pointer (RFC 6901) to a place."""
    tokens: list[str] = []
    above = place
    while above.parent is not None:
        if above.key != "" or isinstance(above.parent.value, dict):
            tokens.append(str(above.key).replace("~", "~0").replace("/", "~1"))
        above = above.parent
    return "".join(f"/{token}" for token in reversed(tokens))
