"""Mappings with fixed keys: one table names each mapping's keys, and drives the parser, the suggestions and the
published schema."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from stretto.spec.codes import SpecCode
from stretto.spec.nodes import Entry, MapNode, Node, quote
from stretto.spec.report import Report
from stretto.spec.shapes import Shape, wrong_type, wrong_value
from stretto.spec.source import Span
from stretto.spec.suggest import nearest
from stretto.types.json import JsonObject

T = TypeVar("T")

_SPELLED_OUT: Final = frozenset({"sla"})
"""Nouns that are said letter by letter, the first one like a vowel."""

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class Key(Generic[T]):
    """One key of a mapping."""

    def __init__(
        self,
        name: str,
        shape: Shape[T],
        *,
        means: str,
        example: str,
        required: bool = False,
        also: tuple[str, ...] = (),
        akin: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.shape = shape
        self.means = means
        """In a sentence without a capital or a full stop, for messages and for the published schema."""
        self.example = example
        """The whole entry, ready to paste."""
        self.required = required
        self.also = also
        """What people write in its place, from habit with other tools; only used to guess what they meant."""
        self.akin = akin
        """The same, where the value that goes with it means something else and cannot be taken over."""


class Fields:
    """A mapping that is being read by its table."""

    def __init__(self, node: MapNode, report: Report, meant: frozenset[str]) -> None:
        self.node = node
        self.report = report
        self.meant = meant
        """Keys that unknown ones probably stand for: their absence has been told by that."""

    def __contains__(self, key: Key[Any]) -> bool:
        return key.name in self.node.entries

    def get(self, key: Key[T]) -> T | None:
        """The value of a key; None when it is absent, or was reported."""
        entry = self.node.entries.get(key.name)
        return key.shape.read(entry.node, key.name, self.report) if entry else None

    def key_span(self, key: Key[Any]) -> Span:
        """Where a key that is present stands."""
        return self.node.entries[key.name].key

    def problem(self, key: Key[Any], code: SpecCode, message: str, *, expected: str = "", suggestion: str = "") -> None:
        """Report a problem at a key that is present."""
        self.report.add(self.key_span(key).problem(code, message, expected=expected, suggestion=suggestion))


class Record(Generic[T]):
    """A mapping with fixed keys, read into a `T`. It is a `Shape`, so that records nest."""

    def __init__(
        self,
        name: str,
        *,
        means: str,
        keys: tuple[Key[Any], ...],
        build: Callable[[Fields], T | None],
        later: Mapping[str, str] = NOTHING,
        rules: JsonObject | None = None,
        may_be_empty: bool = True,
        is_thing: bool = True,
    ) -> None:
        self.name = name
        self.means = means
        self.keys = {key.name: key for key in keys}
        self.build = build
        self.later = later
        """Keys of later versions, with what to do until then."""
        self._rules = rules or {}
        """How keys depend on each other, as JSON Schema; `build` checks the same in words."""
        self._may_be_empty = may_be_empty
        self._is_thing = is_thing
        """Whether one says *a step*; of what is no thing, messages name the key that it stands under."""

    def read(self, node: Node, name: str, report: Report) -> T | None:
        """The value, or None after reporting what is wrong with it."""
        if not isinstance(node, MapNode):
            keys = f"the keys of {_a(self.name)}" if self._is_thing else f"some of the keys {self._known()}"
            report.add(wrong_type(node, name, f"a mapping with {keys}"))
            return None
        if not node.entries and not self._may_be_empty:
            report.add(wrong_value(node, name, f"at least one of {self._known()}"))
            return None
        meant = {
            self._report_unknown(key, entry, name, report)
            for key, entry in node.entries.items()
            if key not in self.keys
        }
        for wanted in self.keys.values():
            if wanted.required and wanted.name not in node.entries and wanted.name not in meant:
                self._report_missing(wanted, node, name, report)
        return self.build(Fields(node, report, frozenset(meant)))

    def schema(self, defs: JsonObject) -> JsonObject:
        """A reference to this record among the definitions, which are made on first use."""
        if self.name not in defs:
            defs[self.name] = {}  # taken before the keys are asked, since a step may hold steps
            defs[self.name] = self.body(defs)
        return {"$ref": f"#/$defs/{self.name}"}

    def body(self, defs: JsonObject) -> JsonObject:
        """The record itself as JSON Schema."""
        body: JsonObject = {
            "type": "object",
            "description": self.means,
            "properties": {
                key.name: {**key.shape.schema(defs), "description": f"{key.means}; for example {key.example}"}
                for key in self.keys.values()
            },
            "additionalProperties": False,
            **self._rules,
        }
        required = [key.name for key in self.keys.values() if key.required]
        if required:
            body["required"] = [*required]
        if not self._may_be_empty:
            body["minProperties"] = 1
        return body

    def _known(self) -> str:
        return ", ".join(self.keys)

    def _report_unknown(self, name: str, entry: Entry, under: str, report: Report) -> str:
        """Report a key that is not in the table; gives the key that was probably meant, or nothing."""
        if name in self.later:
            message = f"`{name}` is not supported in this version of Stretto"
            expected = f"one of {self._known()}"
            problem = entry.key.problem(SpecCode.NOT_SUPPORTED, message, expected=expected, suggestion=self.later[name])
            report.add(problem)
            return ""
        meant, suggestion = self._meant(name, entry.node)
        what = _a(self.name) if self._is_thing else f"`{under}`"
        message, expected = f"{what} has no key {quote(name)}", f"one of {self._known()}"
        report.add(entry.key.problem(SpecCode.UNKNOWN_KEY, message, expected=expected, suggestion=suggestion))
        return meant

    def _meant(self, name: str, value: Node) -> tuple[str, str]:
        """The key that was probably meant, or nothing, and what to try."""
        for key in self.keys.values():
            if name.casefold() in key.also:
                return key.name, _with_value(key, value)
            if name.casefold() in key.akin:
                return key.name, key.example
        near = nearest(name, self.keys)
        return (near, near) if near else ("", self._elsewhere(name, value))

    def _elsewhere(self, name: str, value: Node) -> str:
        for key in self.keys.values():
            if isinstance(key.shape, Record) and name in key.shape.keys:
                inside = _with_value(key.shape.keys[name], value)
                return f"put it under `{key.name}`: {key.name}: {{{inside}}}"
        return ""

    def _report_missing(self, key: Key[Any], node: MapNode, under: str, report: Report) -> None:
        report.add(
            node.span.problem(
                SpecCode.MISSING_KEY,
                f"{f'this {self.name}' if self._is_thing else f'`{under}`'} has no `{key.name}`",
                expected=f"`{key.name}`: {key.means}",
                suggestion=key.example,
            )
        )


class Forward(Generic[T]):
    """A shape that is defined further down: a step may hold steps."""

    def __init__(self, shape: Callable[[], Shape[T]]) -> None:
        self._shape = shape

    def read(self, node: Node, name: str, report: Report) -> T | None:
        return self._shape().read(node, name, report)

    def schema(self, defs: JsonObject) -> JsonObject:
        return self._shape().schema(defs)


def _with_value(key: Key[Any], value: Node) -> str:
    """The key with the value that was written, when it takes that and it stands on one line; else its example."""
    written = value.span.source.text[value.span.start : value.span.end].strip()
    unread = Report()
    key.shape.read(value, key.name, unread)
    return key.example if unread or not written or "\n" in written else f"{key.name}: {written}"


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" or noun in _SPELLED_OUT else f"a {noun}"
