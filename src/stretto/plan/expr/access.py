"""Accessors: the way from a frame to the value at a path. They are most of what runs on the hot path."""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from stretto.plan.valuetype import Kind
from stretto.plan.valuetype.model import NUMERIC
from stretto.types.json import Json, PathPart

Accessor: TypeAlias = Callable[[list[Any]], Json]

ABSENT: Final = (KeyError, IndexError, TypeError)
"""What Python raises where there is nothing: no such field, no such index, or no container at all."""


def path_getter(slot: int, path: Sequence[PathPart]) -> Accessor:
    """Reads the value at a path below a slot; anything missing on the way reads as null.

    A negative slot counts from the end of the frame. Up to three parts are specialised: 0.05 to 0.1 µs a read.
    """
    if path and isinstance(path[-1], int):
        return _indexed(path_getter(slot, path[:-1]), path[-1])
    match tuple(path):
        case ():
            return _whole(slot)
        case (first,):
            return _one(slot, first)
        case (first, second):
            return _two(slot, first, second)
        case (first, second, third):
            return _three(slot, first, second, third)
        case parts:
            return _many(slot, parts)


def _whole(slot: int) -> Accessor:
    def get(frame: list[Any]) -> Json:
        value: Json = frame[slot]
        return value

    return get


def _one(slot: int, first: PathPart) -> Accessor:
    def get(frame: list[Any]) -> Json:
        try:
            value: Json = frame[slot][first]
        except ABSENT:
            return None
        return value

    return get


def _two(slot: int, first: PathPart, second: PathPart) -> Accessor:
    def get(frame: list[Any]) -> Json:
        try:
            value: Json = frame[slot][first][second]
        except ABSENT:
            return None
        return value

    return get


def _three(slot: int, first: PathPart, second: PathPart, third: PathPart) -> Accessor:
    def get(frame: list[Any]) -> Json:
        try:
            value: Json = frame[slot][first][second][third]
        except ABSENT:
            return None
        return value

    return get


def _many(slot: int, parts: tuple[PathPart, ...]) -> Accessor:
    def get(frame: list[Any]) -> Json:
        value: Any = frame[slot]
        try:
            for part in parts:
                value = value[part]
        except ABSENT:
            return None
        found: Json = value
        return found

    return get


def _indexed(container: Accessor, index: int) -> Accessor:
    """A last part that is an index needs a list under it: Python would index text as well, and count from its end.

    Before another part there is no such need: what text gives for an index has no parts.
    """

    def get(frame: list[Any]) -> Json:
        items = container(frame)
        return items[index] if type(items) is list and 0 <= index < len(items) else None

    return get


def as_number(get: Accessor, kind: Kind) -> Accessor:
    """JSON may write a double like an integer, and JSON Schema takes 2.0 for an integer; CEL tells them apart."""
    if kind not in NUMERIC:
        return get
    wanted, other = (float, int) if kind is Kind.FLOAT else (int, float)

    def number(frame: list[Any]) -> Json:
        value = get(frame)
        return wanted(value) if type(value) is other else value

    return number
