"""Bodies in XML: templates whose placeholders are read from the input, always as text."""

import re
from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from stretto.components.http.placeholders import MARK, compile_placeholder
from stretto.components.http.scope import ITEM, Frame, Scope
from stretto.components.http.secrets import Secrets
from stretto.components.http.values import UnfitError
from stretto.components.xml.parse import XmlError
from stretto.components.xml.template import Items, Marks, Node, Text, read_template, render
from stretto.plan.expr import ExprProblems, compile_expression
from stretto.plan.valuetype import DYN, Kind
from stretto.plan.valuetype.model import with_article
from stretto.spec.codes import SpecCode
from stretto.spec.report import Report
from stretto.spec.source import Located

Filling: TypeAlias = tuple[Frame, Secrets]
"""What a document is filled from."""


class XmlTemplate(msgspec.Struct, frozen=True):
    """A document with placeholders, compiled."""

    node: Node

    def fill(self, frame: Frame, secrets: Secrets) -> bytes:
        """The document. Raises UnfitError for a value that XML cannot hold."""
        try:
            return render(self.node, (frame, secrets))
        except XmlError as error:
            raise UnfitError(f"a value cannot stand in XML: {error}") from error


def compile_xml(text: Located[str], scope: Scope, report: Report) -> XmlTemplate | None:
    """Compile a template; None after reporting what is wrong with it."""
    stray = re.search(r"[{}]", MARK.sub(lambda found: " " * len(found[0]), text.value))
    if stray is not None:
        message = "a brace stands alone, and what stands in braces is a field of the input"
        report.add(text.part(stray.start()).problem(SpecCode.VALUE, message, expected="a pair of braces: {order_id}"))
        return None
    marks = _Marks(text, scope, report)
    try:
        node = read_template(text.value, MARK, marks)
    except XmlError as error:
        message = f"this is no XML: {error}"
        expected = "one element, with placeholders in texts and attributes only"
        report.add(text.span.problem(SpecCode.VALUE, message, expected=expected))
        return None
    if node.each is not None:
        message = "the outermost element has `each`, and a document has one such element"
        report.add(text.span.problem(SpecCode.VALUE, message, expected="`each` on an element inside it"))
    return None if report else XmlTemplate(node)


class _Marks:
    """Compiles the placeholders of one template, or of an element in it that stands for each item of a list."""

    def __init__(self, text: Located[str], scope: Scope, report: Report) -> None:
        self._text = text
        self._scope = scope
        self._report = report

    def text(self, inner: str) -> Text:
        mark = compile_placeholder(self._text, inner, self._at(f"{{{inner}}}"), self._scope, self._report)

        def text(filling: Filling) -> str | None:
            if mark is None or mark.value(*filling) is None:
                return None
            return mark.fill(*filling)

        return text

    def each(self, inner: str) -> tuple[Items, Marks]:
        path = inner if inner.split(".")[0] in self._scope.types else f"input.{inner}"
        try:
            read = compile_expression(path, self._scope)
        except ExprProblems as found:
            for problem in found.problems:
                self._refuse(inner, problem.message, problem.expected)
            return (lambda _: ()), self
        if read.type.kind not in (Kind.ARRAY, Kind.DYN):
            self._refuse(inner, f"`{inner}` is {with_article(read.type)}", "a list, for each of whose items it stands")

        def items(filling: Filling) -> Iterable[Filling]:
            frame, secrets = filling
            found = read.evaluate(frame)
            if found is not None and not isinstance(found, list):
                raise UnfitError(f"`{inner}` is no list, and an element stands for each of its items")
            return [(_with_item(frame, item), secrets) for item in found or []]

        return items, _Marks(self._text, self._scope.with_root("item", read.type.item or DYN), self._report)

    def _refuse(self, inner: str, message: str, expected: str) -> None:
        place = self._text.part(self._at(inner), len(inner) or 1)
        self._report.add(place.problem(SpecCode.VALUE, message, expected=expected))

    def _at(self, written: str) -> int:
        """Where it stands: the tree does not say, and the first of several alike is as wrong as the others."""
        return max(0, self._text.value.find(written))


def _with_item(frame: Frame, item: object) -> Frame:
    inside = list(frame)
    inside[ITEM] = item
    return inside
