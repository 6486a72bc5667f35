"""Writes a checked tree as CEL text over ready values, for the library.

Every path is one variable, read before, and so is what comprehensions around the written part have bound. What is
left to read inside, below a comprehension's item for instance, is guarded so that here too the missing reads as null.
Some texts stand for what the library lacks: ``bool()``, ``matches()`` as a function, the size of a text in characters
(the library counts bytes), ``string()`` of a boolean or a time, durations that are too long, integers beside doubles.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, assert_never

from stretto.plan.expr.check import Checked
from stretto.plan.expr.parse import BINDING, UNARY_BINDING
from stretto.plan.expr.phrases import (
    IS_JSON,
    SPAN,
    as_text,
    at_index,
    boolean,
    converted,
    guarded,
    json_as_text,
    literal,
    negation,
    size_of,
    time_as_text,
    whole_as_int,
)
from stretto.plan.expr.spans import readable
from stretto.plan.expr.syntax import (
    Binary,
    Call,
    Comprehension,
    Conditional,
    Has,
    Ident,
    Index,
    ListOf,
    Literal,
    Logic,
    Macro,
    MapOf,
    Message,
    Node,
    Select,
    Uint,
    Unary,
)
from stretto.plan.valuetype import DYN, Kind, ValueType
from stretto.plan.valuetype.model import NUMERIC
from stretto.types.json import PathPart

TIMELESS: Final = frozenset({"optional.of", "optional.ofNonZeroValue", "optional.none", "of", "none", "or", "type"})
"""Functions whose results are no time, and may have no type that can be asked for."""

NO_NUMBERS: Final = frozenset({"timestamp", "duration", "bytes", "uint", "type"})
"""Functions whose results are never converted beside a number."""

WEAKEST: Final = 0
WHOLE: Final = UNARY_BINDING + 1
"""How tightly what is one piece binds: a name, a call, something in brackets."""


class Emitted(NamedTuple):
    """A part of an expression as the library reads it."""

    text: str
    """``p0``, ``p1`` for the paths by index, ``h0`` for whether one has a value, ``i0``, ``i1`` for what is read of the
    items that are bound around it."""
    leaves: dict[str, Node]
    """The paths that it reads, by those names."""
    items: "dict[str, ItemPath]"
    """The paths into those items, by those names."""


class ItemPath(NamedTuple):
    """A value of an item that a comprehension goes over."""

    level: int
    """The comprehension: 0 for the outermost."""
    path: tuple[PathPart, ...]
    type: ValueType


def emit(checked: Checked) -> Emitted:
    """The whole expression, its times as text."""
    writer = _Writer(checked, 0)
    return Emitted(writer.result(checked.tree), writer.leaves, writer.items)


def emit_part(checked: Checked, node: Node, level: int) -> Emitted:
    """A part of it that stands inside `level` comprehensions, and gives nothing but JSON."""
    writer = _Writer(checked, level)
    return Emitted(writer.write(node), writer.leaves, writer.items)


class _Writer:
    def __init__(self, checked: Checked, level: int) -> None:
        self._checked = checked
        self._around = self._level = level
        self._binds = 0
        self.leaves: dict[str, Node] = {}
        self.items: dict[str, ItemPath] = {}

    def result(self, node: Node) -> str:
        """What an expression gives: a node's text where times are text with all of their nanoseconds."""
        if node in self._checked.leaves or self._type(node).kind not in (Kind.DYN, Kind.ARRAY, Kind.OBJECT):
            return self.write(node)
        match node:
            case ListOf():
                return f"[{', '.join(map(self.result, node.items))}]"
            case MapOf():
                return self._object([(self.write(key), self.result(value)) for key, value in node.entries])
            case Conditional():
                return f"{self.write(node.condition, 1)} ? ({self.result(node.then)}) : ({self.result(node.otherwise)})"
            case Comprehension(macro=Macro.MAP):
                return self._comprehension(node, self.result)
            case Comprehension(macro=Macro.FILTER):
                return f"{self.write(node)}.map(b, {time_as_text('b', 'b')})"
            case Call() if node.function in TIMELESS:
                return self.write(node)
            case _ if self._type(node).kind is Kind.DYN:
                return self._named(node, lambda name: time_as_text(name, name))
            case _:
                return self.write(node)

    def write(self, node: Node, weakest: int = WEAKEST) -> str:
        """A node's text, in parentheses when it binds less tightly than its place asks."""
        use = self._checked.leaves.get(node)
        if use:
            name = f"h{use.index}" if isinstance(node, Has) else f"p{use.index}"
            self.leaves[name] = node
            return name
        text, binding = self._write(node)
        return f"({text})" if binding < weakest else text

    def _write(self, node: Node) -> tuple[str, int]:
        match node:
            case Literal():
                return literal(node.value), WHOLE if not _is_negative(node.value) else UNARY_BINDING
            case Ident():
                return self._name(node), WHOLE
            case Select() | Index():
                return self._reading(node), WHOLE
            case Has():
                return f"({self._reading(node.selected)}) != null", BINDING["=="]
            case Call():
                return self._call(node), WHOLE
            case Comprehension():
                return self._comprehension(node), WHOLE
            case ListOf():
                return f"[{', '.join(map(self.write, node.items))}]", WHOLE
            case MapOf():
                return self._object([(self.write(key), self.write(value)) for key, value in node.entries]), WHOLE
            case Unary(operator="-"):
                return self._negative(node.operand)
            case Unary():
                return f"{node.operator}{self.write(node.operand, WHOLE)}", UNARY_BINDING
            case Binary():
                return self._binary(node)
            case Logic():
                binding = BINDING[node.operator]
                operands = (self.write(operand, binding + 1) for operand in node.operands)
                return f" {node.operator} ".join(operands), binding
            case Conditional():
                condition, then = self.write(node.condition, 1), self.write(node.then, 1)
                return f"{condition} ? {then} : {self.write(node.otherwise)}", WEAKEST
            case Message():
                raise AssertionError("the checker refuses messages")
            case _:
                assert_never(node)

    def _name(self, node: Ident) -> str:
        """A type's name, or a variable."""
        level = self._checked.variables.get(node)
        if level is None:
            return node.name
        return f"v{level}" if level >= self._around else self._item(node, level, ())

    def _item(self, node: Node, level: int, path: tuple[PathPart, ...]) -> str:
        """What is read of an item that is bound around what is written: a value like that of a path from a root."""
        name = f"i{len(self.items)}"
        self.items[name] = ItemPath(level, path, self._type(node))
        return name

    def _object(self, entries: list[tuple[str, str]]) -> str:
        return f"{{{', '.join(f'{key}: {value}' for key, value in entries)}}}"

    # Reading below what is evaluated

    def _reading(self, node: Node) -> str:
        """A chain of fields and constant indices below a variable or something evaluated, missing parts as null."""
        whole, chain = node, list[tuple[Select | Index, PathPart]]()
        while isinstance(node, Select | Index) and (part := _constant_part(node)) is not None:
            chain.append((node, part))
            node = node.operand
        level = self._checked.variables.get(node, self._around)
        if level < self._around:
            return self._item(whole, level, tuple(part for _, part in reversed(chain)))
        if not chain:
            assert isinstance(node, Index)
            return self._bind(f"[{self.write(node.operand)}, {self._position(node.index)}]", at_index)
        links = [(self._type(step.operand), part) for step, part in reversed(chain)]
        return self._named(node, lambda name: guarded(name, links))

    def _position(self, index: Node) -> str:
        """An index; a double that is whole counts as an integer."""
        is_double = self._type(index).kind in (Kind.FLOAT, Kind.DYN)
        return self._named(index, whole_as_int) if is_double else self.write(index)

    def _named(self, node: Node, body: Callable[[str], str]) -> str:
        """The body over a name for the node's value, so that it is evaluated once."""
        text = self.write(node)
        return body(text) if text.isalnum() else self._bind(text, body)

    def _bind(self, value: str, body: Callable[[str], str]) -> str:
        """CEL's only binding is a macro's variable: a list of one is mapped."""
        self._binds += 1
        name = f"b{self._binds}"
        return f"[{value}].map({name}, {body(name)})[0]"

    def _type(self, node: Node) -> ValueType:
        return self._checked.types.get(node, DYN)

    # Calls

    def _call(self, node: Call) -> str:
        operands = ([node.target] if node.target else []) + list(node.arguments)
        kind = self._type(operands[0]).kind if operands else Kind.DYN
        match node.function:
            case "matches" if node.target is None:
                return f"{self.write(operands[0], WHOLE)}.matches({self.write(operands[1])})"
            case "isJson":
                return f"{IS_JSON}({self.write(operands[0])})"
            case "size" if kind in (Kind.STRING, Kind.DYN):
                return self._named(operands[0], size_of)
            case "string" if kind in (Kind.BOOL, Kind.DYN):
                is_json = operands[0] in self._checked.leaves
                return self._named(operands[0], json_as_text if is_json else as_text)
            case "bool":
                return self._named(operands[0], boolean)
            case "duration" if node.target is None:
                return f"duration({self._span(operands[0])})"
        arguments = ", ".join(map(self.write, node.arguments))
        target = f"{self.write(node.target, WHOLE)}." if node.target else ""
        return f"{target}{node.function}({arguments})"

    def _span(self, text: Node) -> str:
        """A duration's text as the library reads it without a loss; a constant one is known now."""
        if isinstance(text, Literal) and isinstance(text.value, str):
            return literal(readable(text.value))
        return f"{SPAN}({self.write(text)})"

    def _comprehension(self, node: Comprehension, write: Callable[[Node], str] | None = None) -> str:
        """`write` is for the body."""
        target = self.write(node.target, WHOLE)
        variable = f"v{self._level}"
        self._level += 1
        parts = [self.write(node.filter)] if node.filter else []
        parts.append((write or self.write)(node.body))
        self._level -= 1
        return f"{target}.{node.macro}({', '.join([variable, *parts])})"

    # Arithmetic

    def _negative(self, operand: Node) -> tuple[str, int]:
        """Minus a value. Of an integer as a difference: the library lets the negation of -2^63 overflow silently."""
        kind, binding = self._type(operand).kind, BINDING["-"]
        if kind is Kind.FLOAT:
            return f"-{self.write(operand, WHOLE)}", UNARY_BINDING
        if kind is Kind.INT:
            return f"0 - {self.write(operand, binding + 1)}", binding
        return self._named(operand, negation), WHOLE

    def _binary(self, node: Binary) -> tuple[str, int]:
        binding = BINDING[node.operator]
        kind = self._type(node).kind
        if node.operator in "+-*/%" and kind in NUMERIC:
            left, right = self._number(node.left, kind, binding), self._number(node.right, kind, binding + 1)
        elif node.operator in "+-*/" and self._may_be_number(node.left) and self._may_be_number(node.right):
            pair = f"[{self.write(node.left)}, {self.write(node.right)}]"
            return self._bind(pair, lambda name: converted(f"{name}[0]", node.operator, f"{name}[1]")), WHOLE
        else:
            left, right = self.write(node.left, binding), self.write(node.right, binding + 1)
        return f"{left} {node.operator} {right}", binding

    def _may_be_number(self, node: Node) -> bool:
        """Whether only a run can tell that a node is no number."""
        match node:
            case Call(function=function) if function in NO_NUMBERS:
                return False
            case Binary(operator="+" | "-" | "*" | "/") if self._type(node).kind is Kind.DYN:
                return self._may_be_number(node.left) and self._may_be_number(node.right)
            case Literal(value=bytes() | Uint()):
                return False
            case _:
                return self._type(node).kind in (Kind.DYN, Kind.INT, Kind.FLOAT)

    def _number(self, node: Node, wanted: Kind, weakest: int) -> str:
        """An operand as the type of the result. JSON writes ``2`` for a double and may write ``2.0`` for an integer."""
        if isinstance(node, Literal) and isinstance(node.value, int):
            value = float(node.value) if wanted is Kind.FLOAT else node.value
            return literal(value)
        sure = node in self._checked.leaves or isinstance(node, Binary | Literal)
        if sure and self._type(node).kind is wanted:
            return self.write(node, weakest)
        return f"{'double' if wanted is Kind.FLOAT else 'int'}({self.write(node)})"


def _constant_part(node: Select | Index) -> PathPart | None:
    if isinstance(node, Select):
        return node.field
    value = node.index.value if isinstance(node.index, Literal) else None
    return value if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def _is_negative(value: object) -> bool:
    return isinstance(value, (int, float)) and str(value).startswith("-")
