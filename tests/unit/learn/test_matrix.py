"""What decisions saw and what weights make of it: a slow reference, finite differences, and invariances."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from stretto.components.policy import SoftmaxPolicy
from stretto.learn.matrix import Seen, seen
from stretto.learn.objective import Choices, Floats, Objective, log_softmax
from stretto.types.json import Json, JsonObject

TOOLS = ("look", "buy", "sell", "end")
FACTS: tuple[Json, ...] = ({"read": "asked"}, {"write": "asked"}, {"write": "guessed", "tries": 2}, {}, None)
OBJECTIVE = Objective(clip_low=0.2, clip_high=0.3, entropy=0.05, kl=0.1)


def policy_of(alternatives: tuple[str, ...] = TOOLS, **options: Any) -> SoftmaxPolicy:
    return SoftmaxPolicy("planner", alternatives, **{"about": "about", "buckets": 97, **options})


def inputs_of(rng: np.random.Generator, decisions: int = 9) -> list[JsonObject]:
    """Requests that tell something of most of the alternatives."""
    return [
        {
            "words": " ".join(rng.choice(["cancel", "it", "please", "now"], size=3)),
            "state": {"round": int(rng.integers(3))},
            "about": {tool: FACTS[rng.integers(len(FACTS))] for tool in TOOLS if rng.random() < 0.8},
        }
        for _ in range(decisions)
    ]


def weights_of(rng: np.random.Generator, policy: SoftmaxPolicy) -> Floats:
    return rng.normal(size=(policy.spec.features.buckets, policy.spec.columns))


def slow_score(policy: SoftmaxPolicy, weights_FK: Floats, data: JsonObject, alternative: int) -> float:
    """One feature and one fact at a time."""
    total = 0.0
    for bucket, value in zip(*policy.features(data), strict=True):
        total += value * weights_FK[bucket, alternative]
    for bucket in policy.about(data)[alternative]:
        total += float(policy.spec.features.about_scale or 0.0) * weights_FK[bucket, -1]
    return total


@pytest.mark.parametrize("options", [{}, {"about_scale": 0.5}, {"state": (), "text": ()}, {"about": ("about", "more")}])
def test_scores_agree_with_a_slow_reference(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    policy = policy_of(**options)
    inputs = inputs_of(rng)
    weights_FK = weights_of(rng, policy)
    expected = [[slow_score(policy, weights_FK, data, a) for a in range(len(TOOLS))] for data in inputs]
    assert seen(policy, inputs).scores(weights_FK) == pytest.approx(np.array(expected))


def scene(seed: int) -> tuple[Seen, Floats, Choices]:
    """Random requests, weights of what occurs in them, and choices, some alternatives missing."""
    rng = np.random.default_rng(seed)
    policy = policy_of()
    inputs = inputs_of(rng)
    shape = (len(inputs), len(TOOLS))
    available_BA = rng.random(shape) < 0.7
    chosen_B = rng.integers(shape[1], size=shape[0])
    available_BA[np.arange(shape[0]), chosen_B] = True
    columns_C, saw = seen(policy, inputs).compact()
    weights_CK = weights_of(rng, policy)[columns_C]
    now_B = log_softmax(saw.scores(weights_CK), available_BA)[np.arange(shape[0]), chosen_B]
    choices = Choices(
        available_BA=available_BA,
        chosen_B=chosen_B,
        behaviour_B=now_B - np.log(rng.choice([0.5, 0.9, 1.0, 1.1, 1.6], size=shape[0])),
        advantages_B=rng.normal(size=shape[0]),
        start_BA=log_softmax(rng.normal(size=shape), available_BA),
    )
    return saw, weights_CK, choices


def gradient(saw: Seen, weights_CK: Floats, choices: Choices) -> Floats:
    return saw.gradient(OBJECTIVE(saw.scores(weights_CK), choices).grad_BA)


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_of_every_weight_agrees_with_finite_differences(seed: int) -> None:
    saw, weights_CK, choices = scene(seed)
    grad_CK, step = gradient(saw, weights_CK, choices), 1e-6
    assert np.abs(grad_CK[:, -1]).max() > 1e-3
    for c, k in np.ndindex(*weights_CK.shape):
        moved = np.zeros_like(weights_CK)
        moved[c, k] = step
        ahead, behind = (OBJECTIVE(saw.scores(weights_CK + sign * moved), choices).loss for sign in (1, -1))
        assert grad_CK[c, k] == pytest.approx((ahead - behind) / (2 * step), abs=1e-7)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_the_gradient_is_the_adjoint_of_the_scores(seed: int) -> None:
    saw, weights_CK, _ = scene(seed)
    grad_BA = np.random.default_rng(seed).normal(size=(9, 4))
    forth, back = np.sum(saw.scores(weights_CK) * grad_BA), np.sum(weights_CK * saw.gradient(grad_BA))
    assert math.isclose(forth, back, rel_tol=1e-9, abs_tol=1e-9)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_the_features_that_occur_are_all_that_matters(seed: int) -> None:
    rng = np.random.default_rng(seed)
    policy = policy_of()
    whole = seen(policy, inputs_of(rng))
    weights_FK, grad_BA = weights_of(rng, policy), rng.normal(size=(9, 4))
    columns_C, saw = whole.compact()
    assert saw.scores(weights_FK[columns_C]) == pytest.approx(whole.scores(weights_FK))
    grad_FK = whole.gradient(grad_BA)
    assert saw.gradient(grad_BA) == pytest.approx(grad_FK[columns_C])
    assert set(np.flatnonzero(grad_FK.any(axis=1))) <= set(columns_C)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_decisions_does_not_matter(seed: int) -> None:
    saw, weights_CK, choices = scene(seed)
    order = np.random.default_rng(seed).permutation(9)
    turned = Choices(**{name: getattr(choices, name)[order] for name in choices.__slots__})
    assert saw.part(order).scores(weights_CK) == pytest.approx(saw.scores(weights_CK)[order])
    assert gradient(saw.part(order), weights_CK, turned) == pytest.approx(gradient(saw, weights_CK, choices))


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_parts_add_up_to_the_whole(seed: int) -> None:
    saw, _, _ = scene(seed)
    grad_BA = np.random.default_rng(seed).normal(size=(9, 4))
    halves = (np.arange(4), np.arange(4, 9))
    total = sum(saw.part(half).gradient(grad_BA[half]) for half in halves)
    assert total == pytest.approx(saw.gradient(grad_BA))


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_alternatives_does_not_matter_to_what_they_share(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(4)
    inputs, grad_BA = inputs_of(rng), rng.normal(size=(9, 4))
    one, other = policy_of(), policy_of(tuple(TOOLS[i] for i in order))
    weights_FK = weights_of(rng, one)
    turned_FK = weights_FK[:, [*order, 4]]
    assert seen(other, inputs).scores(turned_FK) == pytest.approx(seen(one, inputs).scores(weights_FK)[:, order])
    grad_FK = seen(one, inputs).gradient(grad_BA)
    assert seen(other, inputs).gradient(grad_BA[:, order]) == pytest.approx(grad_FK[:, [*order, 4]])


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), worth=st.floats(-30, 30))
def test_a_fact_true_of_all_alternatives_changes_nothing_and_is_not_learnt(seed: int, worth: float) -> None:
    rng = np.random.default_rng(seed)
    policy = policy_of(text=(), state=(), buckets=4096)
    inputs: list[JsonObject] = [{"about": {tool: {"always": True} for tool in TOOLS}} for _ in range(5)]
    saw = seen(policy, inputs)
    weights_FK = np.zeros((4096, 5))
    (bucket,) = policy.about(inputs[0])[0]
    weights_FK[bucket, -1] = worth
    available_BA = np.ones((5, 4), np.bool_)
    choices = Choices(
        available_BA=available_BA, chosen_B=rng.integers(4, size=5), behaviour_B=np.full(5, -math.log(4)),
        advantages_B=rng.normal(size=5), start_BA=log_softmax(np.zeros((5, 4)), available_BA),
    )  # fmt: skip
    assert log_softmax(saw.scores(weights_FK), available_BA) == pytest.approx(-math.log(4))
    assert gradient(saw, weights_FK, choices)[:, -1] == pytest.approx(0.0, abs=1e-12)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_what_is_told_of_an_alternative_that_is_never_available_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    policy = policy_of()
    inputs = inputs_of(rng)
    told: list[JsonObject] = [{**data, "about": {**_about(data), "end": {"write": "asked"}}} for data in inputs]
    available_BA = np.array([[True, True, True, False]] * len(inputs))
    weights_FK = weights_of(rng, policy)
    choices = Choices(
        available_BA=available_BA, chosen_B=rng.integers(3, size=9), behaviour_B=np.full(9, -1.0),
        advantages_B=rng.normal(size=9), start_BA=log_softmax(np.zeros((9, 4)), available_BA),
    )  # fmt: skip
    before, after = (gradient(seen(policy, each), weights_FK, choices) for each in (inputs, told))
    assert after == pytest.approx(before)


def _about(data: JsonObject) -> JsonObject:
    about = data["about"]
    assert isinstance(about, dict)
    return about


def test_a_policy_that_reads_no_facts_has_a_column_for_each_alternative_only() -> None:
    policy = SoftmaxPolicy("planner", TOOLS, buckets=97)
    saw = seen(policy, [{"words": "hello", "state": 1}])
    assert saw.about_DF is None
    assert saw.gradient(np.ones((1, 4))).shape == (97, 4) == saw.gradient(saw.scores(np.ones((97, 4)))).shape
    assert seen(policy, []).features_BF.shape == (0, 97)
