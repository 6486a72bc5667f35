"""Collects what the checking of one expression finds: problems, and the parts that only run time can type."""

from typing import Final

import msgspec

from stretto.plan.expr.operators import Finding
from stretto.plan.expr.problem import ExprCode, ExprProblem
from stretto.plan.expr.syntax import Node
from stretto.plan.valuetype import DYN, ValueType

MAX_QUOTED_CHARS: Final = 60
"""A part of the source quoted in a message; a longer one is cut, its place says the rest."""


class DynPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of an expression whose type is only known at run time."""

    offset: int
    """Characters from the start of the expression's text."""
    width: int
    text: str
    """Its source, shortened."""
    why: str


class Report:
    """Everything found so far in one expression."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[ExprProblem] = []
        self.dyn_parts: list[DynPart] = []

    def text(self, node: Node) -> str:
        """A node's source, shortened for a message."""
        text = self.source[node.start : node.end]
        return text if len(text) <= MAX_QUOTED_CHARS else f"{text[:MAX_QUOTED_CHARS]}..."

    def dyn(self, node: Node, why: str) -> ValueType:
        """Say that a node's type is not known, which is dyn."""
        part = DynPart(offset=node.start, width=node.end - node.start, text=self.text(node), why=why)
        self.dyn_parts.append(part)
        return DYN

    def note(self, node: Node, finding: Finding | None) -> None:
        """Keep what an operator found wrong with a node, if anything."""
        if finding:
            self.on(finding.on or node, finding.code, finding.message, finding.expected, finding.suggestion)

    def on(self, node: Node, code: ExprCode, message: str, expected: str = "", suggestion: str = "") -> None:
        """Keep a problem with a whole node."""
        self.at(node.start, node.end, code, message, expected, suggestion)

    def at(self, start: int, end: int, code: ExprCode, message: str, expected: str = "", suggestion: str = "") -> None:
        """Keep a problem with a stretch of the source."""
        width = max(1, end - start)
        self.problems.append(
            ExprProblem(code=code, message=message, offset=start, width=width, expected=expected, suggestion=suggestion)
        )
