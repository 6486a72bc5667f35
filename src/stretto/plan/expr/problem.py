"""What is wrong in an expression, with its place in the text; the plan compiler makes each a Problem of the file."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec


class ExprCode(StrEnum):
    """Stable: tools and tests may rely on them."""

    SYNTAX = "expr.syntax"
    """Not CEL."""
    TOO_LARGE = "expr.too_large"
    """Longer or more deeply nested than the limits."""
    UNSUPPORTED = "expr.unsupported"
    """CEL, but nothing that can be evaluated there: optional syntax, messages, a source of `merge` that is no path."""
    UNKNOWN_NAME = "expr.unknown_name"
    """The first name of a path stands for nothing here."""
    UNKNOWN_PATH = "expr.unknown_path"
    """The schemas have nothing at a later part of a path."""
    UNKNOWN_FUNCTION = "expr.unknown_function"
    ARGUMENTS = "expr.arguments"
    """A function or macro called with the wrong number or form of arguments."""
    TYPE = "expr.type"
    """Operands that never fit their operator."""
    NEVER = "expr.never"
    """A comparison with text that the value's enum does not contain."""
    RESULT = "expr.result"
    """The whole gives another type than its place takes: a condition that is not boolean."""


class ExprProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong in an expression."""

    code: ExprCode
    message: str
    offset: int
    """Characters from the start of the expression's text."""
    width: int = 1
    """Characters to underline; at least 1, also at the end of the text."""
    expected: str = ""
    suggestion: str = ""
    """Ready to paste in the underlined text's place, or the remedy in words."""


class ExprProblems(Exception):  # noqa: N818  # findings, turned into a SpecError by the plan compiler
    """Everything found wrong in one expression, in order of offset."""

    def __init__(self, problems: Sequence[ExprProblem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.offset))
        super().__init__("\n".join(f"{p.offset}: {p.message}" for p in self.problems))


def refuse(
    code: ExprCode, message: str, start: int, end: int, *, expected: str = "", suggestion: str = ""
) -> ExprProblems:
    """One problem as an exception, for the readers that stop at their first."""
    width = max(1, end - start)
    problem = ExprProblem(
        code=code, message=message, offset=start, width=width, expected=expected, suggestion=suggestion
    )
    return ExprProblems([problem])
