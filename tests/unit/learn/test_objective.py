"""The objective: hand-worked values, an independent slow reference, finite differences, and invariances."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from stretto.learn.objective import (
    Choices,
    Floats,
    Objective,
    clipped_surrogate,
    entropy,
    kl_divergence,
    kl_k3,
    log_softmax,
)
from stretto.types.errors import UsageError

FULL = Objective(clip_low=0.2, clip_high=0.3, entropy=0.05, kl=0.1)


def scene(seed: int, decisions: int = 12, alternatives: int = 5) -> tuple[Floats, Choices]:
    """Random logits and choices, some alternatives missing, ratios on both sides of the clip but not on it."""
    rng = np.random.default_rng(seed)
    available_BA = rng.random((decisions, alternatives)) < 0.7
    chosen_B = rng.integers(alternatives, size=decisions)
    available_BA[np.arange(decisions), chosen_B] = True
    logits_BA = rng.normal(size=(decisions, alternatives))
    now_B = log_softmax(logits_BA, available_BA)[np.arange(decisions), chosen_B]
    choices = Choices(
        available_BA=available_BA,
        chosen_B=chosen_B,
        behaviour_B=now_B - np.log(rng.choice([0.5, 0.9, 1.0, 1.1, 1.6], size=decisions)),
        advantages_B=rng.normal(size=decisions),
        start_BA=log_softmax(rng.normal(size=(decisions, alternatives)), available_BA),
    )
    return logits_BA, choices


def slow_loss(objective: Objective, logits_BA: Floats, choices: Choices) -> float:
    """The textbook's sums, one decision and one alternative at a time."""
    total = 0.0
    for b, logits in enumerate(logits_BA):
        open_ = [a for a in range(len(logits)) if choices.available_BA[b, a]]
        scale = sum(math.exp(logits[a]) for a in open_)
        p = {a: math.exp(logits[a]) / scale for a in open_}
        chosen, advantage = int(choices.chosen_B[b]), float(choices.advantages_B[b])
        ratio = p[chosen] / math.exp(choices.behaviour_B[b])
        low = -math.inf if objective.clip_low is None else 1 - objective.clip_low
        high = math.inf if objective.clip_high is None else 1 + objective.clip_high
        total += min(ratio * advantage, min(max(ratio, low), high) * advantage)
        total -= objective.entropy * sum(p[a] * math.log(p[a]) for a in open_)
        total -= objective.kl * sum(p[a] * (math.log(p[a]) - choices.start_BA[b, a]) for a in open_)
    return -total / len(logits_BA)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "objective", [FULL, Objective(clip_low=None, clip_high=None), Objective(clip_high=None, kl=1.0)]
)
def test_the_loss_agrees_with_a_slow_reference(seed: int, objective: Objective) -> None:
    logits_BA, choices = scene(seed)
    assert objective(logits_BA, choices).loss == pytest.approx(slow_loss(objective, logits_BA, choices), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_gradient_agrees_with_finite_differences(seed: int) -> None:
    logits_BA, choices = scene(seed)
    grad_BA, step = FULL(logits_BA, choices).grad_BA, 1e-6
    for b, a in np.ndindex(*logits_BA.shape):
        moved = np.zeros_like(logits_BA)
        moved[b, a] = step
        ahead, behind = (FULL(logits_BA + sign * moved, choices).loss for sign in (1, -1))
        assert grad_BA[b, a] == pytest.approx((ahead - behind) / (2 * step), abs=1e-8)


@pytest.mark.parametrize(
    ("ratio", "advantage", "value", "slope", "clipped"),
    [
        (1.0, 2.0, 2.0, 2.0, False),
        (1.5, 2.0, 2.4, 0.0, True),  # better than expected, already likelier: no further
        (1.5, -2.0, -3.0, -3.0, False),  # worse, yet likelier: full pull back
        (0.5, 2.0, 1.0, 1.0, False),  # better, yet rarer: full pull up
        (0.5, -2.0, -1.6, 0.0, True),  # worse, already rarer: no further
        (1.5, 0.0, 0.0, 0.0, False),
    ],
)
def test_hand_worked_clipping(ratio: float, advantage: float, value: float, slope: float, *, clipped: bool) -> None:
    result = clipped_surrogate(np.log([ratio]), np.zeros(1), np.array([advantage]), 0.2, 0.2)
    assert [part[0] for part in result] == [pytest.approx(value), pytest.approx(slope), clipped]


def test_the_upper_bound_may_be_wider_than_the_lower() -> None:
    values_B, _, clipped_B = clipped_surrogate(np.log([1.25, 0.75]), np.zeros(2), np.array([1.0, -1.0]), 0.2, 0.3)
    assert values_B.tolist() == pytest.approx([1.25, -0.8])
    assert clipped_B.tolist() == [False, True]


def test_a_far_off_decision_cannot_overflow() -> None:
    values_B, slopes_B, _ = clipped_surrogate(np.array([0.0]), np.array([-900.0]), np.array([-1.0]), 0.2, 0.2)
    assert np.isfinite(values_B).all()
    assert slopes_B.tolist() == [0.0]


def test_where_the_policy_has_not_moved_the_gradient_is_that_of_reinforce() -> None:
    logits_BA, choices = scene(3)
    logprobs_BA = log_softmax(logits_BA, choices.available_BA)
    rows_B = np.arange(len(logits_BA))
    here = Choices(
        available_BA=choices.available_BA,
        chosen_B=choices.chosen_B,
        behaviour_B=logprobs_BA[rows_B, choices.chosen_B],
        advantages_B=choices.advantages_B,
        start_BA=choices.start_BA,
    )
    expected_BA = np.exp(logprobs_BA) * choices.advantages_B[:, None]
    expected_BA[rows_B, choices.chosen_B] -= choices.advantages_B
    assert Objective()(logits_BA, here).grad_BA == pytest.approx(expected_BA / len(rows_B))


def test_entropy_is_greatest_when_uniform_and_its_gradient_then_nil() -> None:
    logprobs_BA = log_softmax(np.zeros((1, 4)), np.array([[True, True, True, False]]))
    entropy_B, grad_BA = entropy(logprobs_BA)
    assert entropy_B[0] == pytest.approx(math.log(3))
    assert grad_BA == pytest.approx(0.0, abs=1e-15)


def test_kl_to_itself_is_nil_and_hand_worked_otherwise() -> None:
    everything = np.ones((1, 2), np.bool_)
    even, uneven = log_softmax(np.zeros((1, 2)), everything), log_softmax(np.log([[3.0, 1.0]]), everything)
    assert kl_divergence(even, even)[0][0] == 0.0
    assert kl_divergence(uneven, even)[0][0] == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5))


def test_the_sampled_estimate_has_the_exact_divergence_as_its_mean() -> None:
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.5, 0.3])
    assert p @ kl_k3(np.log(p), np.log(q)) == pytest.approx(p @ np.log(p / q))


@given(st.lists(st.tuples(st.floats(-30, 0), st.floats(-30, 0)), min_size=1))
def test_the_sampled_estimate_is_never_negative(pairs: list[tuple[float, float]]) -> None:
    sampled_B, other_B = np.array(pairs).T
    assert (kl_k3(sampled_B, other_B) >= 0.0).all()


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), shift=st.floats(-40, 40))
def test_adding_a_constant_to_all_logits_changes_nothing(seed: int, shift: float) -> None:
    logits_BA, choices = scene(seed)
    before, after = FULL(logits_BA, choices), FULL(logits_BA + shift, choices)
    assert after.loss == pytest.approx(before.loss, abs=1e-9)
    assert after.grad_BA == pytest.approx(before.grad_BA, abs=1e-9)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_decisions_does_not_matter(seed: int) -> None:
    logits_BA, choices = scene(seed)
    order = np.random.default_rng(seed).permutation(len(logits_BA))
    before, after = FULL(logits_BA, choices), FULL(logits_BA[order], _select(choices, order))
    assert after.loss == pytest.approx(before.loss)
    assert after.grad_BA == pytest.approx(before.grad_BA[order])


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_alternatives_does_not_matter(seed: int) -> None:
    logits_BA, choices = scene(seed)
    order = np.random.default_rng(seed).permutation(logits_BA.shape[1])
    turned = Choices(
        available_BA=choices.available_BA[:, order],
        chosen_B=np.argsort(order)[choices.chosen_B],
        behaviour_B=choices.behaviour_B,
        advantages_B=choices.advantages_B,
        start_BA=choices.start_BA[:, order],
    )
    assert FULL(logits_BA[:, order], turned).grad_BA == pytest.approx(FULL(logits_BA, choices).grad_BA[:, order])


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_an_alternative_that_is_never_available_changes_nothing(seed: int) -> None:
    logits_BA, choices = scene(seed)
    closed = np.zeros((len(logits_BA), 1), np.bool_)
    padded = Choices(
        available_BA=np.hstack([choices.available_BA, closed]),
        chosen_B=choices.chosen_B,
        behaviour_B=choices.behaviour_B,
        advantages_B=choices.advantages_B,
        start_BA=np.hstack([choices.start_BA, np.full(closed.shape, -np.inf)]),
    )
    before, after = FULL(logits_BA, choices), FULL(np.hstack([logits_BA, np.full(closed.shape, 99.0)]), padded)
    assert after.loss == pytest.approx(before.loss)
    assert after.grad_BA == pytest.approx(np.hstack([before.grad_BA, np.zeros(closed.shape)]))


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_every_decision_twice_is_the_same_mean(seed: int) -> None:
    logits_BA, choices = scene(seed)
    twice = np.tile(np.arange(len(logits_BA)), 2)
    before, after = FULL(logits_BA, choices), FULL(logits_BA[twice], _select(choices, twice))
    assert after.loss == pytest.approx(before.loss)
    assert after.grad_BA == pytest.approx(before.grad_BA[twice] / 2)


@pytest.mark.parametrize("changed", [{"chosen_B": np.zeros(3, np.int64)}, {"start_BA": np.zeros((12, 2))}])
def test_arrays_that_do_not_fit_are_refused(changed: dict[str, Any]) -> None:
    _, choices = scene(0)
    parts = {name: getattr(choices, name) for name in choices.__slots__}
    with pytest.raises(UsageError, match="choices of 12 decisions among 5 alternatives"):
        Choices(**{**parts, **changed})


def test_logits_that_do_not_fit_are_refused() -> None:
    _, choices = scene(0)
    with pytest.raises(UsageError, match=r"logits \(2, 2\) do not fit"):
        FULL(np.zeros((2, 2)), choices)


def _select(choices: Choices, order: Any) -> Choices:
    return Choices(**{name: getattr(choices, name)[order] for name in choices.__slots__})
