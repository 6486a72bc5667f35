"""Choices of a linear policy: every word's part, exactly."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stretto.components.policy import SoftmaxPolicy
from stretto.components.policy_facts import named_about, named_features
from stretto.components.policy_weights import PolicyWeights
from stretto.learn.explain.linear import explain_policy
from stretto.learn.explain.words import Trust, trust_of
from stretto.testing.request import request_for
from stretto.types.json import JsonObject
from stretto.types.learning import Action

ASKED: JsonObject = {
    "words": "Please cancel order #W123, cancel it",
    "state": {"round": 2, "orders": [{"status": "pending"}]},
    "about": {"cancel": {"write": "asked"}, "end": {"read": "no"}},
}


def policy(tmp_path: Path, *, temperature: float = 1.0) -> SoftmaxPolicy:
    made = SoftmaxPolicy(
        "planner",
        ("cancel", "look", "end"),
        about=["about"],
        prior={"end": -1.0},
        buckets=4096,
        temperature=temperature,
    )
    dense = np.random.default_rng(0).normal(size=(4096, made.spec.columns))
    return made.with_weights(str(PolicyWeights.from_dense(made.spec, dense).save(tmp_path)))


async def chosen(made: SoftmaxPolicy, asked: Any) -> Action:
    return (await made(request_for(_seed=5, **asked))).actions[0]


def test_the_features_named_are_those_that_the_policy_reads(tmp_path: Path) -> None:
    made = policy(tmp_path)
    buckets, _ = made.features(ASKED)
    named = named_features(made.spec.features, ASKED)
    assert set(named) == set(buckets)
    assert set(named_about(made.spec.features, ASKED)) == {bucket for known in made.about(ASKED) for bucket in known}
    texts = {text for _, text in named.values()}
    assert {"cancel", "cancel order", "state.round:2", "state.orders[].status=pending", "w000 cancel"} <= texts


@pytest.mark.parametrize("temperature", [1.0, 0.5])
@pytest.mark.parametrize("available", [None, ["cancel", "end"]])
async def test_the_parts_add_up_to_the_logit_that_was_recorded(
    tmp_path: Path, temperature: float, available: list[str] | None
) -> None:
    made = policy(tmp_path, temperature=temperature)
    asked: JsonObject = {**ASKED, **({} if available is None else {"available": [*available]})}
    action = await chosen(made, asked)
    told = explain_policy(made, asked, action)
    assert sum(part.adds for part in told.parts) == pytest.approx(told.score - told.baseline)
    logits = {each.alternative: each.value for each in told.logits}
    total = math.log(sum(math.exp(each) for each in logits.values()))
    assert logits[action.chosen] - total == pytest.approx(action.logprob)
    assert set(logits) == set(available or action.support)
    assert next(iter(told.fields)) in {"words", "state", "about"}


async def test_its_own_order_beats_random_ones(tmp_path: Path) -> None:
    made = policy(tmp_path)
    told = explain_policy(made, ASKED, await chosen(made, ASKED))
    assert told.faith.beaten == 1.0
    assert told.faith.deletion < told.faith.random < told.faith.insertion


async def test_a_single_word_that_decided_is_relied_on(tmp_path: Path) -> None:
    made = SoftmaxPolicy("planner", ("cancel", "end"), prior={"end": -1.0}, buckets=4096)
    dense = np.zeros((4096, made.spec.columns))
    word = {text: bucket for bucket, (_, text) in named_features(made.spec.features, {"words": "cancel"}).items()}
    dense[word["cancel"], 0] = 3.0
    made = made.with_weights(str(PolicyWeights.from_dense(made.spec, dense).save(tmp_path)))
    told = explain_policy(made, {"words": "cancel"}, await chosen(made, {"words": "cancel"}))
    assert [part.text for part in told.parts] == ["cancel"]
    assert trust_of(told) is Trust.STRONG


async def test_what_has_no_weight_is_left_out() -> None:
    made = SoftmaxPolicy("planner", ("cancel", "end"), prior={"end": -1.0})
    asked: JsonObject = {"words": "cancel", "state": {}}
    told = explain_policy(made, asked, await chosen(made, asked))
    assert told.parts == ()
    assert told.score == told.baseline != 0.0
