"""The syntax tree of a CEL expression. Nodes compare by identity, so that what is found out can be kept beside them."""

from enum import StrEnum
from typing import TypeAlias

import msgspec


class Macro(StrEnum):
    """The comprehensions of CEL by name."""

    ALL = "all"
    EXISTS = "exists"
    EXISTS_ONE = "exists_one"
    MAP = "map"
    FILTER = "filter"


class Span(msgspec.Struct, frozen=True, eq=False):
    """Where a node stands, in characters of the source; `depth` is the longest way down to a leaf, at least 1."""

    start: int
    end: int
    depth: int


class Uint(msgspec.Struct, frozen=True, eq=False):
    """An unsigned literal: ``7u``."""

    value: int


class Literal(Span, frozen=True, eq=False):
    """A constant."""

    value: bool | int | float | str | bytes | Uint | None


class Ident(Span, frozen=True, eq=False):
    """A name; `rooted` when written with a leading dot, which skips comprehension variables."""

    name: str
    rooted: bool


class Select(Span, frozen=True, eq=False):
    """``operand.field``."""

    operand: "Node"
    field: str
    field_start: int


class Index(Span, frozen=True, eq=False):
    """``operand[index]``."""

    operand: "Node"
    index: "Node"


class Has(Span, frozen=True, eq=False):
    """``has(operand.field)``."""

    selected: Select


class Call(Span, frozen=True, eq=False):
    """``function(arguments)``, or ``target.function(arguments)``."""

    function: str
    function_start: int
    target: "Node | None"
    arguments: "tuple[Node, ...]"


class Comprehension(Span, frozen=True, eq=False):
    """``target.macro(variable, body)``; only `map` may have a filter before its body."""

    macro: Macro
    target: "Node"
    variable: str
    body: "Node"
    filter: "Node | None"


class ListOf(Span, frozen=True, eq=False):
    """``[items]``."""

    items: "tuple[Node, ...]"


class MapOf(Span, frozen=True, eq=False):
    """``{key: value}``."""

    entries: "tuple[tuple[Node, Node], ...]"


class Message(Span, frozen=True, eq=False):
    """``Name{field: value}``."""

    name: str
    fields: "tuple[tuple[str, Node], ...]"


class Unary(Span, frozen=True, eq=False):
    """``!operand`` or ``-operand``."""

    operator: str
    operand: "Node"


class Binary(Span, frozen=True, eq=False):
    """A relation, membership or arithmetic: ``left operator right``."""

    operator: str
    left: "Node"
    right: "Node"


class Logic(Span, frozen=True, eq=False):
    """Operands joined by ``&&``, or by ``||``; two or more."""

    operator: str
    operands: "tuple[Node, ...]"


class Conditional(Span, frozen=True, eq=False):
    """``condition ? then : otherwise``."""

    condition: "Node"
    then: "Node"
    otherwise: "Node"


Node: TypeAlias = (
    Literal
    | Ident
    | Select
    | Index
    | Has
    | Call
    | Comprehension
    | ListOf
    | MapOf
    | Message
    | Unary
    | Binary
    | Logic
    | Conditional
)
