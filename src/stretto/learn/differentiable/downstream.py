"""Which terms of the reward a step may change: those of the steps that its output, or its being skipped, reaches.

Decided once, on the plan. A body is taken whole where rounds or a list around it carry on what a step did.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, assert_never

from stretto.learn.differentiable.inner import SubNode
from stretto.learn.differentiable.inside import InsideNode
from stretto.learn.differentiable.items import MapNode
from stretto.learn.differentiable.node import Node
from stretto.learn.differentiable.outside import OutsideNode
from stretto.learn.differentiable.reading import Expression, Source
from stretto.learn.differentiable.rounds import LoopNode
from stretto.plan.expr.access import FirstOf, ObjectOf, PathOf


class Downstream:
    """Of each differentiable step, by its place: what lies downstream of its choices."""

    def __init__(self, nodes: Sequence[Node], weights: Mapping[str, float]) -> None:
        """`weights` are the contract's; without any, every term counts."""
        self._steps: dict[str, frozenset[str]] = {}
        """Place → places of the steps downstream, those inside others too."""
        self._terms: dict[str, frozenset[str]] = {}
        self._walk(nodes, frozenset())
        self._changed = {
            place: frozenset(
                term for step in steps for term in self._terms.get(step, ()) if not weights or weights.get(term)
            )
            for place, steps in self._steps.items()
        }

    def terms(self, place: str) -> frozenset[str]:
        """Of the reward: those that count, and that the step's choices may change."""
        return self._changed[place]

    def _walk(self, nodes: Sequence[Node], after: frozenset[str]) -> None:
        """Note what lies downstream of each step of a block, of which `after` all is."""
        reached = _reached(nodes)
        for index, node in enumerate(nodes):
            first = [later for later in range(index + 1, len(nodes)) if _reads_choice(node, nodes[later])]
            found = set(first).union(*(reached[later] for later in first))
            self._note(node, after.union(*(_places(nodes[later]) for later in found)))

    def _note(self, node: Node, below: frozenset[str]) -> None:
        self._steps[node.place] = below
        if isinstance(node, InsideNode | OutsideNode):
            self._terms[node.place] = _terms(node)
        elif isinstance(node, SubNode):
            self._walk(node.body, below)
        elif isinstance(node, LoopNode | MapNode):
            own = _places(node) if isinstance(node, LoopNode) else frozenset()
            self._walk(node.body, below | own)


def _reached(nodes: Sequence[Node]) -> list[set[int]]:
    """Of each step of a block, which others read what it wrote, themselves or by others between."""
    reached: list[set[int]] = [set() for _ in nodes]
    for first in range(len(nodes) - 1, -1, -1):
        for later in range(first + 1, len(nodes)):
            if nodes[first].op.slot in nodes[later].op.reads:
                reached[first] |= {later} | reached[later]
    return reached


def _reads_choice(node: Node, later: Node) -> bool:
    """Whether a step reads what another chose, and not only what that one computed beside it."""
    slot = node.op.slot
    if slot not in later.op.reads:
        return False
    if not isinstance(node, InsideNode) or not isinstance(later, InsideNode | OutsideNode):
        return True
    if slot in later.op.guard_reads or later.call.fallback is not None:
        return True
    chosen = node.component.signature.chooses
    return any(may_read(source, slot, chosen) for _, source in later.inputs)


def may_read(source: Source, slot: int, fields: Collection[str]) -> bool:
    """Whether a source reads some of these fields of what stands in a slot, or all of it."""
    match source:
        case Expression():
            return slot in source.slots
        case PathOf():
            return source.slot == slot and (not source.parts or source.parts[0] in fields)
        case FirstOf():
            return any(may_read(each, slot, fields) for each in source.readings)
        case ObjectOf():
            return any(may_read(each, slot, fields) for _, each in source.fields)
        case _:
            assert_never(source)


def _places(node: Node) -> frozenset[str]:
    """A step's place, and those of the steps inside it."""
    if isinstance(node, MapNode | LoopNode | SubNode):
        return frozenset({node.place}).union(*(_places(each) for each in node.body))
    return frozenset({node.place})


def _terms(node: InsideNode | OutsideNode) -> frozenset[str]:
    """Terms that a step gives."""
    if isinstance(node, InsideNode):
        return frozenset(node.component.signature.rewards)
    if node.call.component.card.kind != "reward":
        return frozenset()
    terms: Any = node.call.component.card.output
    for name in ("properties", "terms", "properties"):
        terms = terms.get(name, {}) if isinstance(terms, Mapping) else {}
    return frozenset(terms)
