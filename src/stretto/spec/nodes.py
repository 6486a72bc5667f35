"""A file as a tree of located values, the same for YAML and JSON."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

import msgspec

from stretto.spec.source import Span, printable
from stretto.types.json import Json, JsonObject, ValuePath

NO_ENTRIES: Final[Mapping[str, "Entry"]] = MappingProxyType({})

MAX_QUOTED_CHARS: Final = 60
"""A problem quotes the value it is about; a longer one is cut, since the excerpt shows it."""


class ScalarNode(msgspec.Struct, frozen=True, kw_only=True):
    """Text, a number, true, false or null."""

    span: Span
    value: str | int | float | bool | None
    text: str
    """As written, without quotes: ``1.10`` where the value is 1.1."""


class ListNode(msgspec.Struct, frozen=True, kw_only=True):
    """Values in order."""

    span: Span
    items: tuple["Node", ...]


class MapNode(msgspec.Struct, frozen=True, kw_only=True):
    """Values by name, in the order of the file."""

    span: Span
    entries: Mapping[str, "Entry"] = NO_ENTRIES

    def get(self, key: str) -> "Node | None":
        """The value of a key, or None when the key is absent."""
        entry = self.entries.get(key)
        return entry.node if entry else None


Node: TypeAlias = ScalarNode | ListNode | MapNode


class Entry(msgspec.Struct, frozen=True):
    """One key of a mapping, and its value."""

    key: Span
    node: Node


def to_json(node: Node) -> Json:
    """The plain value, without places."""
    if isinstance(node, ScalarNode):
        return node.value
    if isinstance(node, ListNode):
        return [to_json(item) for item in node.items]
    return to_json_object(node)


def to_json_object(node: MapNode) -> JsonObject:
    """The plain value of a mapping, without places."""
    return {name: to_json(entry.node) for name, entry in node.entries.items()}


def node_at(node: Node, path: ValuePath) -> Node:
    """The node at a path of keys and indices, or the deepest one on the way there."""
    for part in path:
        if isinstance(node, MapNode) and isinstance(part, str) and part in node.entries:
            node = node.entries[part].node
        elif isinstance(node, ListNode) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
        else:
            break
    return node


def describe(node: Node) -> str:
    """What somebody wrote, in words: ``the number 3``, ``the text 'x'``, ``a list``."""
    if isinstance(node, ListNode):
        return f"a list of {len(node.items)}" if node.items else "an empty list"
    if isinstance(node, MapNode):
        return "a mapping" if node.entries else "an empty mapping"
    if isinstance(node.value, str):
        return f"the text {quote(node.value)}" if node.value else "empty text"
    if node.value is None:
        return node.text or "empty"
    if isinstance(node.value, bool):
        return node.text
    return f"the number {node.text}"


def quote(text: str) -> str:
    """The text in quotes that it does not hold itself, on one line, cut when it is long."""
    shown = text if len(text) <= MAX_QUOTED_CHARS else f"{text[:MAX_QUOTED_CHARS]}..."
    mark = '"' if "'" in shown and '"' not in shown else "'"
    return mark + printable(shown.replace("\n", "\\n").replace("\t", "\\t")) + mark
