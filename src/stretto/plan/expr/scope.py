"""What an expression can read: paths by name, each with its type and the way to its value in a frame."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from stretto.plan.valuetype import Missing, ValueType, at
from stretto.types.json import Json, PathPart, render_path


class Leaf(msgspec.Struct, frozen=True):
    """A value that an expression reads."""

    get: Callable[[list[Any]], Json]
    """Reads it from a frame, which is a list of slot values. What is missing reads as null."""
    type: ValueType
    slots: frozenset[int]
    """Where it comes from: what must be written before it can be read."""


class UnknownPath(Exception):  # noqa: N818  # a finding, turned into an ExprProblem
    """There is nothing at a part of a path."""

    def __init__(
        self, path: Sequence[PathPart], at_part: int, valid: Sequence[str], message: str, *, instead: str = ""
    ) -> None:
        super().__init__(message)
        self.path = tuple(path)
        self.at_part = at_part
        """Index into `path` of the first part that is wrong."""
        self.valid = tuple(valid)
        """Names that would have been right there, for suggestions."""
        self.message = message
        self.instead = instead
        """The path that was surely meant by the path up to here; empty when that cannot be told."""


class PathScope(Protocol):
    """The names in sight at one place of a workflow."""

    def lookup(self, path: tuple[PathPart, ...]) -> Leaf:
        """The value at a path whose first part is a root. Raises UnknownPath."""
        ...

    def roots(self) -> frozenset[str]:
        """Every name that a path may begin with."""
        ...


def descend(value_type: ValueType, path: Sequence[PathPart], read: int) -> ValueType:
    """The type at a path, when `value_type` is that of its first `read` parts. Raises UnknownPath."""
    for index in range(read, len(path)):
        found = at(value_type, path[index])
        if isinstance(found, Missing):
            before = render_path(path[:index])
            raise UnknownPath(path, index, found.valid, f"`{before}` {found.reason}")
        value_type = found
    return value_type
