"""What may stand as one value: each shape reads it from a file and says the same as JSON Schema, so the parser
and the published schema cannot drift apart."""

import re
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from stretto.spec import durations
from stretto.spec.codes import SpecCode
from stretto.spec.nodes import Node, ScalarNode, describe, quote
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.spec.suggest import nearest
from stretto.types.errors import Problem
from stretto.types.json import Json, JsonObject

T_co = TypeVar("T_co", covariant=True)
E = TypeVar("E", bound=StrEnum)

NOT_EMPTY: Final = r"\S"


class Shape(Protocol[T_co]):
    """One kind of value."""

    def read(self, node: Node, name: str, report: Report) -> T_co | None:
        """The value, or None after reporting what is wrong with it; `name` is the key it stands under."""
        ...

    def schema(self, defs: JsonObject, /) -> JsonObject:
        """The same as JSON Schema 2020-12; named parts are put into `defs`."""
        ...


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A pattern that a text must match somewhere (ECMA 262 and Python alike), and what to say when it does not."""

    pattern: str
    message: str
    """After the key and its value: ``begins with a digit``."""
    expected: str
    code: SpecCode = SpecCode.VALUE
    mend: Callable[[str], str] | None = None
    """Makes a text that fits out of one that does not."""


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """Text, kept with its place."""

    expected: str
    rules: tuple[Rule, ...] = ()
    is_code: bool = False
    """What is meant by ``True`` or ``0o17`` is then the value, however YAML spells it; elsewhere it is the spelling."""

    def read(self, node: Node, name: str, report: Report) -> Located[str] | None:
        if isinstance(node, ScalarNode) and isinstance(node.value, str) and node.value.strip():
            return self.check(Located(node.value, node.span), f"`{name}`", report)
        written = self._written(node)
        report.add(wrong_type(node, name, self.expected, f'{name}: "{self._mended(written)}"' if written else ""))
        return None

    def check(self, text: Located[str], label: str, report: Report) -> Located[str] | None:
        """The same text, or None after reporting which rule it breaks; `label` names it in the message."""
        for rule in self.rules:
            if not re.search(rule.pattern, text.value):
                mended = self._mended(text.value) if rule.mend else ""
                if mended == text.value:  # there was nothing to mend
                    mended = ""
                message = f"{label} is {quote(text.value)}, which {rule.message}"
                report.add(text.span.problem(rule.code, message, expected=rule.expected, suggestion=mended))
                return None
        return text

    def _written(self, node: Node) -> str:
        if not isinstance(node, ScalarNode) or node.value is None:
            return ""
        return msgspec.json.encode(node.value).decode() if self.is_code and node.text.strip() else node.text

    def _mended(self, text: str) -> str:
        for rule in self.rules:
            if rule.mend and not re.search(rule.pattern, text):
                text = rule.mend(text)
        return text

    def schema(self, _defs: JsonObject) -> JsonObject:
        patterns = [rule.pattern for rule in self.rules] or [NOT_EMPTY]
        if len(patterns) == 1:
            return {"type": "string", "pattern": patterns[0]}
        return {"type": "string", "allOf": [{"pattern": pattern} for pattern in patterns]}


class Whole(msgspec.Struct, frozen=True, kw_only=True):
    """A whole number of at least `minimum`, and at most `maximum` where that is given."""

    minimum: int
    maximum: int | None = None

    def read(self, node: Node, name: str, report: Report) -> int | None:
        expected = f"a whole number, {self.minimum} or more"
        if self.maximum is not None:
            expected = f"a whole number from {self.minimum} to {self.maximum}"
        if not isinstance(node, ScalarNode) or not isinstance(node.value, int) or isinstance(node.value, bool):
            report.add(wrong_type(node, name, expected, _unquoted(node, name)))
            return None
        if node.value < self.minimum or (self.maximum is not None and node.value > self.maximum):
            report.add(wrong_value(node, name, expected))
            return None
        return node.value

    def schema(self, _defs: JsonObject) -> JsonObject:
        schema: JsonObject = {"type": "integer", "minimum": self.minimum}
        return schema if self.maximum is None else {**schema, "maximum": self.maximum}


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """A number between two bounds, either of which may be missing."""

    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    """Exclusive minimum."""

    @property
    def _expected(self) -> str:
        parts = []
        if self.above is not None:
            parts.append(f"above {self.above:g}")
        if self.minimum is not None:
            parts.append(f"{self.minimum:g} or more")
        if self.maximum is not None:
            parts.append(f"at most {self.maximum:g}")
        return "a number" + (", " if parts else "") + " and ".join(parts)

    def read(self, node: Node, name: str, report: Report) -> float | None:
        if not isinstance(node, ScalarNode) or not isinstance(node.value, int | float) or isinstance(node.value, bool):
            report.add(wrong_type(node, name, self._expected, _unquoted(node, name)))
            return None
        value = float(node.value)
        too_low = (self.minimum is not None and value < self.minimum) or (
            self.above is not None and value <= self.above
        )
        if too_low or (self.maximum is not None and value > self.maximum):
            report.add(wrong_value(node, name, self._expected))
            return None
        return value

    def schema(self, _defs: JsonObject) -> JsonObject:
        bounds = {"minimum": self.minimum, "exclusiveMinimum": self.above, "maximum": self.maximum}
        return {"type": "number", **{key: bound for key, bound in bounds.items() if bound is not None}}


class Flag(msgspec.Struct, frozen=True):
    """true or false."""

    def read(self, node: Node, name: str, report: Report) -> bool | None:
        if isinstance(node, ScalarNode) and isinstance(node.value, bool):
            return node.value
        words = {"yes": "true", "on": "true", "no": "false", "off": "false"}
        meant = words.get(node.text.casefold()) if isinstance(node, ScalarNode) else None
        report.add(wrong_type(node, name, "true or false", f"{name}: {meant}" if meant else ""))
        return None

    def schema(self, _defs: JsonObject) -> JsonObject:
        return {"type": "boolean"}


class Duration(msgspec.Struct, frozen=True, kw_only=True):
    """A time with its unit, above 0 unless it may be that, and between two bounds where they are given."""

    may_be_zero: bool = False
    minimum: timedelta | None = None
    maximum: timedelta | None = None

    def read(self, node: Node, name: str, report: Report) -> timedelta | None:
        text = node.text if isinstance(node, ScalarNode) else ""
        value = durations.duration_or_none(text)
        if value and (value < (self.minimum or value) or value > (self.maximum or value)):
            report.add(wrong_value(node, name, f"a duration {self._between}"))
            return None
        if value is None or not (value or self.may_be_zero):
            suggestion = durations.remedy(text) if text and value is None else ""
            message = f"`{name}` is {describe(node)}, which is no duration" if value is None else f"`{name}` is {text}"
            expected = durations.EXPECTED if value is None else "a duration above 0"
            report.add(node.span.problem(SpecCode.DURATION, message, expected=expected, suggestion=suggestion))
            return None
        return value

    @property
    def _between(self) -> str:
        low = "" if self.minimum is None else f"of {durations.render(self.minimum)} or more"
        high = "" if self.maximum is None else f"of {durations.render(self.maximum)} or less"
        return " and ".join(filter(None, (low, high)))

    def schema(self, _defs: JsonObject) -> JsonObject:
        return {"type": "string", "pattern": durations.PATTERN}


class Choice(msgspec.Struct, Generic[E], frozen=True):
    """One word of a closed set."""

    options: type[E]
    null: E | None = None
    """The member that a bare ``null`` in the file stands for."""

    def read(self, node: Node, name: str, report: Report) -> E | None:
        if isinstance(node, ScalarNode) and node.value is None and node.text and self.null is not None:
            return self.null
        words = [option.value for option in self.options]
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
            report.add(wrong_type(node, name, f"one of {', '.join(words)}"))
            return None
        if node.value not in words:
            near = nearest(node.value, words)
            report.add(wrong_value(node, name, f"one of {', '.join(words)}", near or ""))
            return None
        return self.options(node.value)

    def schema(self, _defs: JsonObject) -> JsonObject:
        words: list[Json] = [option.value for option in self.options]
        return {"enum": words if self.null is None else [*words, None]}


def wrong_type(node: Node, name: str, expected: str, suggestion: str = "") -> Problem:
    """A value is of another kind than it should be."""
    return _refusal(SpecCode.TYPE, node, name, expected, suggestion)


def wrong_value(node: Node, name: str, expected: str, suggestion: str = "") -> Problem:
    """A value is of the right kind and still cannot be taken."""
    return _refusal(SpecCode.VALUE, node, name, expected, suggestion)


def _refusal(code: SpecCode, node: Node, name: str, expected: str, suggestion: str) -> Problem:
    return node.span.problem(code, f"`{name}` is {describe(node)}", expected=expected, suggestion=suggestion)


def _unquoted(node: Node, name: str) -> str:
    """For a number that was put in quotes: the same without them."""
    number = isinstance(node, ScalarNode) and isinstance(node.value, str) and re.fullmatch(r"-?[0-9.]+", node.value)
    return f"{name}: {number[0]}" if number else ""
