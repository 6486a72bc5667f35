"""The order that a data flow leaves: who waits for whom, whether any choice remains, and where it bites its tail."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise


class Cycle(Exception):  # noqa: N818  # a finding, turned into a Problem by the compiler
    """Steps that wait for each other, in order, the first one again at the end."""

    def __init__(self, indices: Sequence[int]) -> None:
        super().__init__(str(list(indices)))
        self.indices = tuple(indices)


@dataclass(frozen=True, slots=True)
class Order:
    """A topological order of n steps and the waiting that is left in it."""

    sequence: tuple[int, ...]
    """Original indices, each after all it waits for; the file's order where the data flow does not care."""
    linear: bool
    """True when `sequence` is the only order."""
    indegree: tuple[int, ...]
    """By position in `sequence`: how many others it waits for."""
    children: tuple[tuple[int, ...], ...]
    """By position in `sequence`: the positions that wait for it."""


def order_of(count: int, before: Mapping[int, frozenset[int]]) -> Order:
    """Order steps 0..count-1, where step i waits for `before[i]`. Raises Cycle.

    Edges that others imply are dropped (transitive reduction), so that a finished step touches few counters.
    """
    ancestors = _ancestors(count, before)
    direct = {
        index: {a for a in before.get(index, ()) if not any(a in ancestors[b] for b in before.get(index, ()) if b != a)}
        for index in range(count)
    }
    sequence = _kahn(count, direct)
    position = {index: place for place, index in enumerate(sequence)}
    linear = all(earlier in ancestors[later] for earlier, later in pairwise(sequence))
    children: list[list[int]] = [[] for _ in range(count)]
    for index in range(count):
        for earlier in direct[index]:
            children[position[earlier]].append(position[index])
    return Order(
        sequence=tuple(sequence),
        linear=linear,
        indegree=tuple(len(direct[index]) for index in sequence),
        children=tuple(tuple(sorted(each)) for each in children),
    )


def _ancestors(count: int, before: Mapping[int, frozenset[int]]) -> dict[int, frozenset[int]]:
    """Everything each step waits for, directly or not."""
    known: dict[int, frozenset[int]] = {}
    for start in range(count):
        _visit(start, before, known, [])
    return known


def _visit(
    index: int, before: Mapping[int, frozenset[int]], known: dict[int, frozenset[int]], trail: list[int]
) -> None:
    if index in known:
        return
    if index in trail:
        raise Cycle([*trail[trail.index(index) :], index])
    trail.append(index)
    found: set[int] = set()
    for earlier in sorted(before.get(index, ())):
        _visit(earlier, before, known, trail)
        found |= {earlier} | known[earlier]
    trail.pop()
    known[index] = frozenset(found)


def _kahn(count: int, direct: Mapping[int, set[int]]) -> list[int]:
    waiting = {index: set(direct[index]) for index in range(count)}
    ready = [index for index in range(count) if not waiting[index]]
    heapq.heapify(ready)
    sequence = []
    while ready:
        index = heapq.heappop(ready)
        sequence.append(index)
        for later in range(count):
            if index in waiting[later]:
                waiting[later].remove(index)
                if not waiting[later]:
                    heapq.heappush(ready, later)
    return sequence
