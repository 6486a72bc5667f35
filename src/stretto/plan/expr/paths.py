"""Tells the names of an expression apart: paths to lift out of it, comprehension variables, names of types."""

from typing import NamedTuple

import msgspec

from stretto.plan.expr.functions import FUNCTIONS, TYPE_NAMES
from stretto.plan.expr.hints import FOREIGN_FUNCTIONS, WORD_VALUES
from stretto.plan.expr.problem import ExprCode
from stretto.plan.expr.report import Report
from stretto.plan.expr.scope import Leaf, PathScope, UnknownPath
from stretto.plan.expr.syntax import Ident, Index, Literal, Node, Select
from stretto.plan.valuetype import DYN, Kind, Missing, ValueType
from stretto.spec.suggest import listed, nearest
from stretto.types.json import PathPart


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """A path that an expression reads."""

    path: tuple[PathPart, ...]
    leaf: Leaf
    index: int
    """Its place among the expression's paths."""


class Path(NamedTuple):
    """A path as spelled: each part with where it stands."""

    parts: tuple[PathPart, ...]
    spans: tuple[tuple[int, int], ...]


class Paths:
    """The names in sight while an expression is checked."""

    def __init__(self, scope: PathScope, report: Report) -> None:
        self._scope = scope
        self._report = report
        self._roots = scope.roots()
        self._bound: list[tuple[str, ValueType]] = []
        self.uses: dict[tuple[PathPart, ...], Use] = {}
        """Every path read, once, in order."""
        self.variables: dict[Node, int] = {}
        """Names bound by a comprehension, with its level: 0 for the outermost."""

    @property
    def level(self) -> int:
        """How many comprehensions stand around."""
        return len(self._bound)

    def bind(self, name: str, value_type: ValueType) -> None:
        """Enter a comprehension's body; its name shadows what is outside."""
        self._bound.append((name, value_type))

    def unbind(self) -> None:
        """Leave it."""
        self._bound.pop()

    def is_readable(self, name: Ident) -> bool:
        """Whether a name stands for a value: a root of paths, or a variable."""
        return name.name in self._roots or self._level(name) is not None

    def spelled(self, node: Node) -> Path | None:
        """The path from a root that a node spells whole; None when something in it must be evaluated."""
        backwards: list[tuple[PathPart, tuple[int, int]]] = []
        while not isinstance(node, Ident):
            match node:
                case Select():
                    backwards.append((node.field, (node.field_start, node.end)))
                case Index(index=Literal(value=str() as part)):
                    backwards.append((part, (node.index.start, node.index.end)))
                case Index(index=Literal(value=int() as part)) if part >= 0 and not isinstance(part, bool):
                    backwards.append((part, (node.index.start, node.index.end)))
                case _:
                    return None
            node = node.operand
        if node.name not in self._roots or self._level(node) is not None:
            return None
        backwards.append((node.name, (node.end - len(node.name), node.end)))
        parts, spans = zip(*reversed(backwards), strict=True)
        return Path(parts, spans)

    def use(self, path: Path) -> Use | None:
        """Look a path up, once; None, and a problem, when there is nothing."""
        known = self.uses.get(path.parts)
        if known:
            return known
        try:
            leaf = self._scope.lookup(path.parts)
        except UnknownPath as unknown:
            at = min(unknown.at_part, len(path.parts) - 1)
            if unknown.instead:
                self._elsewhere((path.spans[0][0], path.spans[at][1]), unknown)
                return None
            self.nothing_at(path.spans[at], str(path.parts[at]), unknown.valid, unknown.message)
            return None
        use = Use(path=path.parts, leaf=leaf, index=len(self.uses))
        self.uses[path.parts] = use
        return use

    def below(
        self, container: ValueType, node: Select | Index, span: tuple[int, int], found: ValueType | Missing, name: str
    ) -> ValueType:
        """The type found at a part below a container; a part that is dyn is named once, where dyn begins."""
        if isinstance(found, Missing):
            message = f"`{self._report.text(node.operand)}` {found.reason}"
            self.nothing_at(span, name, found.valid, message)
            return DYN
        if found.kind is Kind.DYN and container.kind is not Kind.DYN:
            return self._report.dyn(node, "the schemas do not say what stands there")
        return found

    def nothing_at(self, span: tuple[int, int], name: str, valid: tuple[str, ...], message: str) -> None:
        """Say that a part of a path is wrong, with the nearest right one."""
        near = nearest(name, valid) or ""
        method = FOREIGN_FUNCTIONS.get(name, name)
        if not near and method in FUNCTIONS and FUNCTIONS[method].method:
            near = f"{method}()"
        expected = f"one of {listed(valid, name)}" if valid else ""
        self._report.at(*span, ExprCode.UNKNOWN_PATH, message, expected, near)

    def _elsewhere(self, span: tuple[int, int], unknown: UnknownPath) -> None:
        """Say that what a path names stands at another place."""
        self._report.at(*span, ExprCode.UNKNOWN_PATH, unknown.message, f"`{unknown.instead}`", unknown.instead)

    def name(self, node: Ident) -> ValueType:
        """The type of a name that begins no path."""
        level = self._level(node)
        if level is not None:
            self.variables[node] = level
            bound = self._bound[level][1]
            return bound if bound.kind is not Kind.DYN else self._report.dyn(node, "the type of its items is not known")
        if node.name in TYPE_NAMES and not node.rooted:
            return DYN
        try:
            self._scope.lookup((node.name,))
        except UnknownPath as unknown:
            if unknown.instead:
                self._elsewhere((node.start, node.end), unknown)
                return DYN
        names = [*(name for name, _ in reversed(self._bound)), *sorted(self._roots)]
        near = WORD_VALUES.get(node.name) or nearest(node.name, names)
        expected = f"one of {', '.join(names)}" if names else "a constant: nothing can be read here"
        message = f"`{node.name}` names nothing here"
        self._report.on(node, ExprCode.UNKNOWN_NAME, message, expected, near or f"'{node.name}' if the text is meant")
        return DYN

    def _level(self, name: Ident) -> int | None:
        """Level of the comprehension that binds a name; the innermost wins."""
        if not name.rooted:
            for level in range(len(self._bound) - 1, -1, -1):
                if self._bound[level][0] == name.name:
                    return level
        return None
