"""Which attention heads are out of the ordinary. Shape letters: N runs, K heads of a step."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from stretto.learn.explain.explained import Against, Head
from stretto.learn.explain.heads import Heads, Place
from stretto.learn.explain.ordinary import Floats, against_others, among_siblings

FALSE_ALARMS: Final = 0.05
"""Share of ordinary runs, or fewer, in which a head is called out of the ordinary; and the same of logits."""

_LEAST: Final = 1e-12
"""Of the largest norm: what stands for 0, which has no logarithm."""

Norms: TypeAlias = Mapping[Place, Sequence[float]]


def judged_heads(
    found: Sequence[Heads], norms: Norms, others: Sequence[Norms], *, relative: bool = False
) -> tuple[Head, ...]:
    """All heads with their norms, and what each is out of the ordinary against.

    Another run counts for the heads of a step that has as many in it. With `relative`, a factor that the norms of a
    step have in common in a run makes none of them odd.
    """
    if not norms:
        return ()
    logs = _logs(norms)
    z_runs, p_runs = _over_runs(logs, [_logs(each) for each in others], relative=relative)
    z_siblings, p_siblings = among_siblings([*logs.values()])
    z_layer, p_layer = np.concatenate(z_siblings), np.concatenate(p_siblings)
    bound = FALSE_ALARMS / 2 / len(z_layer)  # two comparisons of each head (Bonferroni)
    shares = {each.place: each.share for each in found}
    names = [(place, head) for place, each in norms.items() for head in range(len(each))]
    return tuple(
        Head(
            step=place[0],
            layer=place[1],
            head=head,
            norm=float(norms[place][head]),
            share=shares[place],
            z_runs=float(z_runs[at]),
            z_layer=float(z_layer[at]),
            unusual=tuple(name for name, p in ((Against.RUNS, p_runs[at]), (Against.LAYER, p_layer[at])) if p < bound),
        )
        for at, (place, head) in enumerate(names)
    )


def _over_runs(
    logs: Mapping[Place, Floats], others: Sequence[Mapping[Place, Floats]], *, relative: bool
) -> tuple[Floats, Floats]:
    """z-scores and probabilities, in the order of the heads."""
    told: dict[Place, tuple[Floats, Floats]] = {}
    for step in dict.fromkeys(step for step, _ in logs):
        places = [place for place in logs if place[0] == step]
        alike = [logs, *(each for each in others if _has(each, logs, places))]
        logs_NK = np.array([np.concatenate([each[place] for place in places]) for each in alike])
        logs_NK = _without_factors(logs_NK) if relative else logs_NK
        z, p = against_others(logs_NK[0], logs_NK[1:])
        ends = np.cumsum([len(logs[place]) for place in places])[:-1]
        told |= dict(zip(places, zip(np.split(z, ends), np.split(p, ends), strict=True), strict=True))
    return np.concatenate([told[place][0] for place in logs]), np.concatenate([told[place][1] for place in logs])


def _has(other: Mapping[Place, Floats], logs: Mapping[Place, Floats], places: Sequence[Place]) -> bool:
    return all(place in other and len(other[place]) == len(logs[place]) for place in places)


def _without_factors(logs_NK: Floats) -> Floats:
    """What a run's figures have in common taken off: the median of how far each lies from what is usual of it.

    Tukey 1977, "Exploratory Data Analysis", chapter 11 (median polish), of which this is a round and a half: with the
    median of the run alone, one loud head would move all others of a few.
    """
    usual_K = np.median(logs_NK - np.median(logs_NK, 1, keepdims=True), 0)
    return np.asarray(logs_NK - np.median(logs_NK - usual_K, 1, keepdims=True), np.float64)


def _logs(norms: Norms) -> dict[Place, Floats]:
    """Norms are positive and skewed; their logarithms are near normal."""
    largest = max((max(each) for each in norms.values()), default=0.0)
    least = max(_LEAST * largest, np.finfo(float).tiny)
    return {place: np.log(np.maximum(each, least)) for place, each in norms.items()}
