"""The product's surrogate of a tool on its route: one that learnt of recorded runs, and one that was misled.

Shape letters: N items, R routes, T tools.
"""

import copy
from typing import Final

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from benchmarks.gradients.two_choices import ROUTES, TOOLS, Draws, World, draw
from stretto.learn.surrogates.control import MOST_ROWS
from stretto.learn.surrogates.of_choice import ChoiceSurrogate
from stretto.learn.surrogates.rows import ChoiceRows

RECORDED: Final = 2_000
"""Runs that a surrogate learns from."""


def learnt(world: World, seed: int, *, misled: bool = False) -> ChoiceSurrogate:
    """A surrogate after recorded runs.

    A misled one was told of each run the reward of the tool at the other end, five times over and the wrong way round,
    and learns no more: what is left to it is its coefficient.
    """
    runs = draw(world, RECORDED, seed)
    told_N = -5.0 * world.late_RT.flip(1)[runs.route_N, runs.tool_N] if misled else runs.late_N
    surrogate = ChoiceSurrogate(
        "tool", {"route": ROUTES, "tool_log_probabilities": TOOLS}, [f"t{n}" for n in range(TOOLS)]
    )
    surrogate.learn_recorded(rows_of(runs, told_N))
    surrogate.is_frozen = misled
    return surrogate


def judged(surrogate: ChoiceSurrogate, world: World, seed: int, *, route: int | None = None) -> ChoiceSurrogate:
    """The same with a coefficient fitted on a batch of other draws, as many as it is ever fitted on."""
    judged_by = draw(world, MOST_ROWS, seed, route=route)
    found = copy.deepcopy(surrogate)
    found.judge(rows_of(judged_by, judged_by.late_N))
    return found


def foretold_of(surrogate: ChoiceSurrogate, world: World) -> Tensor:
    """What it foretells of every tool on every route: [R, T]."""
    every_R = torch.arange(ROUTES)
    return surrogate.foretold(_features(every_R, world.tool_RT.log_softmax(1)))


def rows_of(runs: Draws, told_N: Tensor) -> ChoiceRows:
    """Draws as a surrogate is told of them, with the score's plain form: no baseline."""
    log_p_NT = runs.tools_NT.detach()
    return ChoiceRows(
        features_NF=_features(runs.route_N, log_p_NT),
        log_p_NA=log_p_NT,
        chosen_N=runs.tool_N,
        reward_N=told_N,
        baseline_N=torch.zeros_like(told_N),
        weight_N=torch.ones_like(told_N),
        known_N=torch.ones_like(told_N),
    )


def _features(route_N: Tensor, log_p_NT: Tensor) -> Tensor:
    return torch.cat([one_hot(route_N, ROUTES).double(), log_p_NT], 1)
