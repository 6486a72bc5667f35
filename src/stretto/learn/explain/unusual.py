"""Heads and logits of a choice, and which of them are out of the ordinary. Shape letters: N runs, A alternatives."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from torch import Tensor

from stretto.learn.attribution import Row
from stretto.learn.explain.bounds import MOST_RUNS
from stretto.learn.explain.chain import Asked, ChosenScore, inputs_of
from stretto.learn.explain.explained import Against, Head, Logit
from stretto.learn.explain.heads import Heads, gradient_norms, heads_in
from stretto.learn.explain.ordinary import ENOUGH, Floats, against_others, among_siblings
from stretto.types.learning import Action

FALSE_ALARMS: Final = 0.05
"""Share of ordinary runs, or fewer, in which a head is called out of the ordinary; and the same of logits."""

_LEAST: Final = 1e-12
"""Of the largest norm: what stands for 0, which has no logarithm."""


def heads_and_logits(
    score: ChosenScore, row: Row, action: Action, others: Sequence[Asked], *, most_runs: int = MOST_RUNS
) -> tuple[tuple[Head, ...], tuple[Logit, ...]]:
    """All heads of all modules that the choice passed through, and its logits.

    At most so many other runs are computed, each a pass forward and back, for the alternative that this one chose, so
    that the gradients are those of one function.
    """
    found = _found(score)
    norms, logits_A = _pass(score, row, found)
    elsewhere = [_elsewhere(score, action, other, found) for other in others[:most_runs]]
    alike = [(each, logits) for each, logits in elsewhere if each.keys() == norms.keys()]
    others_NA = np.array([logits for _, logits in alike]).reshape(len(alike), len(logits_A))
    return _heads(found, norms, [each for each, _ in alike]), _logits(action, score, logits_A, others_NA)


def _found(score: ChosenScore) -> list[Heads]:
    return [
        Heads(each.prefix + heads.layer, heads.count, heads.of, heads.share)
        for each in score.link.all()
        for heads in heads_in(each.component.module)
    ]


def _pass(score: ChosenScore, row: Row, found: list[Heads]) -> tuple[dict[str, list[float]], Floats]:
    """The norms, and the logits over their mean."""
    kept: list[Tensor] = []

    def one() -> Tensor:
        centred_A = score.centred(row)[0]
        kept.append(centred_A.detach())
        return centred_A[score.chosen]

    norms = gradient_norms(found, one)
    return norms, kept[0].double().cpu().numpy()


def _elsewhere(
    score: ChosenScore, action: Action, other: Asked, found: list[Heads]
) -> tuple[dict[str, list[float]], Floats]:
    elsewhere = ChosenScore(score.link, other, action)
    return _pass(elsewhere, inputs_of(score.link, [other]), found)


def _heads(
    found: list[Heads], norms: dict[str, list[float]], others: Sequence[dict[str, list[float]]]
) -> tuple[Head, ...]:
    if not norms:
        return ()
    layers = [np.array(each) for each in norms.values()]
    logs = _logs(np.concatenate(layers))
    splits = np.cumsum([len(each) for each in layers])[:-1]
    logs_N = np.array([_logs(np.concatenate([each[layer] for layer in norms])) for each in others])
    z_runs, p_runs = against_others(logs, logs_N.reshape(len(others), len(logs)))
    z_siblings, p_siblings = among_siblings(np.split(logs, splits))
    z_layer, p_layer = np.concatenate(z_siblings), np.concatenate(p_siblings)
    bound = FALSE_ALARMS / 2 / len(logs)  # two comparisons of each head (Bonferroni)
    shares = {each.layer: each.share for each in found}
    names = [(layer, head) for layer, each in norms.items() for head in range(len(each))]
    return tuple(
        Head(
            layer=layer,
            head=head,
            norm=float(norms[layer][head]),
            share=shares[layer],
            z_runs=float(z_runs[at]),
            z_layer=float(z_layer[at]),
            unusual=tuple(name for name, p in ((Against.RUNS, p_runs[at]), (Against.LAYER, p_layer[at])) if p < bound),
        )
        for at, (layer, head) in enumerate(names)
    )


def _logs(norms: Floats) -> Floats:
    """Norms are positive and skewed; their logarithms are near normal."""
    logs: Floats = np.log(np.maximum(norms, max(_LEAST * float(norms.max()), np.finfo(float).tiny)))
    return logs


def _logits(action: Action, score: ChosenScore, logits_A: Floats, others_NA: Floats) -> tuple[Logit, ...]:
    """Of the alternatives that were available."""
    at = np.flatnonzero(score.available_A.numpy() & np.isfinite(logits_A))
    z, p = against_others(logits_A[at], others_NA[:, at])
    usual = np.median(others_NA[:, at], 0) if len(others_NA) >= ENOUGH else None
    return tuple(
        Logit(
            alternative=action.support[place],
            value=float(logits_A[place]),
            usual=None if usual is None else float(usual[number]),
            z=float(z[number]),
            is_unusual=bool(p[number] < FALSE_ALARMS / len(at)),
        )
        for number, place in enumerate(at)
    )
