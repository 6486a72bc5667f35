"""Imitation: against scikit-learn, by its gradient, and as weights of the same component."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from stretto.components.policy import SoftmaxPolicy
from stretto.learn.imitate import Example, imitate
from stretto.learn.matrix import seen
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject

POLICY = SoftmaxPolicy("planner", ("track", "cancel", "refund"), text_scale=1.0, state=())
WORDS = ["where is it", "stop the order", "money back", "where is my parcel", "stop it now", "give my money back"]
EXAMPLES = [Example(input={"words": words}, chosen=POLICY.options.alternatives[i % 3]) for i, words in enumerate(WORDS)]


def test_a_policy_learns_to_choose_as_shown(tmp_path: Path) -> None:
    weights, report = imitate(POLICY, EXAMPLES)
    assert (report.examples, report.accuracy) == (6, 1.0)
    assert report.loss < 0.2
    supervised = POLICY.with_weights(str(weights.save(tmp_path)))
    assert supervised.weights_digest == weights.digest != POLICY.weights_digest


def test_agrees_with_scikit_learn() -> None:
    weights, _ = imitate(POLICY, EXAMPLES, ridge=0.05)
    columns_C, saw = seen(POLICY, [example.input for example in EXAMPLES]).compact()
    chosen = [POLICY.options.alternatives.index(e.chosen) for e in EXAMPLES]
    peer = LogisticRegression(C=1 / (0.05 * len(EXAMPLES)), fit_intercept=False, tol=1e-10, max_iter=10_000)
    peer.fit(saw.features_BF.toarray(), chosen)
    assert weights.dense_FK[columns_C] == pytest.approx(peer.coef_.T, abs=1e-3)


def test_the_prior_and_temperature_of_the_policy_are_those_it_will_act_with() -> None:
    policy = SoftmaxPolicy("planner", ("a", "b"), state=(), prior={"b": 5.0}, temperature=2.0)
    weights, report = imitate(
        policy, [Example(input={"words": ""}, chosen=c) for c in ("a", "a", "a", "b")], ridge=1e-9
    )
    logits_A = weights.dense_FK[0] + np.array([0.0, 5.0])
    assert (logits_A[0] - logits_A[1]) / 2.0 == pytest.approx(np.log(3), abs=1e-3)
    assert report.accuracy == 0.75


def test_what_was_not_available_is_not_learnt_against() -> None:
    inputs: list[JsonObject] = [
        {"words": "hi", "available": ["track", "cancel"]},
        {"words": "hi", "available": ["refund"]},
    ]
    weights, _ = imitate(POLICY, [Example(input=inputs[0], chosen="track"), Example(input=inputs[1], chosen="refund")])
    assert weights.values_NK[:, 2] == pytest.approx(0.0)
    assert (weights.values_NK[:, 0] > 0.0).all()


def test_what_is_known_of_alternatives_is_learnt_for_all_of_them(tmp_path: Path) -> None:
    policy = SoftmaxPolicy("planner", ("track", "cancel", "refund"), text=(), state=(), about="about")
    shown = [Example(input={"about": {name: {"asked": True}}}, chosen=name) for name in ("track", "cancel")]
    weights, report = imitate(policy, shown)
    assert report.accuracy == 1.0
    supervised = policy.with_weights(str(weights.save(tmp_path)))
    never_shown = seen(supervised, [{"about": {"refund": {"asked": True}}}]).scores(supervised.weights.dense_FK)
    assert never_shown.argmax() == 2


def test_imitating_twice_gives_the_same_weights() -> None:
    assert imitate(POLICY, EXAMPLES)[0].digest == imitate(POLICY, EXAMPLES)[0].digest


@pytest.mark.parametrize(
    ("examples", "ridge", "message"),
    [
        ([], 1e-3, "at least one example"),
        (EXAMPLES, 0.0, "ridge is 0.0; expected a number above 0"),
        ([Example(input={}, chosen="dance")], 1e-3, "example 0 chooses 'dance', which is not available there"),
        (
            [*EXAMPLES, Example(input={"available": ["track"]}, chosen="cancel")],
            1e-3,
            r"example 6 chooses 'cancel', which is not available there; it allows \['track'\]",
        ),
    ],
)
def test_what_cannot_be_imitated_is_refused(examples: list[Example], ridge: float, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        imitate(POLICY, examples, ridge=ridge)
