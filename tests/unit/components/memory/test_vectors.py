"""Nearest vectors: exactly those that a slow reference finds, in an order that no machine changes."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from stretto.components.memory.backend import Query
from stretto.components.memory.vectors import VectorIndex, unit


def asked(vector: list[float], top: int, above: float = -2.0) -> Query:
    direction = unit(vector)
    assert direction is not None
    return Query(vector=direction, top=top, above=above)


def index_of(rows: list[list[float]]) -> VectorIndex:
    index = VectorIndex(len(rows[0]))
    for number, row in enumerate(rows, start=1):
        direction = unit(row)
        assert direction is not None
        index.append(number, direction)
    return index


COORDINATES = st.lists(st.integers(-3, 3), min_size=3, max_size=3).filter(any)


@given(st.lists(COORDINATES, min_size=1, max_size=50), COORDINATES, st.integers(1, 8), st.integers(0, 40))
def test_it_finds_what_a_slow_search_finds(rows: list[list[int]], sought: list[int], top: int, dropped: int) -> None:
    index = index_of([[float(x) for x in row] for row in rows])
    index.drop_before(dropped)

    def cosine(row: list[int]) -> float:
        product = sum(a * b for a, b in zip(row, sought, strict=True))
        return product / math.sqrt(sum(a * a for a in row) * sum(b * b for b in sought))

    kept = [(number, cosine(row)) for number, row in enumerate(rows, start=1) if number >= dropped]
    expected = sorted(kept, key=lambda each: (-round(each[1], 5), -each[0]))[:top]
    near = index.nearest(asked([float(x) for x in sought], top))
    assert [number for number, _ in near] == [number for number, _ in expected]
    assert [score for _, score in near] == pytest.approx([score for _, score in expected], abs=2e-6)


def test_the_same_text_is_found_latest_first_wherever_it_lies() -> None:
    """How a product of single precision adds up depends on a row's place; the order must not."""
    rng = np.random.default_rng(7)
    same = rng.normal(size=513).tolist()
    rows = [same if number % 3 == 0 else rng.normal(size=513).tolist() for number in range(200)]
    near = index_of(rows).nearest(asked([x + 0.3 * y for x, y in zip(same, rows[1], strict=True)], 40))
    assert [number for number, _ in near] == [number for number in range(200, 0, -1) if (number - 1) % 3 == 0][:40]
    assert len({score for _, score in near}) == 1


def test_what_is_not_nearer_than_asked_is_left_out() -> None:
    index = index_of([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    assert [number for number, _ in index.nearest(asked([1.0, 0.0], 3, above=0.0))] == [1]
    assert [number for number, _ in index.nearest(asked([1.0, 0.0], 3, above=-0.5))] == [1, 2]
    assert index.nearest(asked([1.0, 0.0], 1, above=1.0)) == []


def test_an_empty_index_finds_nothing_and_room_is_used_again() -> None:
    index = VectorIndex(2)
    assert index.nearest(asked([1.0, 0.0], 3)) == []
    for number in range(1, 10_001):
        index.append(number, np.array([1.0, 0.0], np.float32))
        index.drop_before(number - 3)
    assert (len(index), index.last_id) == (4, 10_000)
    assert index.nbytes < 2_000
    index.drop_before(20_000)
    assert (len(index), index.last_id) == (0, 0)


@pytest.mark.parametrize("values", [[0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0], []])
def test_what_points_nowhere_has_no_direction(values: list[float]) -> None:
    assert unit(values) is None


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_a_direction_does_not_depend_on_the_length(scale: float) -> None:
    direction = unit([3.0 * scale, 4.0 * scale])
    assert direction is not None
    assert direction.tolist() == pytest.approx([0.6, 0.8])
