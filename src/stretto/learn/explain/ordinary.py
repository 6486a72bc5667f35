"""What is out of the ordinary, by a robust rule that is held for all figures looked at together.

Shape letters: N other runs, K figures, L layers, H heads of a layer.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

Floats = npt.NDArray[np.float64]

ENOUGH: Final = 12
"""Others of which a spread can be told; with fewer nothing is called out of the ordinary."""

LEAST_HEADS: Final = 4
"""Of a layer: among fewer, the median of the others is one of them, or the mean of two."""

_SIGMA: Final = 1.4826
"""Of a normal distribution, the standard deviation for each median absolute deviation (MAD)."""

_MEAN_SIGMA: Final = 1.2533
"""The same for each mean absolute deviation, which stands in where more than half are alike and the MAD is 0; Iglewicz
and Hoaglin 1993, "How to detect and handle outliers", section 3.3."""

_EFFICIENCY: Final = 0.37
"""Of the MAD: it knows a spread as well from N values as the standard deviation does from 0.37 N; Rousseeuw and Croux
1993, "Alternatives to the median absolute deviation", section 1."""

_MEDIAN_VARIANCE: Final = np.pi / 2
"""Of a median of N normal values, in units of the variance over N."""

_FLOOR: Final = 1e-6
"""Least spread, for each unit of the median: what differs less is rounding."""


def against_others(figures_K: Floats, others_NK: Floats) -> tuple[Floats, Floats]:
    """How many robust standard deviations each figure lies from its median in other runs, and how likely that is, [K].

    The z-score of median and MAD (Iglewicz and Hoaglin 1993), its probability that of Student's distribution with the
    degrees of freedom that the MAD leaves, two-sided: one run in 20 or fewer has a figure below 0.05 / K where all are
    normal. Tails of real figures are heavier, so that what some other run lies beyond has a probability of 1: however
    they are spread, 2K of N + 1 runs or fewer have a figure outside those of all others. Probabilities are 1 with fewer
    than `ENOUGH` others, too.
    """
    count = len(others_NK)
    if count < ENOUGH:
        return np.zeros_like(figures_K), np.ones_like(figures_K)
    median_K = np.median(others_NK, 0)
    z_K = (figures_K - median_K) / _spread(others_NK - median_K, median_K)
    p_K = _two_sided(z_K / np.sqrt(1 + _MEDIAN_VARIANCE / count), _EFFICIENCY * (count - 1))
    is_within_K = (figures_K >= others_NK.min(0)) & (figures_K <= others_NK.max(0))
    return z_K, np.where(is_within_K, 1.0, p_K)


def among_siblings(layers: list[Floats]) -> tuple[list[Floats], list[Floats]]:
    """The same for each head of each layer, [H], against the median of the layer's other heads.

    The spread is that of all layers together: a layer has too few heads to know its own. A layer of fewer than
    `LEAST_HEADS`, and fewer than `ENOUGH` heads in all, have probabilities of 1.
    """
    judged = [layer_H for layer_H in layers if len(layer_H) >= LEAST_HEADS]
    deviations = [_from_the_rest(layer_H) for layer_H in judged]
    count = sum(map(len, judged))
    z, p = [np.zeros_like(layer_H) for layer_H in layers], [np.ones_like(layer_H) for layer_H in layers]
    if count < ENOUGH:
        return z, p
    spread = float(_spread(np.concatenate(deviations)[:, None], np.zeros(1))[0])
    for at, layer_H in enumerate(layers):
        if len(layer_H) >= LEAST_HEADS:
            z[at] = deviations.pop(0) / spread
            p[at] = _two_sided(z[at], _EFFICIENCY * (count - len(judged)))
    return z, p


def _from_the_rest(layer_H: Floats) -> Floats:
    return np.array([value - np.median(np.delete(layer_H, at)) for at, value in enumerate(layer_H)])


def _spread(deviations_NK: Floats, median_K: Floats) -> Floats:
    absolute_NK = np.abs(deviations_NK)
    mad_K = _SIGMA * np.median(absolute_NK, 0)
    floor_K = _FLOOR * (1 + np.abs(median_K))
    mean_K: Floats = _MEAN_SIGMA * absolute_NK.mean(0, dtype=np.float64)
    return np.asarray(np.maximum(np.where(mad_K > floor_K, mad_K, mean_K), floor_K), np.float64)


def _two_sided(t_K: Floats, freedom: float) -> Floats:
    return np.asarray(2 * stdtr(freedom, -np.abs(t_K)), np.float64)
