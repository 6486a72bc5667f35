"""The mean of every estimator, held against a gradient in which every outcome is enumerated."""

import pytest
from torch import Tensor

from benchmarks.gradients.estimates import BIASED, UNBIASED, fitted, relaxing, tool_trying, trying
from benchmarks.gradients.moments import Objective, bound, moments
from benchmarks.gradients.surrogates import foretold_of, judged, learnt
from benchmarks.gradients.through_workflow import moments_through_workflow
from benchmarks.gradients.two_choices import Draws, world_of

ITEMS = 40_000

WORLD = world_of(3)


def foretells(soft_NT: Tensor, draws: Draws) -> Tensor:
    """What the reward is at every corner."""
    return (soft_NT * draws.world.late_RT[draws.route_N]).sum(1)


def deceives(soft_NT: Tensor, draws: Draws) -> Tensor:
    """Loud, and of another mind than the reward."""
    return 10 * soft_NT[:, 0] ** 2 - 5 * foretells(soft_NT, draws)


FORETOLD, DECEITFUL = WORLD.late_RT, -5 * WORLD.late_RT.flip(1)

SURROGATES: dict[str, Objective] = {
    "relaxed, good": relaxing(foretells, 1.0),
    "relaxed, hostile": relaxing(deceives, 1.0),
    "tried, good": trying(FORETOLD, 1.0),
    "tried, hostile": trying(DECEITFUL, 1.0),
}


@pytest.mark.parametrize("objective", [*UNBIASED.values(), *SURROGATES.values()], ids=[*UNBIASED, *SURROGATES])
def test_the_mean_is_the_exact_gradient(objective: Objective) -> None:
    exact_P = WORLD.exact()
    found = moments(objective, WORLD, ITEMS, seed=1)
    assert float(found.z_P(exact_P).max()) < bound(len(exact_P) * (len(UNBIASED) + len(SURROGATES)))


@pytest.mark.parametrize("objective", BIASED.values(), ids=BIASED)
def test_a_biased_one_is_found_out(objective: Objective) -> None:
    exact_P = WORLD.exact()
    assert float(moments(objective, WORLD, ITEMS, seed=1).z_P(exact_P).max()) > bound(len(exact_P) * len(BIASED))


@pytest.mark.parametrize("misled", [False, True])
def test_relax_through_a_workflow_is_unbiased_whatever_its_surrogates_say(misled: bool) -> None:
    exact_P = WORLD.exact()
    found = moments_through_workflow(WORLD, ITEMS, seed=1, misled=misled)
    assert float(found.z_P(exact_P).max()) < 5.5  # Student's t of 9 degrees: 15 right means reach it in 1 of 180 runs


@pytest.mark.parametrize(("misled", "most"), [(False, 0.1), (True, 1.05)])
def test_the_products_surrogate_takes_the_noise_or_costs_none(misled: bool, most: float) -> None:
    surrogate = judged(learnt(WORLD, 3, misled=misled), WORLD, seed=7, route=0)
    foretold_RT = foretold_of(surrogate, WORLD)
    with_one, plain = (
        moments(tool_trying(foretold_RT, each), WORLD, ITEMS, seed=1, route=0).variance
        for each in (surrogate.coefficient.value, 0.0)
    )
    assert with_one < most * plain


def test_a_surrogate_costs_variance_only_until_its_coefficient_is_fitted() -> None:
    plain = moments(UNBIASED["score"], WORLD, ITEMS, seed=1).variance
    hostile = moments(trying(DECEITFUL, 1.0), WORLD, ITEMS, seed=1).variance
    held = moments(fitted(lambda each: trying(DECEITFUL, each), WORLD, seed=7), WORLD, ITEMS, seed=1).variance
    assert hostile > 5 * plain
    assert held < 1.05 * plain


def test_rao_blackwell_has_less_variance_than_gumbel_and_the_same_mean() -> None:
    gumbel, averaged = (moments(BIASED[each], WORLD, ITEMS, seed=1) for each in ("gumbel", "rao-blackwell"))
    assert averaged.variance < 0.8 * gumbel.variance
    error_P = ((gumbel.variance_P + averaged.variance_P) / averaged.pairs).sqrt()
    assert float(((gumbel.mean_P - averaged.mean_P).abs() / error_P).max()) < bound(len(error_P))


def test_baselines_that_are_no_descendants_lower_the_variance() -> None:
    plain, less = (moments(UNBIASED[each], WORLD, ITEMS, seed=1).variance for each in ("score", "score, baselines"))
    assert less < plain
