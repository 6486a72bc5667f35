"""What is computed for an explanation is bounded by what a network costs."""

import pytest

from stretto.learn.attribution.faithfulness import ORDERS, POINTS
from stretto.learn.attribution.integrated import MOST_POINTS
from stretto.learn.explain.bounds import (
    LEAST_ON_CURVE,
    LEAST_POINTS,
    LEAST_RUNS,
    MOST_RUNS,
    MOST_WORK,
    Bounds,
    bounds_for,
)


def test_a_small_network_is_explained_as_well_as_can_be() -> None:
    assert bounds_for(50_000, 40) == Bounds(path=MOST_POINTS, curve=POINTS, runs=MOST_RUNS)


@pytest.mark.parametrize("weights", [10**7, 135 * 10**6])
def test_a_larger_one_takes_no_more_than_can_be_waited_for(weights: int) -> None:
    bounds = bounds_for(weights, 25)
    assert LEAST_POINTS <= bounds.path < MOST_POINTS
    assert 3 * bounds.path * weights * 25 <= MOST_WORK
    assert 2 * (ORDERS + 1) * bounds.curve * weights * 25 <= MOST_WORK


def test_the_largest_has_the_least_that_says_anything() -> None:
    assert bounds_for(7 * 10**9, 1_000) == Bounds(path=LEAST_POINTS, curve=LEAST_ON_CURVE, runs=LEAST_RUNS)
    assert bounds_for(0, 0).path == MOST_POINTS
