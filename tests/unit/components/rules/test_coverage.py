"""The walk over all inputs of a table finds what asking for each of them finds."""

from itertools import product

import pytest
from hypothesis import given, strategies as st

from stretto.components.rules import coverage
from stretto.components.rules.coverage import Axis, cover, overlaps

PARTS = 4
ROWS = 4

parts = st.frozensets(st.integers(0, PARTS - 1))


@st.composite
def axes(draw: st.DrawFn) -> list[Axis]:
    """Some axes over as many rows; what a row must fit it may fit."""
    made = []
    for _ in range(draw(st.integers(0, 3))):
        must = tuple(draw(parts) for _ in range(ROWS))
        may = tuple(each | draw(parts) for each in must)
        made.append(Axis(possible=draw(parts.filter(bool)), may=may, must=must))
    return made


def fitting(at: list[Axis], point: tuple[int, ...], which: str) -> list[int]:
    return [
        row
        for row in range(ROWS)
        if all(part in getattr(axis, which)[row] for axis, part in zip(at, point, strict=True))
    ]


@given(axes())
def test_gaps_doubts_and_answering_rows_are_those_of_every_single_input(at: list[Axis]) -> None:
    points = [*product(*(sorted(axis.possible) for axis in at))]
    may = {point: fitting(at, point, "may") for point in points}
    must = {point: fitting(at, point, "must") for point in points}
    found = cover(at, ROWS)
    gaps = {point for point in points if not may[point]}
    doubts = {point for point in points if may[point] and not must[point]}
    assert found.is_whole
    assert bool(found.gaps) == bool(gaps)
    assert bool(found.doubts) == bool(doubts)
    for regions, inside in ((found.gaps, gaps), (found.doubts, doubts)):
        for region in regions:
            open_ended = [*region, *(axis.possible for axis in at[len(region) :])]
            assert set(product(*open_ended)) <= inside
    answering = {row for point in points for row in may[point] if row <= min(must[point], default=ROWS)}
    assert found.answering == answering


@given(axes())
def test_rows_overlap_when_some_input_fits_both_and_neither_is_within_the_other(at: list[Axis]) -> None:
    def box(row: int) -> set[tuple[int, ...]]:
        return set(product(*(sorted(axis.must[row] & axis.possible) for axis in at)))

    for first, second in overlaps(at, ROWS):
        assert box(first) & box(second)
        assert not box(first) <= box(second)
        assert not box(second) <= box(first)


def test_a_walk_that_grows_too_long_is_given_up_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    axis = Axis(possible=frozenset(range(8)), may=tuple(map(_one, range(8))), must=tuple(map(_one, range(8))))
    assert cover([axis] * 3, 8).is_whole
    monkeypatch.setattr(coverage, "MAX_STATES", 3)
    assert not cover([axis] * 3, 8).is_whole


def _one(part: int) -> frozenset[int]:
    return frozenset({part})
