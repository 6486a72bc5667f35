"""A run's steps as the tree that their paths tell of, in the order in which they began."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from stretto.record.model import StepRecord

_ROUND: Final = re.compile(r"(.+)\[(\d+)\]")
"""A loop's round or a map's item: the step's own path, and the number."""


@dataclass(slots=True, kw_only=True)
class StepNode:
    """One step of a run, with the steps inside it."""

    path: str
    name: str
    """Its last part; empty for an item of a map that has no steps of its own."""
    index: int | None
    """Round of the loop, or index of the item, that it belongs to."""
    record: StepRecord | None = None
    """None for a loop or map that did not come to its end."""
    children: "list[StepNode]" = field(default_factory=list)

    @property
    def started_ms(self) -> float:
        """When it, or the first step inside it, began."""
        if self.record is not None:
            return self.record.started_ms
        return min((child.started_ms for child in self.children), default=0.0)

    @property
    def ended_ms(self) -> float:
        """When it, or the last step inside it, ended."""
        if self.record is not None:
            return self.record.ended_ms
        return max((child.ended_ms for child in self.children), default=0.0)


def step_tree(steps: Iterable[StepRecord]) -> list[StepNode]:
    """The outermost steps, each holding those inside it."""
    records = {str(step.path): step for step in steps}
    nodes: dict[str, StepNode] = {}
    roots: list[StepNode] = []

    def node_at(path: str) -> StepNode:
        if path not in nodes:
            parent, index, name = _split(path, records)
            node = nodes[path] = StepNode(path=path, name=name, index=index, record=records.get(path))
            (node_at(parent).children if parent else roots).append(node)
        return nodes[path]

    for path in records:
        node_at(path)
    for node in nodes.values():
        node.children.sort(key=_order)
    return sorted(roots, key=_order)


def walk(nodes: Iterable[StepNode], depth: int = 0) -> Iterator[tuple[StepNode, int]]:
    """Every node with its depth, parents first."""
    for node in nodes:
        yield node, depth
        yield from walk(node.children, depth + 1)


def _split(path: str, records: dict[str, StepRecord]) -> tuple[str, int | None, str]:
    """The path of the step that holds this one, the round or item of it, and the name."""
    item = _ROUND.fullmatch(path)
    if item is not None:
        return item[1], int(item[2]), ""
    head, _, name = path.rpartition("/")
    inside = None if head in records else _ROUND.fullmatch(head)
    return (head, None, name) if inside is None else (inside[1], int(inside[2]), name)


def _order(node: StepNode) -> tuple[int, float]:
    return (-1 if node.index is None else node.index, node.started_ms)
