"""What is out of the ordinary: planted figures are found, and of ordinary ones as few are named as is said."""

import numpy as np
import pytest

from stretto.learn.explain.ordinary import ENOUGH, Floats, against_others, among_siblings

BOUND = 0.05
SLACK = 0.02
"""Three standard deviations of a share of 0.05 in 1,000."""


def normal(*shape: int, seed: int) -> Floats:
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize(("others", "figures"), [(12, 4), (16, 64), (64, 12), (199, 64)])
def test_of_ordinary_runs_at_most_one_in_twenty_has_a_figure_named(others: int, figures: int) -> None:
    named = []
    for seed in range(1_000):
        drawn = normal(others + 1, figures, seed=seed)
        _, p = against_others(drawn[0], drawn[1:])
        named.append(p.min() < BOUND / figures)
    assert np.mean(named) < BOUND + SLACK


@pytest.mark.parametrize(("layers", "heads"), [(1, 16), (2, 8), (4, 4), (6, 6)])
def test_of_ordinary_layers_at_most_one_in_twenty_has_a_head_named(layers: int, heads: int) -> None:
    named = []
    for seed in range(1_000):
        _, p = among_siblings([*normal(layers, heads, seed=seed)])
        named.append(np.concatenate(p).min() < BOUND / (layers * heads))
    assert np.mean(named) < BOUND + SLACK


def test_a_figure_far_outside_is_found_whatever_its_scale() -> None:
    others = normal(41, 5, seed=1) * [1, 10, 100, 1e-2, 1]
    z, p = against_others(np.array([0.5, 100.0, 50.0, 0.0, -0.5]), others)
    assert p.argmin() == 1
    assert p[1] < 1e-4
    assert 5 < z[1] < 20  # of ten standard deviations, by a spread of 41


def test_others_that_are_odd_themselves_on_the_other_side_hide_nothing() -> None:
    others = normal(40, 1, seed=2)
    others[:6] -= 50.0
    _, p = against_others(np.array([20.0]), others)
    assert p[0] < 1e-3


def test_a_head_far_above_its_layer_is_found() -> None:
    layers = [*(normal(2, 8, seed=3) * 0.3 + [[0.0], [5.0]])]
    layers[1][2] += np.log(50)
    z, p = among_siblings(layers)
    assert np.concatenate(p).argmin() == 8 + 2
    assert p[1][2] < BOUND / 2 / 16
    assert z[1][2] > 5


def test_with_too_few_others_nothing_is_named() -> None:
    z, p = against_others(np.array([1e6]), normal(ENOUGH - 1, 1, seed=4))
    assert (z.tolist(), p.tolist()) == ([0.0], [1.0])
    z_few, p_few = among_siblings([np.array([0.0, 0.0, 9.0])] * 8)  # a layer of three heads knows no rule
    assert not np.concatenate(z_few).any()
    assert np.concatenate(p_few).min() == 1.0
    _, p_four = among_siblings([np.array([0.0, 1.0, 2.0, 99.0])])
    assert p_four[0].min() == 1.0


def test_where_most_others_are_alike_one_of_the_rest_is_not_odd() -> None:
    others = np.array([[0.0]] * 12 + [[1.0]] * 8)
    _, p = against_others(np.array([1.0]), others)
    assert p[0] > 0.05
    _, odd = against_others(np.array([50.0]), others)
    assert odd[0] < 1e-3


def test_of_figures_with_heavy_tails_no_more_are_named_than_lie_outside_all_others() -> None:
    source = np.random.default_rng(5)
    named = []
    for _ in range(1_000):
        drawn = source.standard_cauchy((201, 3))
        _, p = against_others(drawn[0], drawn[1:])
        named.append(p.min() < BOUND / 3)
    assert np.mean(named) < 2 * 3 / 201 + SLACK


def test_rounding_is_not_odd() -> None:
    _, p = against_others(np.array([1.0 + 1e-9]), np.ones((20, 1)))
    assert p[0] > 0.9
