"""Hierarchical bootstrap intervals: against a slow reference, against theory, and on awkward tables."""

import math
import random
import statistics

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from stretto.stats.bootstrap import Floats, difference_interval, ratio_interval
from stretto.types.errors import UsageError


def ones(values_TS: Floats) -> Floats:
    return np.ones_like(values_TS)


def slow_interval(table: list[list[float]], resamples: int) -> tuple[float, float]:
    """Draw tasks, then seeds in each, one number at a time, with the standard library's generator."""
    rng = random.Random(0)
    means = []
    for _ in range(resamples):
        drawn = [rng.choice(row) for row in (rng.choice(table) for _ in table) for _ in row]
        means.append(statistics.fmean(drawn))
    cuts = statistics.quantiles(means, n=40)
    return cuts[0], cuts[-1]


def test_agrees_with_a_slow_reference() -> None:
    values_TS = np.random.default_rng(0).normal(size=(12, 3)) + np.arange(12)[:, None] / 4
    interval = ratio_interval(values_TS, ones(values_TS), resamples=4000)
    low, high = slow_interval(values_TS.tolist(), 4000)
    assert interval.value == pytest.approx(values_TS.mean())
    assert interval.low == pytest.approx(low, abs=0.08)
    assert interval.high == pytest.approx(high, abs=0.08)


def test_runs_of_one_task_that_are_alike_do_not_count_as_many() -> None:
    tasks_TS = np.random.default_rng(1).normal(size=(20, 1))
    alone = ratio_interval(tasks_TS, ones(tasks_TS))
    repeated_TS = np.tile(tasks_TS, (1, 10))
    repeated = ratio_interval(repeated_TS, ones(repeated_TS))
    assert repeated.high - repeated.low == pytest.approx(alone.high - alone.low, rel=0.1)


def test_covers_the_truth_about_as_often_as_it_says() -> None:
    covered = 0
    for trial in range(200):
        rng = np.random.default_rng(trial)
        values_TS = rng.normal(size=(40, 1)) + 0.5 * rng.normal(size=(40, 3))
        interval = ratio_interval(values_TS, ones(values_TS), resamples=400, seed=trial)
        covered += interval.low <= 0.0 <= interval.high
    assert 0.90 <= covered / 200 <= 0.99


def test_pairs_cancel_what_makes_a_task_hard() -> None:
    rng = np.random.default_rng(2)
    before_TS = rng.normal(scale=5.0, size=(30, 1)) + rng.normal(scale=0.1, size=(30, 3))
    after_TS = before_TS + 0.2
    interval = difference_interval((before_TS, ones(before_TS)), (after_TS, ones(after_TS)))
    assert (interval.value, interval.low, interval.high) == pytest.approx((0.2, 0.2, 0.2))


def test_a_ratio_is_of_sums_not_of_runs() -> None:
    above_TS, below_TS = np.array([[1.0], [0.0]]), np.array([[1.0], [9.0]])
    assert ratio_interval(above_TS, below_TS).value == pytest.approx(0.1)


def test_a_difference_of_ratios_is_hand_worked() -> None:
    before = (np.array([[1.0], [0.0]]), np.array([[1.0], [9.0]]))
    after = (np.array([[1.0], [4.0]]), np.array([[1.0], [9.0]]))
    assert difference_interval(before, after).value == pytest.approx(0.4)


def test_missing_cells_are_left_out_of_both_sides() -> None:
    nan = math.nan
    before_TS = np.array([[1.0, nan], [2.0, 4.0], [nan, nan]])
    after_TS = np.array([[2.0, 5.0], [4.0, nan], [1.0, 1.0]])
    interval = difference_interval((before_TS, ones(before_TS)), (after_TS, ones(after_TS)))
    assert interval.value == pytest.approx(((2 - 1) + (4 - 2)) / 2)


def test_the_same_seed_gives_the_same_interval_and_another_nearly() -> None:
    values_TS = np.random.default_rng(3).normal(size=(25, 4))
    first, again, other = (ratio_interval(values_TS, ones(values_TS), seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert first != other
    assert other.low == pytest.approx(first.low, abs=0.02)


@settings(max_examples=30)
@given(st.lists(st.lists(st.floats(-5, 5), min_size=1, max_size=4), min_size=1, max_size=6))
def test_the_interval_lies_within_the_values_whatever_the_table(rows: list[list[float]]) -> None:
    values_TS = np.full((len(rows), 4), np.nan)
    for task, row in enumerate(rows):
        values_TS[task, : len(row)] = row
    flat = [value for row in rows for value in row]
    interval = ratio_interval(values_TS, ones(values_TS), resamples=200)
    assert interval.value == pytest.approx(statistics.fmean(flat), abs=1e-9)
    assert min(flat) - 1e-9 <= interval.low <= interval.high <= max(flat) + 1e-9


def test_many_tasks_are_drawn_in_parts() -> None:
    values_TS = np.random.default_rng(4).normal(size=(2000, 5))
    interval = ratio_interval(values_TS, ones(values_TS), resamples=500)
    width = 2 * 1.96 / math.sqrt(values_TS.size)
    assert interval.high - interval.low == pytest.approx(width * math.sqrt(2 - 1 / 5), rel=0.2)


@pytest.mark.parametrize(
    ("above_TS", "below_TS", "message"),
    [
        (np.full((2, 2), math.nan), np.ones((2, 2)), "at least one run whose value is known"),
        (np.zeros((0, 0)), np.zeros((0, 0)), "at least one run"),
        (np.ones((2, 2)), np.ones((2, 3)), "arrays of one shape"),
        (np.ones(3), np.ones(3), "tasks by seeds"),
        (np.ones((2, 1)), np.zeros((2, 1)), "denominator that is not 0"),
    ],
)
def test_tables_without_an_answer_are_refused(above_TS: Floats, below_TS: Floats, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ratio_interval(above_TS, below_TS)
