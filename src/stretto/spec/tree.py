"""Builds the tree of a file, token by token, and keeps its bounds: no reader can be made to recurse or to swell."""

from typing import Final, NoReturn

import msgspec

from stretto.spec.codes import SpecCode
from stretto.spec.nodes import Entry, ListNode, MapNode, Node, ScalarNode, describe, quote
from stretto.spec.report import Report
from stretto.spec.source import Source, Span

MAX_NODES: Final = 10_000
"""Values in one file, every alias counted as what it repeats. A workflow of 500 steps has about 5,000."""

MAX_DEPTH: Final = 100
"""Nesting; the deepest real file seen has 12. Everything that walks a tree may recurse because of it."""

_MERGE: Final = "<<"
_QUOTES: Final = ('"', "'")


class _Open(msgspec.Struct):
    """A list or a mapping whose end has not come."""

    start: int
    is_map: bool
    anchor: str | None
    nodes_before: int
    height: int = 0
    """Levels inside it so far."""
    items: list[Node] = msgspec.field(default_factory=list)
    entries: dict[str, Entry] = msgspec.field(default_factory=dict)
    key: ScalarNode | None = None
    """The key that waits for its value."""


class _Anchored(msgspec.Struct):
    node: Node
    nodes: int
    height: int


class TreeBuilder:
    """Takes the tokens of one file in order. Bounds raise SpecError at once; everything else goes to the report."""

    def __init__(self, source: Source, report: Report, most: int = MAX_NODES) -> None:
        self._source = source
        self._report = report
        self._most = most
        """Values that the file may hold."""
        self._open: list[_Open] = []
        self._anchors: dict[str, _Anchored] = {}
        self._nodes = 0
        self.root: Node | None = None
        """The finished tree, or None as long as nothing was taken."""

    @property
    def inside(self) -> bool:
        """A list or mapping is open."""
        return bool(self._open)

    def span(self, start: int, end: int) -> Span:
        return Span(self._source, start, end)

    def begin(self, start: int, *, is_map: bool, anchor: str | None = None) -> None:
        """A list or mapping begins."""
        self._count(1, start)
        self._check_depth(1, start)
        self._open.append(_Open(start, is_map, anchor, self._nodes))

    def end(self, end: int) -> None:
        """The innermost list or mapping ends."""
        done = self._open.pop()
        span = self.span(done.start, end)
        node: Node = (
            MapNode(span=span, entries=done.entries) if done.is_map else ListNode(span=span, items=tuple(done.items))
        )
        self._add(node, done.height + 1)
        if done.anchor is not None:
            self._anchors[done.anchor] = _Anchored(node, self._nodes - done.nodes_before + 1, done.height + 1)

    def scalar(self, node: ScalarNode, anchor: str | None = None) -> None:
        """A single value."""
        self._count(1, node.span.start)
        self._add(node, 0)
        if anchor is not None:
            self._anchors[anchor] = _Anchored(node, 1, 0)

    def alias(self, name: str, start: int, end: int) -> None:
        """A value that repeats an anchored one."""
        anchored = self._anchors.get(name)
        if anchored is None:
            self._refuse_alias(name, start, end)
        self._count(anchored.nodes, start)
        self._check_depth(anchored.height, start)
        self._add(anchored.node, anchored.height)

    def _refuse_alias(self, name: str, start: int, end: int) -> NoReturn:
        if any(outer.anchor == name for outer in self._open):
            message = f"'*{name}' repeats the very value that it is a part of"
            suggestion = "write the value out"
        else:
            message = f"'*{name}' is read as a YAML alias, and there is no anchor '&{name}' before it"
            suggestion = f'if it is text, put it in quotes: "*{name}"'
        self._report.fail(self.span(start, end).problem(SpecCode.ALIAS, message, suggestion=suggestion))

    def _add(self, node: Node, height: int) -> None:
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        parent.height = max(parent.height, height)
        if not parent.is_map:
            parent.items.append(node)
        elif parent.key is None:
            parent.key = self._as_key(node)
        else:
            self._add_entry(parent, parent.key, node)
            parent.key = None

    def _as_key(self, node: Node) -> ScalarNode:
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            if node.text == _MERGE and not self._source.text.startswith(_QUOTES, node.span.start):
                self._refuse_merge(node)
            return node
        text = node.text if isinstance(node, ScalarNode) else ""
        self._report.add(
            node.span.problem(
                SpecCode.KEY_TYPE,
                f"this key is {describe(node)}",
                expected="text as a key",
                suggestion=f'"{text}":' if text else "",
            )
        )
        return ScalarNode(span=node.span, value=text, text=text)

    def _refuse_merge(self, key: ScalarNode) -> NoReturn:
        """At once: what else would be found of this mapping is what it was to get by merging."""
        problem = key.span.problem(
            SpecCode.MERGE_KEY,
            "'<<' merges one mapping into another only in YAML 1.1, and merge keys are not read",
            expected="every key in the mapping that it belongs to",
            suggestion="write the keys out here; a whole value may be repeated: input_mapping: *name",
        )
        self._report.fail(problem)

    def _add_entry(self, parent: _Open, key: ScalarNode, node: Node) -> None:
        first = parent.entries.get(key.text)
        if first is None:
            parent.entries[key.text] = Entry(key.span, node)
            return
        self._report.add(
            key.span.problem(
                SpecCode.DUPLICATE_KEY,
                f"the key {quote(key.text)} already stands at line {first.key.mark.line}",
                expected="each key once in a mapping",
                suggestion="keep one of the two; the other would be lost without a word",
            )
        )

    def _count(self, nodes: int, start: int) -> None:
        self._nodes += nodes
        if self._nodes > self._most:
            problem = self.span(start, start + 1).problem(
                SpecCode.TOO_MANY_VALUES,
                f"up to here the file holds more than {self._most:,} values, aliases counted as what they repeat",
                expected=f"at most {self._most:,} values",
                suggestion="split the workflow into sub-workflows; put large data into a file that a component reads",
            )
            self._report.fail(problem)

    def _check_depth(self, more: int, start: int) -> None:
        if len(self._open) + more > MAX_DEPTH:
            problem = self.span(start, start + 1).problem(
                SpecCode.TOO_DEEP,
                f"this value is nested deeper than {MAX_DEPTH}",
                expected=f"at most {MAX_DEPTH} levels",
                suggestion="move the inner part into a sub-workflow or into a component",
            )
            self._report.fail(problem)
