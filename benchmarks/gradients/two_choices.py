"""A workflow of two choices, small enough to enumerate: a route of 3, then a tool of 4 whose policy knows the route.

Its reward is a term of the route, which the tool cannot change, and one of both. Shape letters: N items, R routes,
T tools.
"""

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

ROUTES: Final = 3
TOOLS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Logits of both policies, and what each outcome is worth."""

    route_R: Tensor
    tool_RT: Tensor
    early_R: Tensor
    late_RT: Tensor

    def exact(self) -> Tensor:
        """The gradient of the expected reward by all 15 logits, every outcome enumerated."""
        logits = torch.cat([self.route_R, self.tool_RT.flatten()]).requires_grad_()
        tool_RT = logits[ROUTES:].view(ROUTES, TOOLS).softmax(1)
        by_route_R = self.early_R + (tool_RT * self.late_RT).sum(1)
        (gradient,) = torch.autograd.grad((logits[:ROUTES].softmax(0) * by_route_R).sum(), logits)
        return gradient


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """What N items chose, and the uniform noise that estimators may use."""

    world: World
    logits: Tensor
    """[N, 15]: a leaf of its own for each item, so that each item's gradient can be read."""
    route_N: Tensor
    tool_N: Tensor
    noise: torch.Generator

    @property
    def routes_NR(self) -> Tensor:
        """Log-probabilities of the routes."""
        return self.logits[:, :ROUTES].log_softmax(1)

    @property
    def tools_NT(self) -> Tensor:
        """Log-probabilities of the tools, on the route that was chosen."""
        return self.tools_NRT[torch.arange(len(self.logits)), self.route_N]

    @property
    def tools_NRT(self) -> Tensor:
        """Log-probabilities of the tools on every route."""
        return self.logits[:, ROUTES:].view(-1, ROUTES, TOOLS).log_softmax(2)

    @property
    def early_N(self) -> Tensor:
        return self.world.early_R[self.route_N]

    @property
    def late_N(self) -> Tensor:
        return self.world.late_RT[self.route_N, self.tool_N]

    def uniform(self, *shape: int) -> Tensor:
        """Fresh draws in [0, 1)."""
        return torch.rand(*shape, generator=self.noise, dtype=torch.float64)


def world_of(seed: int) -> World:
    """Logits and rewards are standard normal."""
    source = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=source, dtype=torch.float64)

    return World(
        route_R=normal(ROUTES), tool_RT=normal(ROUTES, TOOLS), early_R=normal(ROUTES), late_RT=normal(ROUTES, TOOLS)
    )


def draw(world: World, items: int, seed: int, *, route: int | None = None) -> Draws:
    """Let that many items choose, the tool only where a route is given."""
    source = torch.Generator().manual_seed(seed)
    if route is None:
        route_N = torch.multinomial(world.route_R.softmax(0), items, replacement=True, generator=source)
    else:
        route_N = torch.full((items,), route)
    tools_NT = world.tool_RT.softmax(1)[route_N]
    tool_N = torch.multinomial(tools_NT, 1, generator=source)[:, 0]
    logits = torch.cat([world.route_R, world.tool_RT.flatten()]).expand(items, -1).clone().requires_grad_()
    return Draws(world=world, logits=logits, route_N=route_N, tool_N=tool_N, noise=source)
