"""The figures of the estimators: bias of those that have none, and what a surrogate does to the variance."""

import sys
from collections.abc import Mapping
from statistics import fmean
from typing import Final

from torch import Tensor

from benchmarks.gradients.estimates import UNBIASED, relaxing, tool_trying, trying
from benchmarks.gradients.moments import Objective, bound, moments
from benchmarks.gradients.surrogates import foretold_of, judged, learnt
from benchmarks.gradients.through_workflow import moments_through_workflow
from benchmarks.gradients.two_choices import ROUTES, Draws, World, world_of
from stretto.learn.surrogates.of_choice import ChoiceSurrogate

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
            _say(number, name, z)
        for name, misled in (("as_module, relax", False), ("as_module, relax, hostile", True)):
            z = float(moments_through_workflow(world, items, number, misled=misled).z_P(exact_P).max())
            worst, tests = max(worst, z), tests + len(exact_P)
            _say(number, name, z)
    return {"max_abs_bias_z": worst, "bias_z_bound": bound(tests)}


def _say(number: int, name: str, z: float) -> None:
    print(f"  world {number}  {name:28} largest |z| {z:5.2f}", file=sys.stderr, flush=True)


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


def _ratio(world: World, surrogate: ChoiceSurrogate, seed: int, route: int) -> float:
    coefficient = judged(surrogate, world, seed + APART, route=route).coefficient.value
    foretold_RT = foretold_of(surrogate, world)
    with_one, without = (
        moments(tool_trying(foretold_RT, each), world, ITEMS, seed, route=route).variance for each in (coefficient, 0.0)
    )
    return with_one / without


def _with_surrogates(world: World, seed: int) -> Mapping[str, Objective]:
    found = {}
    for name, misled in (("good", False), ("hostile", True)):
        surrogate = learnt(world, seed, misled=misled)
        foretold_RT = foretold_of(surrogate, world)

        def relaxed(soft_NT: Tensor, draws: Draws, foretold_RT: Tensor = foretold_RT) -> Tensor:
            return (soft_NT * foretold_RT[draws.route_N]).sum(1)

        found[f"relax by relaxing, {name}"] = relaxing(relaxed, 1.0)
        found[f"relax by trying, {name}"] = trying(
            foretold_RT, judged(surrogate, world, seed + APART).coefficient.value
        )
    return found
