"""Mean and variance of an estimator's gradient, held against the exact one.

Shape letters: N items, P logits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, TypeAlias

import torch
from torch import Tensor

from benchmarks.gradients.two_choices import Draws, World, draw

Objective: TypeAlias = Callable[[Draws], Tensor]
"""[N], to be ascended."""

CHUNK: Final = 100_000
"""Items drawn at once, which keeps memory below 200 MB."""

FAMILY_ALPHA: Final = 0.01
"""Chance that any of a family's z-tests fails though all means are right."""

_ROUNDING: Final = 1e-12
"""Of float64 sums: what does not vary by more is exact, and is held to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Of one estimator's gradient, by pairs of items: those of a pair may be each other's baseline."""

    mean_P: Tensor
    variance_P: Tensor
    pairs: int

    @property
    def variance(self) -> float:
        """Summed over the logits."""
        return float(self.variance_P.sum())

    def z_P(self, exact_P: Tensor) -> Tensor:
        """Standard errors between the mean and the exact gradient; infinite where one that does not vary is wrong."""
        error_P = (self.variance_P / self.pairs).sqrt()
        off_P = (self.mean_P - exact_P).abs()
        fixed_P = torch.where(off_P > _ROUNDING, torch.inf, 0.0)
        return torch.where(error_P > _ROUNDING, off_P / error_P, fixed_P)


def moments(objective: Objective, world: World, items: int, seed: int, *, route: int | None = None) -> Moments:
    """Estimate each item's gradient, on one route where it is given, and sum up."""
    total_P, squares_P, pairs = torch.zeros(()), torch.zeros(()), 0
    for number, start in enumerate(range(0, items, CHUNK)):
        draws = draw(world, min(CHUNK, items - start), seed * 1_000 + number, route=route)
        pair_P = gradients(objective, draws).view(-1, 2, draws.logits.shape[1]).mean(1)
        total_P, squares_P, pairs = total_P + pair_P.sum(0), squares_P + (pair_P**2).sum(0), pairs + len(pair_P)
    mean_P = total_P / pairs
    return Moments(mean_P=mean_P, variance_P=(squares_P / pairs - mean_P**2).clamp_min(0.0), pairs=pairs)


def gradients(objective: Objective, draws: Draws) -> Tensor:
    """Each item's own estimate: [N, P]."""
    (gradient_NP,) = torch.autograd.grad(objective(draws).sum(), draws.logits)
    return gradient_NP


def bound(tests: int) -> float:
    """The largest |z| that right means reach with probability 1 - FAMILY_ALPHA: Bonferroni, two-sided."""
    return NormalDist().inv_cdf(1.0 - FAMILY_ALPHA / (2 * tests))


def worst_z(found: Sequence[Moments], exact_P: Tensor) -> float:
    """The largest |z| of all logits of all estimators."""
    return max(float(each.z_P(exact_P).max()) for each in found)
