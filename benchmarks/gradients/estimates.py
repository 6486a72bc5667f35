"""Every estimator on a workflow of two choices.

Shape letters: N items, K inner draws, R routes, T tools.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import torch
from torch import Tensor

from benchmarks.gradients.moments import Objective, gradients
from benchmarks.gradients.two_choices import ROUTES, TOOLS, Draws, World, draw
from stretto.learn.estimators import (
    best_coefficient,
    chosen_logprob,
    control_by_relaxing,
    control_by_trying,
    expected,
    gumbel_noise,
    gumbel_softmax,
    leave_one_out,
    rao_blackwell,
    relaxed,
    score,
    straight_through,
)

TEMPERATURE: Final = 0.5
"""Of what is relaxed: in the middle of what the papers use, 0.1 to 1."""

FIT: Final = 20_000
"""Items that a coefficient is fitted on."""

INNER: Final = 8
"""Draws that Rao-Blackwell averages over; its paper shows 10 to be most of the gain."""


def plain(draws: Draws) -> Tensor:
    """Each choice's score, with what lies downstream of it."""
    return score(_route(draws), draws.early_N + draws.late_N) + score(_tool(draws), draws.late_N)


def with_baselines(draws: Draws) -> Tensor:
    """A constant for the route; for the tool a figure of the route, which is no descendant of it."""
    constant_N = torch.full_like(draws.late_N, 0.3)
    by_route_N = draws.world.late_RT.mean(1)[draws.route_N]
    of_route_N = score(_route(draws), draws.early_N + draws.late_N, constant_N)
    return of_route_N + score(_tool(draws), draws.late_N, by_route_N)


def left_one_out(draws: Draws) -> Tensor:
    """Items in pairs, each the other's baseline for the route."""
    reward_N = draws.early_N + draws.late_N
    baseline_N = leave_one_out(reward_N.view(-1, 2)).flatten()
    return score(_route(draws), reward_N, baseline_N) + score(_tool(draws), draws.late_N)


def tools_enumerated(draws: Draws) -> Tensor:
    """Score for the route; every tool tried on it."""
    late_N = expected(draws.tools_NT.exp(), draws.world.late_RT[draws.route_N])
    return score(_route(draws), draws.early_N + late_N) + late_N


def all_enumerated(draws: Draws) -> Tensor:
    """Every tool tried on every route."""
    late_RT = draws.world.late_RT.expand(len(draws.logits), ROUTES, TOOLS)
    late_NR = expected(draws.tools_NRT.exp().flatten(0, 1), late_RT.flatten(0, 1)).view(-1, ROUTES)
    return expected(draws.routes_NR.exp(), draws.world.early_R + late_NR)


def relaxing(surrogate: Callable[[Tensor, Draws], Tensor], coefficient: float) -> Objective:
    """Scores, and for the tool a control that relaxes it. The surrogate foretells of a relaxed tool, on its route."""

    def objective(draws: Draws) -> Tensor:
        uniform_NT, again_NT = draws.uniform(2, len(draws.logits), TOOLS)
        choice = relaxed(draws.tools_NT, uniform_NT, again_NT, TEMPERATURE)
        late_N = draws.world.late_RT[draws.route_N, choice.chosen_B]
        control_N = control_by_relaxing(choice, lambda soft_NT: surrogate(soft_NT, draws))
        return (
            score(_route(draws), draws.early_N + late_N)
            + score(chosen_logprob(draws.tools_NT, choice.chosen_B), late_N)
            - coefficient * control_N
        )

    return objective


def trying(foretold_RT: Tensor, coefficient: float) -> Objective:
    """Scores, and for the tool a control that asks a surrogate of every tool."""
    tool = tool_trying(foretold_RT, coefficient)

    def objective(draws: Draws) -> Tensor:
        return score(_route(draws), draws.early_N + draws.late_N) + tool(draws)

    return objective


def tool_trying(foretold_RT: Tensor, coefficient: float) -> Objective:
    """The tool's part of `trying`: with coefficient 0 its plain score."""

    def objective(draws: Draws) -> Tensor:
        control_N = control_by_trying(draws.tools_NT, draws.tool_N, foretold_RT[draws.route_N])
        return score(_tool(draws), draws.late_N) - coefficient * control_N

    return objective


def through_straight(draws: Draws) -> Tensor:
    """The tool as one-hot, in a reward that is not linear in it."""
    return score(_route(draws), draws.early_N) + _bent(draws, straight_through(draws.tools_NT.exp(), draws.tool_N))


def through_gumbel(draws: Draws) -> Tensor:
    """The same through noise that chooses as the item did."""
    noise_NT = gumbel_noise(draws.uniform(len(draws.logits), TOOLS))
    return score(_route(draws), draws.early_N) + _bent(draws, gumbel_softmax(draws.tools_NT, noise_NT, TEMPERATURE))


def through_rao_blackwell(draws: Draws) -> Tensor:
    """The same, averaged over noise that chooses the same."""
    uniform_KNT = draws.uniform(INNER, len(draws.logits), TOOLS)
    tool_NT = rao_blackwell(draws.tools_NT, draws.tool_N, uniform_KNT, TEMPERATURE)
    return score(_route(draws), draws.early_N) + _bent(draws, tool_NT)


def _bent(draws: Draws, tool_NT: Tensor) -> Tensor:
    """The late reward as a cubic of the tool: the same at every corner, another slope between."""
    return (draws.world.late_RT[draws.route_N] * tool_NT**3).sum(1)


def _route(draws: Draws) -> Tensor:
    return chosen_logprob(draws.routes_NR, draws.route_N)


def _tool(draws: Draws) -> Tensor:
    return chosen_logprob(draws.tools_NT, draws.tool_N)


UNBIASED: Final[Mapping[str, Objective]] = MappingProxyType(
    {
        "score": plain,
        "score, baselines": with_baselines,
        "score, leave one out": left_one_out,
        "enumerate one": tools_enumerated,
        "enumerate": all_enumerated,
    }
)

BIASED: Final[Mapping[str, Objective]] = MappingProxyType(
    {"straight-through": through_straight, "gumbel": through_gumbel, "rao-blackwell": through_rao_blackwell}
)
"""Whose bias a test that has any power finds."""


def fitted(control_of: Callable[[float], Objective], world: World, seed: int, *, route: int | None = None) -> Objective:
    """With the coefficient that has the least variance, found on other draws than any it is used for."""
    without_NP, with_NP = (gradients(control_of(each), draw(world, FIT, seed, route=route)) for each in (0.0, 1.0))
    return control_of(best_coefficient(without_NP, without_NP - with_NP))
