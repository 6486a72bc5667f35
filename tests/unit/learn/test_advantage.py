"""Group-relative advantages: hand-worked values, invariances, and a slow reference."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, strategies as st

from stretto.learn.advantage import Scale, group_advantages
from stretto.types.errors import LearningError, UsageError

rewards = st.floats(-10, 10).map(lambda x: round(x, 3))
batches = st.lists(st.tuples(st.integers(0, 4), rewards), min_size=1, max_size=24)


def advantages(pairs: list[tuple[int, float]], scale: Scale) -> np.ndarray:
    groups, values = zip(*pairs, strict=True)
    return group_advantages(np.array(values, float), np.array(groups), scale).values_R


def slow(pairs: list[tuple[int, float]], scale: Scale) -> list[float]:
    """Independent reference, one run at a time, with the standard library."""
    of_group = {g: [r for h, r in pairs if h == g] for g, _ in pairs}
    centred = [r - statistics.fmean(of_group[g]) if len(of_group[g]) > 1 else 0.0 for g, r in pairs]
    if scale is Scale.NONE:
        return centred
    if scale is Scale.BATCH:
        return [c / (statistics.pstdev(centred) + 1e-6) for c in centred]
    return [
        c / (statistics.stdev(of_group[g]) + 1e-6) if len(of_group[g]) > 1 else 0.0
        for c, (g, _) in zip(centred, pairs, strict=True)
    ]


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (Scale.STD, [-1 / math.sqrt(2), 1 / math.sqrt(2), -1.0, 0.0, 1.0, 0.0]),
        (Scale.NONE, [-0.5, 0.5, -2.0, 0.0, 2.0, 0.0]),
        (Scale.BATCH, [a / math.sqrt(8.5 / 6) for a in (-0.5, 0.5, -2.0, 0.0, 2.0, 0.0)]),
    ],
)
def test_hand_worked_groups(scale: Scale, expected: list[float]) -> None:
    pairs = [(0, 0.0), (0, 1.0), (7, 1.0), (7, 3.0), (7, 5.0), (2, 9.0)]
    assert advantages(pairs, scale) == pytest.approx(expected, abs=1e-5)


def test_singleton_and_flat_groups_are_counted_and_pull_nowhere() -> None:
    result = group_advantages(np.array([5.0, 0.1, 0.1, 0.1, 1.0, 2.0]), np.array([3, 1, 1, 1, 0, 0]))
    assert (result.groups, result.singletons, result.flat) == (3, 1, 1)
    assert result.values_R[:4].tolist() == [0.0] * 4


def test_a_run_that_weighs_less_counts_less_in_its_group_and_moves_less() -> None:
    """Mean (0.25 * -1 + 1 + 1) / 2.25 = 7/9."""
    found = group_advantages(
        np.array([-1.0, 1.0, 1.0]), np.zeros(3, int), Scale.NONE, weights_R=np.array([0.25, 1.0, 1.0])
    ).values_R
    assert found == pytest.approx([0.25 * (-1 - 7 / 9), 2 / 9, 2 / 9])


@given(batches, st.sampled_from(Scale), st.data())
def test_weighted_advantages_of_a_group_come_to_nothing(
    pairs: list[tuple[int, float]], scale: Scale, data: st.DataObject
) -> None:
    weights = np.array([data.draw(st.sampled_from([0.25, 1.0])) for _ in pairs])
    groups, values = (np.array(column) for column in zip(*pairs, strict=True))
    found = group_advantages(values.astype(float), groups, scale, weights_R=weights).values_R
    for group in set(groups.tolist()):
        assert found[groups == group].sum() == pytest.approx(0.0, abs=1e-6)


@given(batches, st.sampled_from(Scale))
def test_agrees_with_a_slow_reference(pairs: list[tuple[int, float]], scale: Scale) -> None:
    assert advantages(pairs, scale) == pytest.approx(slow(pairs, scale), abs=1e-6)


@given(batches, st.sampled_from(Scale), st.integers(-50, 50))
def test_shifting_all_rewards_changes_nothing(pairs: list[tuple[int, float]], scale: Scale, shift: int) -> None:
    shifted = [(g, r + shift) for g, r in pairs]
    assert advantages(shifted, scale) == pytest.approx(advantages(pairs, scale), abs=1e-5)


@given(batches, st.sampled_from(Scale), st.randoms())
def test_the_order_of_runs_does_not_matter(pairs: list[tuple[int, float]], scale: Scale, random: object) -> None:
    order = list(range(len(pairs)))
    random.shuffle(order)  # type: ignore[attr-defined]  # hypothesis' Random
    assert advantages([pairs[i] for i in order], scale) == pytest.approx(advantages(pairs, scale)[order], abs=1e-6)


@given(batches, st.sampled_from([Scale.STD, Scale.NONE]), batches)
def test_other_groups_do_not_bend_a_group(
    pairs: list[tuple[int, float]], scale: Scale, others: list[tuple[int, float]]
) -> None:
    padded = [*pairs, *((g + 100, r) for g, r in others)]
    assert advantages(padded, scale)[: len(pairs)] == pytest.approx(advantages(pairs, scale), abs=1e-9)


@given(batches, st.sampled_from(Scale))
def test_advantages_of_a_group_sum_to_zero(pairs: list[tuple[int, float]], scale: Scale) -> None:
    values = advantages(pairs, scale)
    groups = np.array([g for g, _ in pairs])
    assert np.bincount(groups, values) == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize(
    ("rewards_R", "groups_R", "message"),
    [
        ([1.0, math.nan], [0, 0], "leave out runs whose reward is unknown"),
        ([1.0, math.inf], [0, 0], "NaN or infinity"),
        ([1.0], [0, 0], "two vectors of one length"),
    ],
)
def test_wrong_arrays_are_refused(rewards_R: list[float], groups_R: list[int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        group_advantages(np.array(rewards_R), np.array(groups_R))


def test_rewards_whose_squares_overflow_are_refused() -> None:
    with pytest.raises(LearningError, match=r"-1e\+308; expected at most 1e\+100 either way"):
        group_advantages(np.array([1.0, -1e308]), np.array([0, 0]))


def test_no_runs_have_no_advantages() -> None:
    result = group_advantages(np.zeros(0), np.zeros(0, np.int64))
    assert (len(result.values_R), result.groups) == (0, 0)
