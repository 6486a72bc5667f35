"""Adam on rows: against the textbook, and lazily."""

import math

import numpy as np
import pytest

from stretto.learn.optimizer import BETA1, BETA2, EPSILON, Adam


def slow_adam(gradients: list[float], learning_rate: float) -> float:
    """Kingma and Ba's algorithm 1 for one weight."""
    weight = mean = square = 0.0
    for t, g in enumerate(gradients, start=1):
        mean = BETA1 * mean + (1 - BETA1) * g
        square = BETA2 * square + (1 - BETA2) * g * g
        weight -= learning_rate * (mean / (1 - BETA1**t)) / (math.sqrt(square / (1 - BETA2**t)) + EPSILON)
    return weight


def test_agrees_with_the_textbook_when_every_row_is_touched() -> None:
    gradients = np.random.default_rng(0).normal(size=(20, 3, 2))
    weights_FA, adam = np.zeros((3, 2)), Adam(3, 2, 0.1)
    for grad_FA in gradients:
        adam.step(weights_FA, np.arange(3), grad_FA)
    expected = [[slow_adam(gradients[:, f, a].tolist(), 0.1) for a in range(2)] for f in range(3)]
    assert weights_FA == pytest.approx(np.array(expected), rel=1e-12)


def test_a_row_without_gradient_stays_where_it_is() -> None:
    weights_FA, adam = np.zeros((3, 1)), Adam(3, 1, 0.1)
    adam.step(weights_FA, np.array([0, 2]), np.ones((2, 1)))
    moved = weights_FA.copy()
    adam.step(weights_FA, np.array([0]), np.ones((1, 1)))
    assert moved[1] == 0.0
    assert weights_FA[2] == moved[2]
    assert weights_FA[0] < moved[0]


def test_goes_on_from_its_state_as_if_never_stopped() -> None:
    rng = np.random.default_rng(1)
    steps = [(rng.permutation(6)[:4], rng.normal(size=(4, 2))) for _ in range(8)]
    straight_FA, straight = np.zeros((6, 2)), Adam(6, 2, 0.1)
    stopped_FA, stopped = np.zeros((6, 2)), Adam(6, 2, 0.1)
    for i, (rows, grad_NA) in enumerate(steps):
        straight.step(straight_FA, rows, grad_NA)
        stopped.step(stopped_FA, rows, grad_NA)
        if i == 3:
            again = Adam(6, 2, 0.1)
            again.restore(stopped.state())
            stopped = again
    assert np.array_equal(straight_FA, stopped_FA)


def test_its_state_leaves_out_rows_that_were_never_touched() -> None:
    adam = Adam(1000, 2, 0.1)
    adam.step(np.zeros((1000, 2)), np.array([7, 900]), np.ones((2, 2)))
    assert adam.state()["adam_rows"].tolist() == [7, 900]
