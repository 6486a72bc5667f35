"""Placeholders in a text: ``{order_id}`` is a place of the input, ``{env:NAME}`` an environment variable."""

import re
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from stretto.components.http.scope import Frame, Scope
from stretto.components.http.secrets import Secrets
from stretto.components.http.values import TEXT_KINDS, as_text
from stretto.plan.expr import ExprProblems, compile_expression
from stretto.plan.valuetype import ValueType
from stretto.plan.valuetype.model import with_article
from stretto.spec.codes import SpecCode
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.types.json import Json

MARK: Final = re.compile(r"\{([^{}]*)\}")
_PATH: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])*")
_VARIABLE: Final = re.compile(r"env:([A-Za-z_]\w*)")

Value: TypeAlias = Callable[[Frame, Secrets], Json]
"""Reads what stands for a placeholder."""


class Placeholder(msgspec.Struct, frozen=True, kw_only=True):
    """One of them, compiled."""

    text: str
    """As written, without its braces."""
    value: Value
    type: ValueType | None
    """None for an environment variable."""
    field: str = ""
    """The field of the input that it is in; empty when it is in none."""

    def fill(self, frame: Frame, secrets: Secrets) -> str:
        """Its value as text. Raises UnfitError where that is none."""
        return as_text(self.value(frame, secrets), f"`{self.text}`")


def compile_placeholder(
    text: Located[str], inner: str, offset: int, scope: Scope, report: Report, *, root: str = "input"
) -> Placeholder | None:
    """Compile what stands in braces; `offset` is where, in the text. None after reporting what is wrong with it."""
    variable = _VARIABLE.fullmatch(inner)
    if variable is not None:
        name = variable[1]
        return Placeholder(text=inner, value=lambda _, secrets: secrets.read(name), type=None)
    if not _PATH.fullmatch(inner):
        message = f"`{{{inner}}}` is no placeholder"
        expected = "a field of the input in braces, as in {order_id} or {order.lines[0].id}, or {env:VARIABLE}"
        report.add(text.part(offset, len(inner) + 2).problem(SpecCode.VALUE, message, expected=expected))
        return None
    return _path(text, inner, offset, scope, report, root)


def _path(text: Located[str], inner: str, offset: int, scope: Scope, report: Report, root: str) -> Placeholder | None:
    head = head_of(inner)
    if head == "input" and head not in scope.types[root].fields:
        message = (
            f"`{{{inner}}}` reads a field called `input`, and what stands in braces is read from the input as it is"
        )
        place = text.part(offset, len(inner) + 2)
        suggestion = f"{{{inner.removeprefix('input.')}}}"
        report.add(place.problem(SpecCode.VALUE, message, expected="a field of the input", suggestion=suggestion))
        return None
    is_root = head in scope.types and head != root and head not in scope.types[root].fields
    path = inner if is_root else f"{root}.{inner}"
    try:
        compiled = compile_expression(path, scope)
    except ExprProblems as found:
        shift = len(path) - len(inner)
        for problem in found.problems:
            span = text.part(offset + 1 + max(0, problem.offset - shift), min(problem.width, len(inner)))
            report.add(
                span.problem(problem.code, problem.message, expected=problem.expected, suggestion=problem.suggestion)
            )
        return None
    if compiled.type.kind not in TEXT_KINDS:
        message = f"`{{{inner}}}` is {with_article(compiled.type)}, and stands where text does"
        report.add(
            text.part(offset, len(inner) + 2).problem(SpecCode.VALUE, message, expected="text, a number, a flag")
        )
        return None
    read = compiled.evaluate
    field = "" if is_root else head
    return Placeholder(text=inner, value=lambda frame, _: read(frame), type=compiled.type, field=field)


def head_of(path: str) -> str:
    """The first name of a path."""
    return re.split(r"[.\[]", path, maxsplit=1)[0]
