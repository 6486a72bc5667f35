"""What each element of an input adds to a score, by gradients."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from stretto.learn.attribution.rows import ROWS, Row, Score, flat, hold_pair, scores, unflat
from stretto.types.errors import UsageError

POINTS: Final = 64
"""Of the path, at first: enough for most networks by Gauss-Legendre; the paper's Riemann sum wants 20 to 300."""

MOST_POINTS: Final = 2_048
"""Where a network is steep at the baseline, as layer norm is at zeros, or has corners, as ReLU."""

ENOUGH: Final = 0.005
"""Residual at which no more points are asked: half of what parts may lack that are read as they stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """What each element adds to the score, over the baseline's."""

    values: dict[str, Tensor]
    """Shaped as the inputs: one row each."""
    score: float
    """Of the row."""
    baseline: float
    """Of the baseline."""

    @property
    def residual(self) -> float:
        """What the parts do not add up to, as part of all that they add and take off, or of the difference that they
        explain where that is more; 0 where nothing is there. Parts may cancel each other to almost nothing."""
        explained = self.score - self.baseline
        parts_F = flat(self.values)
        missing = abs(float(parts_F.sum()) - explained)
        scale = max(abs(explained), float(parts_F.abs().sum()))
        return missing / scale if scale else 0.0


def integrated_gradients(
    score: Score, row: Row, baseline: Row, *, points: int = POINTS, most_points: int = MOST_POINTS
) -> Attribution:
    """The gradient along the straight path from the baseline to the row, times the way gone.

    Sundararajan, Taly and Yan 2017, "Axiomatic attribution for deep networks", arXiv:1703.01365, eq. 1, its integral
    by Gauss-Legendre quadrature. Complete: the parts add up to score less baseline, up to `residual`; while that is
    above `ENOUGH`, the points are doubled. Raises UsageError for a baseline that does not fit, integer inputs, or no
    points.
    """
    hold_pair("integrated_gradients", row, baseline)
    if points < 1:
        raise UsageError(f"integrated_gradients was given points={points}; expected 1 or more, as {POINTS}")
    while True:
        found = _integrated(score, row, baseline, points)
        points *= 2
        if found.residual <= ENOUGH or points > most_points:
            return found


def _integrated(score: Score, row: Row, baseline: Row, points: int) -> Attribution:
    nodes, weights = np.polynomial.legendre.leggauss(points)
    start_F, way_F = flat(baseline), flat(row) - flat(baseline)
    at_S, weight_S = (torch.tensor(each / 2.0, dtype=way_F.dtype) for each in (nodes + 1.0, weights))
    slope_F = torch.zeros_like(way_F)
    for at, weight in zip(torch.split(at_S, ROWS), torch.split(weight_S, ROWS), strict=True):
        slope_F = slope_F + weight @ _slopes(score, start_F + at[:, None] * way_F, row)
    return _attribution(score, row, baseline, slope_F * way_F)


def gradient_times_input(score: Score, row: Row, baseline: Row) -> Attribution:
    """The gradient at the row, times its way from the baseline: one call, complete only where the score is linear.

    Shrikumar, Greenside and Kundaje 2017, arXiv:1704.02685, section 2.2.
    """
    hold_pair("gradient_times_input", row, baseline)
    slope_F = _slopes(score, flat(row)[None], row)[0]
    return _attribution(score, row, baseline, slope_F * (flat(row) - flat(baseline)))


def _slopes(score: Score, elements_SF: Tensor, like: Row) -> Tensor:
    """The score's gradient at each of S rows of elements: [S, F]; 0 by what it does not read."""
    with torch.enable_grad():
        leaf_SF = elements_SF.detach().requires_grad_()
        (slope_SF,) = torch.autograd.grad(score(unflat(leaf_SF, like)).sum(), leaf_SF, materialize_grads=True)
    return slope_SF


def _attribution(score: Score, row: Row, baseline: Row, parts_F: Tensor) -> Attribution:
    ends = scores(score, torch.stack([flat(row), flat(baseline)]), row).tolist()
    return Attribution(values=unflat(parts_F[None].detach(), row), score=ends[0], baseline=ends[1])
