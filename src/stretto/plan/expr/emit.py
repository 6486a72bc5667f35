"""Writes a checked tree as CEL text over ready values, for the library.

Every path is one variable, read before. What is left to read inside, below a comprehension's item for instance, is
guarded so that here too the missing reads as null. Some texts stand for what the library lacks: ``bool()``,
``matches()`` as a function, the size of a text in characters (the library counts bytes), ``string()`` of a boolean or
a time.
"""

from collections.abc import Callable
from typing import Final, assert_never

from stretto.plan.expr.check import Checked
from stretto.plan.expr.parse import BINDING, UNARY_BINDING
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

CHARACTERS: Final = "_characters"
"""Name of the function that counts a text's code points."""

TEXT: Final = "_text"
"""Name of the function that gives a time's text as CEL has it, from the value and the library's text of it."""

WEAKEST: Final = 0
WHOLE: Final = UNARY_BINDING + 1
"""How tightly what is one piece binds: a name, a call, something in brackets."""

BOOLEANS: Final = (
    '{"1": true, "t": true, "true": true, "TRUE": true, "True": true, '
    '"0": false, "f": false, "false": false, "FALSE": false, "False": false}'
)
"""What CEL's bool() takes; looking up any other text is an error."""


def emit(checked: Checked) -> str:
    """The expression as the library reads it: ``p0``, ``p1`` for the paths by index."""
    return _Writer(checked).write(checked.tree)


class _Writer:
    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._level = 0
        self._binds = 0

    def write(self, node: Node, weakest: int = WEAKEST) -> str:
        """A node's text, in parentheses when it binds less tightly than its place asks."""
        use = self._checked.leaves.get(node)
        if use:
            return f"h{use.index}" if isinstance(node, Has) else f"p{use.index}"
        text, binding = self._write(node)
        return f"({text})" if binding < weakest else text

    def _write(self, node: Node) -> tuple[str, int]:
        match node:
            case Literal():
                return literal(node.value), WHOLE if not _is_negative(node.value) else UNARY_BINDING
            case Ident():
                level = self._checked.variables.get(node)
                return (node.name if level is None else f"v{level}"), WHOLE
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
                entries = (f"{self.write(key)}: {self.write(value)}" for key, value in node.entries)
                return f"{{{', '.join(entries)}}}", WHOLE
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

    # Reading below what is evaluated

    def _reading(self, node: Node) -> str:
        """A chain of fields and constant indices below a variable or something evaluated, missing parts as null."""
        chain: list[tuple[Select | Index, PathPart]] = []
        while isinstance(node, Select | Index) and (part := _constant_part(node)) is not None:
            chain.append((node, part))
            node = node.operand
        if not chain:
            assert isinstance(node, Index)
            return self._bind(f"[{self.write(node.operand)}, {self.write(node.index)}]", _at_index)
        links = [(self._type(step.operand), part) for step, part in reversed(chain)]
        return self._named(node, lambda name: _guarded(name, links))

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
            case "size" if kind in (Kind.STRING, Kind.DYN):
                return self._named(operands[0], _size)
            case "string" if kind in (Kind.BOOL, Kind.DYN):
                return self._named(operands[0], _string)
            case "bool":
                return self._named(operands[0], _bool)
        arguments = ", ".join(map(self.write, node.arguments))
        target = f"{self.write(node.target, WHOLE)}." if node.target else ""
        return f"{target}{node.function}({arguments})"

    def _comprehension(self, node: Comprehension) -> str:
        target = self.write(node.target, WHOLE)
        variable = f"v{self._level}"
        self._level += 1
        parts = [self.write(part) for part in (node.filter, node.body) if part]
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
        return self._named(operand, _minus), WHOLE

    def _binary(self, node: Binary) -> tuple[str, int]:
        binding = BINDING[node.operator]
        kind = self._type(node).kind
        if node.operator in "+-*/%" and kind in NUMERIC:
            left, right = self._number(node.left, kind, binding), self._number(node.right, kind, binding + 1)
        else:
            left, right = self.write(node.left, binding), self.write(node.right, binding + 1)
        return f"{left} {node.operator} {right}", binding

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


def _at_index(pair: str) -> str:
    """``container[index]`` with null for what is not there; the pair holds the two."""
    container, index = f"{pair}[0]", f"{pair}[1]"
    return (
        f"(type({container}) == list"
        f" ? (type({index}) == int && ({index} < 0 || {index} >= size({container})) ? null : {container}[{index}])"
        f" : type({container}) == map ? ({index} in {container} ? {container}[{index}] : null)"
        f" : {container} == null ? null : {container}[{index}])"
    )


def _size(name: str) -> str:
    return f"(type({name}) == string ? {CHARACTERS}({name}) : size({name}))"


def _minus(name: str) -> str:
    return f"(type({name}) == int ? 0 - {name} : -{name})"


def _string(name: str) -> str:
    return f'(type({name}) == bool ? ({name} ? "true" : "false") : {TEXT}({name}, string({name})))'


def _bool(name: str) -> str:
    return f"(type({name}) == bool ? {name} : {BOOLEANS}[{name}])"


def _guarded(base: str, links: list[tuple[ValueType, PathPart]]) -> str:
    """The chain's value if every part of it is there, else null. What the types promise is not asked again."""
    guards, whole = [], base
    for container, part in links:
        sure = not container.nullable
        if isinstance(part, str):
            if not (sure and container.kind is Kind.OBJECT and part in container.required):
                guards += [f"type({whole}) == map", f"{literal(part)} in {whole}"]
        elif sure and container.kind is Kind.ARRAY:
            guards.append(f"size({whole}) > {part}")
        else:  # an object of JSON has no such key, one made in the expression may
            held = f"type({whole}) == map && {part} in {whole}"
            guards.append(f"(type({whole}) == list && size({whole}) > {part} || {held})")
        whole = f"{whole}[{literal(part)}]"
    return f"({' && '.join(guards)} ? {whole} : null)" if guards else whole


def _is_negative(value: object) -> bool:
    return isinstance(value, (int, float)) and str(value).startswith("-")


def literal(value: bool | int | float | str | bytes | Uint | None) -> str:
    """A constant as CEL text, in ASCII, with only the escapes that every reader of CEL knows."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return f'"{"".join(map(_character, value))}"'
        case bytes():
            return 'b"' + "".join(f"\\x{byte:02x}" for byte in value) + '"'
        case Uint():
            return f"{value.value}u"
        case _:
            assert_never(value)


def _character(character: str) -> str:
    code = ord(character)
    if 32 <= code < 127 and character not in '"\\':
        return character
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
