"""How far an expression counts: ``map([1..n], #)`` visits every number of a range, and nothing in the engine stops it.

A range elsewhere, as in ``a in [1..10]`` or as a cell, is a test of two comparisons. What closures do over lists is
bounded by the lists that come in.
"""

import re
from collections.abc import Iterator
from math import prod
from typing import Final

MAX_COUNT: Final = 10_000
"""Numbers that one expression may visit, ranges within ranges multiplied: a third of a millisecond."""

TEXT_LITERAL: Final = re.compile(r"\"[^\"]*\"|'[^']*'")

_CLOSURE: Final = re.compile(r"\b(?:all|some|none|one|count|filter|map|flatMap)\s*\(")
_BEFORE_COUNTED: Final = re.compile(rf"{_CLOSURE.pattern}\s*\Z")
_BEFORE_TEST: Final = re.compile(r"\bin\s*\Z")
_BOUNDS: Final = re.compile(r"[\[(]\s*(-?\d+)\s*\.\.\s*(-?\d+)\s*[\])]")


def counts_too_far(text: str, *, is_cell: bool) -> bool:
    """Whether an expression visits more than `MAX_COUNT` numbers, or as many as its input says."""
    bare = TEXT_LITERAL.sub("''", text)
    if is_cell and _CLOSURE.search(bare) is None:
        return False
    lengths = [*_lengths(bare)]
    return None in lengths or prod(length for length in lengths if length is not None) > MAX_COUNT


def _lengths(bare: str) -> Iterator[int | None]:
    """Of each range that is no test, how many numbers it has; None for one that is not written out."""
    for dots in re.finditer(r"\.\.", bare):
        opens = _opening(bare, dots.start())
        before = bare[:opens]
        if _BEFORE_TEST.search(before):
            continue
        bounds = _BOUNDS.match(bare, opens) if _BEFORE_COUNTED.search(before) else None
        yield None if bounds is None else max(1, int(bounds[2]) - int(bounds[1]) + 1)


def _opening(bare: str, at: int) -> int:
    """Where the bracket opens that the place lies in."""
    depth = 1
    while at > 0 and depth:
        at -= 1
        depth += (bare[at] in "])") - (bare[at] in "[(")
    return at
