"""Finds out what every part of an expression is: which paths it reads, of which types, and what can never work.

Types are known for paths, constants, comparisons, logic, arithmetic and the standard functions; elsewhere they are
dyn, and the parts that are dyn are listed with the reason.
"""

from functools import reduce
from typing import Final, assert_never

import msgspec

from stretto.plan.expr import operators
from stretto.plan.expr.functions import FUNCTIONS, Function, commonest, nearest_function
from stretto.plan.expr.operators import Finding, Operand
from stretto.plan.expr.paths import Paths, Use
from stretto.plan.expr.problem import ExprCode, ExprProblem
from stretto.plan.expr.report import DynPart, Report
from stretto.plan.expr.scope import PathScope
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
from stretto.plan.valuetype import (
    BOOL,
    DYN,
    FLOAT,
    INT,
    NULL,
    STRING,
    Kind,
    ValueType,
    array_of,
    at,
    join,
    object_of,
)
from stretto.plan.valuetype.model import with_article

MAX_MACRO_NESTING: Final = 6
"""Comprehensions inside or after each other multiply their work (cel-spec langdef, Macro Performance)."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A tree with what was found out about it."""

    tree: Node
    source: str
    types: dict[Node, ValueType]
    """The type of every node that is evaluated or read."""
    leaves: dict[Node, Use]
    """The nodes that spell a whole path, and the `Has` nodes that ask for one: they are read, never evaluated."""
    variables: dict[Node, int]
    """Names bound by a comprehension, with its level: 0 for the outermost."""
    uses: tuple[Use, ...]
    """Every path read, by index."""
    problems: tuple[ExprProblem, ...]
    dyn_parts: tuple[DynPart, ...]


def check(tree: Node, source: str, scope: PathScope) -> Checked:
    """Type a tree in a scope. What can never work is listed, not raised."""
    report = Report(source)
    checker = _Checker(report, Paths(scope, report))
    checker.visit(tree)
    return Checked(
        tree=tree,
        source=source,
        types=checker.types,
        leaves=checker.leaves,
        variables=checker.paths.variables,
        uses=tuple(checker.paths.uses.values()),
        problems=tuple(report.problems),
        dyn_parts=tuple(report.dyn_parts),
    )


class _Checker:
    def __init__(self, report: Report, paths: Paths) -> None:
        self._report = report
        self.paths = paths
        self.types: dict[Node, ValueType] = {}
        self.leaves: dict[Node, Use] = {}

    def visit(self, node: Node) -> ValueType:
        """The type of a node, also kept in `types`."""
        path = self.paths.spelled(node)
        if path is None:
            value_type = self._visit(node)
        elif use := self.paths.use(path):
            self.leaves[node] = use
            value_type = use.leaf.type
            if value_type.kind is Kind.DYN:
                self._report.dyn(node, "the schemas do not say what stands there")
        else:
            value_type = DYN
        self.types[node] = value_type
        return value_type

    def _visit(self, node: Node) -> ValueType:
        match node:
            case Literal():
                return _literal_type(node)
            case Ident():
                return self.paths.name(node)
            case Select():
                container = self.visit(node.operand)
                span = (node.field_start, node.end)
                return self.paths.below(container, node, span, at(container, node.field), node.field)
            case Index():
                return self._index(node)
            case Has():
                return self._has(node)
            case Call():
                return self._call(node)
            case Comprehension():
                return self._comprehension(node)
            case ListOf():
                return self._list(node)
            case MapOf():
                return self._map(node)
            case Message():
                return self._message(node)
            case Unary():
                return self._noted(node, operators.negate(node.operator, self._operand(node.operand)))
            case Binary():
                return self._binary(node)
            case Logic():
                for operand in node.operands:
                    self._report.note(node, operators.truth(node.operator, self._operand(operand)))
                return BOOL
            case Conditional():
                return self._conditional(node)
            case _:
                assert_never(node)

    def _operand(self, node: Node) -> Operand:
        return Operand(node, self._report.text(node), self.visit(node))

    def _noted(self, node: Node, outcome: tuple[ValueType, Finding | None]) -> ValueType:
        value_type, finding = outcome
        self._report.note(node, finding)
        return value_type

    # Reading below what is evaluated

    def _index(self, node: Index) -> ValueType:
        container, index = self._operand(node.operand), self._operand(node.index)
        constant = node.index.value if isinstance(node.index, Literal) else None
        wanted = {Kind.ARRAY: Kind.INT, Kind.OBJECT: Kind.STRING, Kind.DYN: index.type.kind}.get(container.type.kind)
        if wanted is None or index.type.kind not in (wanted, Kind.DYN):
            message = f"{with_article(container.type)} has nothing at {index.text}"
            expected = "a field name in quotes" if wanted is Kind.STRING else "an integer" if wanted else ""
            self._report.on(node.index, ExprCode.TYPE, message, expected)
            return DYN
        if isinstance(constant, int) and constant < 0:
            message, last = "an index counts from 0, at the beginning", f"size({container.text}) - {-constant}"
            self._report.on(node.index, ExprCode.TYPE, message, "0 or more", last)
            return DYN
        if container.type.kind is Kind.OBJECT and not isinstance(constant, str):
            return self._report.dyn(node, "which field it is depends on a value")
        part = constant if isinstance(constant, str) else 0
        span = (node.index.start, node.index.end)
        return self.paths.below(container.type, node, span, at(container.type, part), str(part))

    def _has(self, node: Has) -> ValueType:
        path = self.paths.spelled(node.selected)
        if path is None:
            self.visit(node.selected)
        elif use := self.paths.use(path):
            self.leaves[node] = use
        return BOOL

    # Calls and comprehensions

    def _call(self, node: Call) -> ValueType:
        name, operands = self._callee(node)
        function = FUNCTIONS.get(name)
        given = [self._operand(operand) for operand in operands]
        span = (node.function_start, node.function_start + len(node.function))
        if function is None:
            known = ", ".join(commonest(method=node.target is not None))
            message, near = f"`{name}` is no function", nearest_function(node.function)
            self._report.at(*span, ExprCode.UNKNOWN_FUNCTION, message, f"one of {known}", near)
            return DYN
        form_fits = function.method if len(operands) > len(node.arguments) else function.free
        if not form_fits or len(given) != len(function.operands):
            self._report.at(*span, ExprCode.ARGUMENTS, f"{name}() is not called like this", function.like)
            return function.result
        return self._apply(node, name, function, given)

    def _callee(self, node: Call) -> tuple[str, tuple[Node, ...]]:
        """The function's name and operands. ``optional.of`` is one name when `optional` itself cannot be read."""
        if node.target is None:
            return node.function, node.arguments
        if isinstance(node.target, Ident) and not self.paths.is_readable(node.target):
            return f"{node.target.name}.{node.function}", node.arguments
        return node.function, (node.target, *node.arguments)

    def _apply(self, node: Call, name: str, function: Function, given: list[Operand]) -> ValueType:
        for operand, kinds in zip(given, function.operands, strict=True):
            if operand.type.kind not in kinds and operand.type.kind is not Kind.DYN:
                message = f"{name}() does not take {with_article(operand.type)}"
                self._report.on(operand.node, ExprCode.TYPE, message, function.like)
        if function.result.kind is Kind.DYN and name != "dyn":
            return self._report.dyn(node, f"the result of {name}() has no JSON type")
        return function.result

    def _comprehension(self, node: Comprehension) -> ValueType:
        target = self._operand(node.target)
        item = self._item(node, target)
        if self.paths.level + _chained(node) > MAX_MACRO_NESTING:
            message = f"more than {MAX_MACRO_NESTING} comprehensions inside or after each other"
            self._report.on(node, ExprCode.TOO_LARGE, message, "fewer: their work multiplies")
        self.paths.bind(node.variable, item)
        for predicate in (node.filter, node.body if node.macro is not Macro.MAP else None):
            if predicate:
                self._report.note(predicate, operators.truth(f"{node.macro}()", self._operand(predicate)))
        result = self.visit(node.body) if node.macro is Macro.MAP else item
        self.paths.unbind()
        return array_of(result) if node.macro in (Macro.MAP, Macro.FILTER) else BOOL

    def _item(self, node: Comprehension, target: Operand) -> ValueType:
        """What a comprehension's name stands for: an array's item, or an object's key."""
        match target.type.kind:
            case Kind.ARRAY:
                return target.type.item or DYN
            case Kind.OBJECT:
                return STRING
            case Kind.DYN:
                return DYN
            case _:
                message = f"{node.macro}() cannot go over {with_article(target.type)}"
                self._report.on(node.target, ExprCode.TYPE, message, "a list or an object")
                return DYN

    # Values made in place

    def _list(self, node: ListOf) -> ValueType:
        types = [self.visit(item) for item in node.items]
        item = reduce(join, types) if types else DYN
        if item.kind is Kind.DYN and types and all(one.kind is not Kind.DYN for one in types):
            self._report.dyn(node, "its items have different types")
        return array_of(item)

    def _map(self, node: MapOf) -> ValueType:
        fields: dict[str, ValueType] = {}
        for key, value in node.entries:
            key_type, value_type = self.visit(key), self.visit(value)
            name = key.value if isinstance(key, Literal) else None
            if key_type.kind in (Kind.FLOAT, Kind.NULL, Kind.ARRAY, Kind.OBJECT):
                self._report.on(key, ExprCode.TYPE, f"{with_article(key_type)} is no key of an object", "a string")
            if isinstance(name, str):
                if name in fields:
                    self._report.on(key, ExprCode.SYNTAX, f"the key '{name}' stands twice", "each key once")
                fields[name] = value_type
        named = all(isinstance(key, Literal) and isinstance(key.value, str) for key, _ in node.entries)
        return object_of(fields) if named else self._report.dyn(node, "its keys are only known at run time")

    def _message(self, node: Message) -> ValueType:
        for _, value in node.fields:
            self.visit(value)
        message = f"`{node.name}{{...}}` makes a protocol buffer message, and there are none here"
        self._report.on(node, ExprCode.UNSUPPORTED, message, "an object: {'field': value}")
        return DYN

    # Operators

    def _binary(self, node: Binary) -> ValueType:
        left, right = self._operand(node.left), self._operand(node.right)
        match node.operator:
            case "==" | "!=":
                self._report.note(node, operators.compare(left, node.operator, right))
            case "<" | "<=" | ">" | ">=":
                self._report.note(node, operators.order(left, node.operator, right))
            case "in":
                self._report.note(node, operators.contains(left, right))
                for item in node.right.items if isinstance(node.right, ListOf) else ():
                    listed = Operand(item, self._report.text(item), self.types[item])
                    self._report.note(node, operators.compare(left, "in", listed))
            case operator:
                return self._noted(node, operators.arithmetic(left, operator, right))
        return BOOL

    def _conditional(self, node: Conditional) -> ValueType:
        self._report.note(node, operators.truth("? :", self._operand(node.condition)))
        then, otherwise = self.visit(node.then), self.visit(node.otherwise)
        joined = join(then, otherwise)
        if joined.kind is Kind.DYN and Kind.DYN not in (then.kind, otherwise.kind):
            self._report.dyn(node, "its two values have different types")
        return joined


def _chained(node: Comprehension) -> int:
    """How many comprehensions go over each other's results, this one included."""
    length, target = 1, node.target
    while isinstance(target, Comprehension):
        length, target = length + 1, target.target
    return length


def _literal_type(node: Literal) -> ValueType:
    match node.value:
        case None:
            return NULL
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
        case str() as text:
            return ValueType(kind=Kind.STRING, values=(text,))
        case bytes() | Uint():
            return DYN
        case _:
            assert_never(node.value)
