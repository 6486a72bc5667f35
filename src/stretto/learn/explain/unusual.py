"""Heads and logits of a choice, and which of them are out of the ordinary. Shape letters: N runs, A alternatives."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from torch import Tensor

from stretto.learn.attribution import Row
from stretto.learn.explain.bounds import MOST_RUNS
from stretto.learn.explain.chain import Asked, Link, inputs_of
from stretto.learn.explain.explained import Head, Logit
from stretto.learn.explain.heads import HeadNorms, Heads, gradient_norms, heads_in
from stretto.learn.explain.ordinary import ENOUGH, Floats, against_others
from stretto.learn.explain.ordinary_heads import FALSE_ALARMS, judged_heads
from stretto.learn.explain.scores import ChosenScore
from stretto.types.learning import Action


def heads_and_logits(
    score: ChosenScore, row: Row, action: Action, others: Sequence[Asked], *, most_runs: int = MOST_RUNS
) -> tuple[tuple[Head, ...], tuple[Logit, ...]]:
    """All heads of all modules that the choice passed through, and its logits.

    At most so many other runs are computed, each a pass forward and back, for the alternative that this one chose, so
    that the gradients are those of one function.
    """
    found = heads_of(score.link.all())
    norms, logits_A = _pass(score, row, found)
    elsewhere = [_elsewhere(score, action, other, found) for other in others[:most_runs]]
    others_NA = np.array([logits for _, logits in elsewhere]).reshape(len(elsewhere), len(logits_A))
    heads = judged_heads(found, norms.by_place, [each.by_place for each, _ in elsewhere])
    return heads, _logits(action, score, logits_A, others_NA)


def heads_of(links: Iterable[Link]) -> list[Heads]:
    """All heads of the modules of some links."""
    return [replace(heads, step=each.path) for each in links for heads in heads_in(each.component.module)]


def _pass(score: ChosenScore, row: Row, found: list[Heads]) -> tuple[HeadNorms, Floats]:
    """The norms, and the logits over their mean."""
    kept: list[Tensor] = []

    def one() -> Tensor:
        centred_A = score.centred(row)[0]
        kept.append(centred_A.detach())
        return centred_A[score.chosen]

    norms = gradient_norms(found, one)
    return norms, kept[0].double().cpu().numpy()


def _elsewhere(score: ChosenScore, action: Action, other: Asked, found: list[Heads]) -> tuple[HeadNorms, Floats]:
    elsewhere = ChosenScore(score.link, other, action)
    return _pass(elsewhere, inputs_of(score.link, [other]), found)


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
