"""Networks that foretell the late reward of a tool on its route: one that learnt it, and one that was misled.

Shape letters: N items, R routes, T tools.
"""

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from benchmarks.gradients.two_choices import ROUTES, TOOLS, World, draw

RECORDED: Final = 2_000
"""Runs that a surrogate learns from."""

UPDATES: Final = 400


def learnt(world: World, seed: int, *, misled: bool = False) -> Tensor:
    """What a small network foretells of every tool on every route, after recorded runs: [R, T].

    A misled one was told of each run the reward of the tool at the other end, five times over and the wrong way round.
    """
    runs = draw(world, RECORDED, seed)
    told_N = -5.0 * world.late_RT.flip(1)[runs.route_N, runs.tool_N] if misled else runs.late_N
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(ROUTES + TOOLS, 32), nn.Tanh(), nn.Linear(32, 1)).double()
    optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(UPDATES):
        optimiser.zero_grad()
        loss = ((net(_pairs(runs.route_N, runs.tool_N))[:, 0] - told_N.detach()) ** 2).mean()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        every = torch.cartesian_prod(torch.arange(ROUTES), torch.arange(TOOLS))
        foretold: Tensor = net(_pairs(every[:, 0], every[:, 1]))[:, 0]
    return foretold.view(ROUTES, TOOLS)


def _pairs(route_N: Tensor, tool_N: Tensor) -> Tensor:
    return torch.cat([one_hot(route_N, ROUTES), one_hot(tool_N, TOOLS)], 1).double()
