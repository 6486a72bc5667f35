"""Shapes that hold others: lists, mappings with free keys, and constant objects."""

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from stretto.spec.codes import SpecCode
from stretto.spec.nodes import ListNode, MapNode, Node, ScalarNode, to_json_object
from stretto.spec.report import Report
from stretto.spec.shapes import Shape, Text, wrong_type, wrong_value
from stretto.spec.source import Located
from stretto.types.json import JsonObject

T = TypeVar("T")
V = TypeVar("V")


class Items(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A list of values of one shape."""

    item: Shape[T]
    what: str
    """In the plural: ``steps``."""
    minimum: int = 1

    def read(self, node: Node, name: str, report: Report) -> tuple[T, ...] | None:
        if not isinstance(node, ListNode):
            hint = f"{name}: [{node.text}]" if isinstance(node, ScalarNode) and node.text else ""
            report.add(wrong_type(node, name, f"a list of {self.what}", hint))
            return None
        if len(node.items) < self.minimum:
            report.add(wrong_value(node, name, f"a list of {self.minimum} or more {self.what}"))
            return None
        read = [self.item.read(item, f"{name}[{index}]", report) for index, item in enumerate(node.items)]
        return tuple(value for value in read if value is not None)

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"type": "array", "items": self.item.schema(defs), "minItems": self.minimum}


class Entries(msgspec.Struct, Generic[V, T], frozen=True, kw_only=True):
    """A mapping whose keys people choose; gives one value for each entry, in order."""

    key: Text
    value: Shape[V]
    build: Callable[[Located[str], V], T]
    what: str
    minimum: int = 1
    empty: SpecCode = SpecCode.VALUE
    """Code of the problem when there are fewer."""

    def read(self, node: Node, name: str, report: Report) -> tuple[T, ...] | None:
        if not isinstance(node, MapNode):
            report.add(wrong_type(node, name, f"a mapping: {self.what}"))
            return None
        if len(node.entries) < self.minimum:
            message, expected = f"`{name}` has no entries", f"at least one: {self.what}"
            report.add(node.span.problem(self.empty, message, expected=expected))
            return None
        built = []
        for key, entry in node.entries.items():
            located = self.key.check(Located(key, entry.key), f"a key of `{name}`", report)
            value = self.value.read(entry.node, key, report)
            if located is not None and value is not None:
                built.append(self.build(located, value))
        return tuple(built)

    def schema(self, defs: JsonObject) -> JsonObject:
        names = {key: rule for key, rule in self.key.schema(defs).items() if key != "type"}
        schema: JsonObject = {"type": "object", "additionalProperties": self.value.schema(defs), "propertyNames": names}
        return {**schema, "minProperties": self.minimum} if self.minimum else schema


class ObjectValue(msgspec.Struct, frozen=True):
    """A constant JSON object, kept as it stands."""

    def read(self, node: Node, name: str, report: Report) -> Located[JsonObject] | None:
        if not isinstance(node, MapNode):
            report.add(wrong_type(node, name, "a mapping, taken as it stands"))
            return None
        return Located(to_json_object(node), node.span)

    def schema(self, _defs: JsonObject) -> JsonObject:
        return {"type": "object"}
