"""What made a policy of kind ``policy`` choose as it did: exactly, since its logits are sums over features.

Shape letters: U features that the policy read, A alternatives.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from stretto.components.policy import SoftmaxPolicy
from stretto.components.policy_facts import named_about, named_features
from stretto.components.policy_features import BIAS
from stretto.learn.arguments import check_policy
from stretto.learn.explain.explained import ChoiceExplained, Logit, Part
from stretto.learn.explain.ordinary import Floats
from stretto.learn.faith import Faithfulness
from stretto.types.json import JsonObject
from stretto.types.learning import Action

ORDERS: Final = 32
"""Random ones that an order of features is held against, as for networks."""


def explain_policy(policy: SoftmaxPolicy, request: JsonObject, action: Action) -> ChoiceExplained:
    """Every feature's part of the chosen alternative's logit, over the mean of the available ones; those without one
    are left out.

    The baseline is what is left without any feature: the prior and what is always on.
    """
    check_policy(policy)
    available_A = np.array(action.available or [True] * len(action.support))
    chosen = action.support.index(action.chosen)
    found = [*_features(policy, request), *_about(policy, request)]
    logits_A = (np.array([logits_A for *_, logits_A in found]).sum(0)) / policy.options.temperature
    centred_A = logits_A - logits_A[available_A].mean()
    parts = []
    baseline = 0.0
    for name, text, each_A in found:
        scaled_A = np.asarray(each_A) / policy.options.temperature
        adds = float(scaled_A[chosen] - scaled_A[available_A].mean())
        if name and adds:
            parts.append(Part(name=name, text=text, adds=adds, slope=adds, loses=adds))
        elif not name:
            baseline += adds
    parts.sort(key=lambda part: -abs(part.adds))
    return ChoiceExplained(
        choice=action.name,
        chosen=action.chosen,
        logprob=action.logprob,
        score=float(centred_A[chosen]),
        baseline=baseline,
        residual=0.0,
        is_exact=True,
        faith=_faith(np.array([part.adds for part in parts])),
        fields=_by_field(parts),
        parts=tuple(parts),
        logits=tuple(
            Logit(alternative=action.support[at], value=float(centred_A[at])) for at in np.flatnonzero(available_A)
        ),
    )


def _features(policy: SoftmaxPolicy, request: JsonObject) -> Iterator[tuple[str, str, Floats]]:
    """Field, fact, and what it adds to each alternative's logit, [A]; no field for what is there without features."""
    dense_FK, prior = policy.weights.dense_FK, np.array(policy.spec.prior)
    names = named_features(policy.spec.features, request)
    for bucket, value in zip(*policy.features(request), strict=True):
        field, text = names[bucket]
        logits_A = value * dense_FK[bucket][: len(prior)]
        yield ("", "", logits_A + prior) if bucket == BIAS else (field, text, logits_A)


def _about(policy: SoftmaxPolicy, request: JsonObject) -> Iterator[tuple[str, str, Floats]]:
    spec = policy.spec.features
    if not spec.about_scale:
        return
    shared_F, about = policy.weights.dense_FK[:, -1], policy.about(request)
    for bucket, (field, text) in named_about(spec, request).items():
        has_A = np.array([bucket in known for known in about], dtype=np.float64)
        yield field, text, spec.about_scale * shared_F[bucket] * has_A


def _by_field(parts: list[Part]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for part in parts:
        sums[part.name] = sums.get(part.name, 0.0) + part.adds
    return dict(sorted(sums.items(), key=lambda each: -abs(each[1])))


def _faith(adds_U: Floats) -> Faithfulness:
    """As `learn.attribution.faithfulness` has it, in closed form: a sum falls and rises by its parts."""
    total = float(adds_U.sum()) or 1.0
    ranked_U = np.argsort(-adds_U * np.sign(total), kind="stable")
    source = np.random.default_rng(0)
    orders = [ranked_U, *(source.permutation(len(adds_U)) for _ in range(ORDERS))]
    insertions = np.array([_insertion(adds_U[order_U] / total) for order_U in orders])
    deletions = 1.0 - insertions
    beats = (deletions[1:] > deletions[0]) & (insertions[1:] < insertions[0])
    return Faithfulness(
        deletion=float(deletions[0]),
        insertion=float(insertions[0]),
        random=float(deletions[1:].mean()),
        beaten=float(beats.mean()),
    )


def _insertion(shares_U: Floats) -> float:
    """Mean height while parts are put in, one after the other, from none to all."""
    return float(np.concatenate([[0.0], np.cumsum(shares_U)]).mean())
