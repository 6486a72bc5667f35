"""Which rows of a table answer which inputs, over all inputs at once.

Each input column parts the values of its field; a row fits a set of parts in each column. The inputs of the table are
the product of the parts, which is walked column by column: parts that the same of the rows still alive fit are taken
together, and no set of rows alive is walked twice, so that the walk is as large as the table is intricate, not as the
product (as in an ordered decision diagram; Bryant 1986, "Graph-Based Algorithms for Boolean Function Manipulation").

A row whose cell cannot be analysed *may* fit where it is not said that it *must*.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

MAX_STATES: Final = 50_000
"""Steps of the walk: about a second. A table of 200 rows by 6 columns that parts cleanly takes under 2,000."""

MAX_GAPS: Final = 5
"""Told of one table."""

Rows = int
"""A set of rows, as a bit for each."""

Region = tuple[frozenset[int], ...]
"""For each axis the parts; an axis beyond the end is open to all of its parts."""


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """One field, and what the rows say of it."""

    possible: frozenset[int]
    """Parts that it may hold a value of."""
    may: tuple[frozenset[int], ...]
    """For each row, the parts that it may fit."""
    must: tuple[frozenset[int], ...]
    """For each row, the parts that it surely fits."""


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """What the walk found."""

    gaps: tuple[Region, ...] = ()
    """Inputs that surely no row answers."""
    doubts: tuple[Region, ...] = ()
    """Inputs that perhaps no row answers: those that may are not analysed."""
    answering: frozenset[int] = frozenset()
    """Rows that are the first to fit somewhere, or may be."""
    is_whole: bool = True
    """False when the walk was given up: what was found is there, what was not found may be."""


def cover(axes: Sequence[Axis], rows: int) -> Coverage:
    """Walk the inputs of a table with so many rows."""
    return _Walk(axes).run(rows)


class _Walk:
    """One walk, with an explicit stack, so that columns cost no recursion."""

    def __init__(self, axes: Sequence[Axis]) -> None:
        self._axes = [_by_part(axis) for axis in axes]
        self._gaps: list[Region] = []
        self._doubts: list[Region] = []
        self._answering = 0

    def run(self, rows: int) -> Coverage:
        everything = (1 << rows) - 1
        at_hand: list[tuple[Region, Rows, Rows]] = [((), everything, everything)]
        seen = set[tuple[int, Rows, Rows]]()
        while at_hand and len(seen) <= MAX_STATES:
            region, may, must = at_hand.pop()
            state = (len(region), may, must)
            if state in seen:
                continue
            if may:
                seen.add(state)
            if not may or len(region) == len(self._axes):
                self._reach_end(region, may, must)
            else:
                at_hand += reversed([*self._onwards(region, may, must)])
        return Coverage(
            gaps=tuple(self._gaps),
            doubts=tuple(self._doubts),
            answering=frozenset(_members(self._answering)),
            is_whole=not at_hand,
        )

    def _onwards(self, region: Region, may: Rows, must: Rows) -> Iterator[tuple[Region, Rows, Rows]]:
        """One step along the next axis, for each group of parts that the rows alive do not tell apart."""
        groups = defaultdict[tuple[Rows, Rows], list[int]](list)
        for part, fits, surely in self._axes[len(region)]:
            groups[may & fits, must & surely].append(part)
        for (still, surely), parts in groups.items():
            yield (*region, frozenset(parts)), still, surely

    def _reach_end(self, region: Region, may: Rows, must: Rows) -> None:
        if not must:
            found = self._doubts if may else self._gaps
            if len(found) < MAX_GAPS:
                found.append(region)
        first_sure = must & -must  # the lowest bit
        self._answering |= may & ((first_sure << 1) - 1) if first_sure else may


def _by_part(axis: Axis) -> list[tuple[int, Rows, Rows]]:
    """For each possible part the rows that may fit it, and those that surely do."""
    may, must = _bits(axis.may), _bits(axis.must)
    return [(part, may[part], must[part]) for part in sorted(axis.possible)]


def _bits(rows: Sequence[frozenset[int]]) -> Mapping[int, Rows]:
    found = defaultdict[int, Rows](int)
    for row, parts in enumerate(rows):
        for part in parts:
            found[part] |= 1 << row
    return found


def _members(rows: Rows) -> Iterator[int]:
    while rows:
        lowest = rows & -rows
        yield lowest.bit_length() - 1
        rows ^= lowest


def overlaps(axes: Sequence[Axis], rows: int) -> Iterator[tuple[int, int]]:
    """Pairs of rows of which both surely fit some input, and neither fits all that the other does.

    A row that fits a part of what a later one does is an exception to it, which is how such tables are meant.
    """
    for first in range(rows):
        for second in range(first + 1, rows):
            if _overlap(axes, first, second):
                yield first, second


def _overlap(axes: Sequence[Axis], first: int, second: int) -> bool:
    is_within = holds_it = True
    for axis in axes:
        one, other = axis.must[first] & axis.possible, axis.must[second] & axis.possible
        if not one & other:
            return False
        is_within &= one <= other
        holds_it &= other <= one
    return not (is_within or holds_it)
