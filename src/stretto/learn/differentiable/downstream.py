"""Which terms of the reward a step may change: those of the steps that its output, or its being skipped, reaches.

Decided once, on the plan. A body is taken whole where rounds or a list around it carry on what a step did.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from stretto.learn.differentiable.inner import SubNode
from stretto.learn.differentiable.inside import InsideNode
from stretto.learn.differentiable.items import MapNode
from stretto.learn.differentiable.node import Node
from stretto.learn.differentiable.outside import OutsideNode
from stretto.learn.differentiable.rounds import LoopNode
from stretto.plan.model import CallOp


class Downstream:
    """Of each differentiable step, by its place: what lies downstream."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._steps: dict[str, frozenset[str]] = {}
        """Place → places of the steps downstream, those inside others too."""
        self._terms: dict[str, frozenset[str]] = {}
        self._calls: dict[str, CallOp] = {}
        self._walk(nodes, frozenset())

    def terms(self, place: str) -> frozenset[str]:
        """Of the reward: those that the step may change."""
        return frozenset(term for step in self._steps[place] for term in self._terms.get(step, ()))

    def calls(self, place: str) -> list[CallOp]:
        """The calls downstream of a step."""
        return [self._calls[step] for step in sorted(self._steps[place]) if step in self._calls]

    def _walk(self, nodes: Sequence[Node], after: frozenset[str]) -> None:
        """Note what lies downstream of each step of a block, of which `after` all is."""
        reached = self._reached(nodes)
        for node in nodes:
            below = after.union(*(_places(nodes[each]) for each in reached[nodes.index(node)]))
            self._note(node, below)

    def _note(self, node: Node, below: frozenset[str]) -> None:
        self._steps[node.place] = below
        if isinstance(node, InsideNode | OutsideNode):
            self._calls[node.place] = node.call
            self._terms[node.place] = _terms(node)
        elif isinstance(node, SubNode):
            self._walk(node.body, below)
        elif isinstance(node, LoopNode | MapNode):
            own = _places(node) if isinstance(node, LoopNode) else frozenset()
            self._walk(node.body, below | own)

    @staticmethod
    def _reached(nodes: Sequence[Node]) -> list[set[int]]:
        """Of each step of a block, which others read what it wrote, themselves or by others between."""
        reached: list[set[int]] = [set() for _ in nodes]
        for first in range(len(nodes) - 1, -1, -1):
            for later in range(first + 1, len(nodes)):
                if nodes[first].op.slot in nodes[later].op.reads:
                    reached[first] |= {later} | reached[later]
        return reached


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
