"""The figures of the estimators: bias of those that have none, and what a surrogate does to the variance."""

import sys
from collections.abc import Mapping
from functools import partial
from statistics import fmean
from typing import Final

from torch import Tensor

from benchmarks.gradients.estimates import UNBIASED, fitted, relaxing, tool_trying, trying
from benchmarks.gradients.moments import Objective, bound, moments
from benchmarks.gradients.surrogates import learnt
from benchmarks.gradients.two_choices import ROUTES, Draws, World, world_of

WORLDS: Final = 5

ITEMS: Final = 100_000
"""For a ratio of variances to within 2 %."""

APART: Final = 500
"""Between the seeds of draws that fit a coefficient and those that it is used for."""


def bias_figures(items: int) -> dict[str, float]:
    """The largest |z| of every logit of every unbiased estimator in five worlds, and what it is held to."""
    worst, tests = 0.0, 0
    for number in range(WORLDS):
        world = world_of(number)
        exact_P = world.exact()
        for name, objective in {**UNBIASED, **_with_surrogates(world, number)}.items():
            z = float(moments(objective, world, items, seed=number).z_P(exact_P).max())
            worst, tests = max(worst, z), tests + len(exact_P)
            print(f"  world {number}  {name:28} largest |z| {z:5.2f}", file=sys.stderr, flush=True)
    return {"max_abs_bias_z": worst, "bias_z_bound": bound(tests)}


def variance_figures() -> dict[str, float]:
    """A tool's gradient on each route of five worlds: its variance as part of the plain score function's."""
    worlds = [world_of(number) for number in range(WORLDS)]
    return {
        f"relax_variance_{name}": fmean(
            _ratio(world, learnt(world, number, misled=misled), number, route)
            for number, world in enumerate(worlds)
            for route in range(ROUTES)
        )
        for name, misled in (("good", False), ("hostile", True))
    }


def _ratio(world: World, foretold_RT: Tensor, seed: int, route: int) -> float:
    held = fitted(partial(tool_trying, foretold_RT), world, seed + APART, route=route)
    plain = tool_trying(foretold_RT, 0.0)
    with_one, without = (moments(each, world, ITEMS, seed, route=route).variance for each in (held, plain))
    return with_one / without


def _with_surrogates(world: World, seed: int) -> Mapping[str, Objective]:
    found = {}
    for name, misled in (("good", False), ("hostile", True)):
        foretold_RT = learnt(world, seed, misled=misled)

        def relaxed(soft_NT: Tensor, draws: Draws, foretold_RT: Tensor = foretold_RT) -> Tensor:
            return (soft_NT * foretold_RT[draws.route_N]).sum(1)

        found[f"relax by relaxing, {name}"] = relaxing(relaxed, 1.0)
        found[f"relax by trying, {name}"] = fitted(partial(trying, foretold_RT), world, seed + APART)
    return found
