"""A route, then a tool whose logits know it, and what they are worth. `benchmarks/gradients` sets the numbers."""

from typing import Annotated

import torch
from torch import Tensor, nn

import stretto
from stretto import OneOf, Shape

ROUTES = ("r0", "r1", "r2")
TOOLS = ("t0", "t1", "t2", "t3")

Route = Annotated[Tensor, OneOf(*ROUTES)]
Tool = Annotated[Tensor, OneOf(*TOOLS)]
Number = Annotated[Tensor, Shape(dtype="float64")]


@stretto.differentiable("route", context=["item"], chooses={"route": ROUTES})
class RouteChooser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.logits_R = nn.Parameter(torch.zeros(len(ROUTES), dtype=torch.float64))

    def forward(self, item: list[int]) -> Tensor:
        return self.logits_R.expand(len(item), -1)


@stretto.differentiable("tool", context=["route"], chooses={"tool": TOOLS})
class ToolChooser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.logits_RT = nn.Parameter(torch.zeros(len(ROUTES), len(TOOLS), dtype=torch.float64))

    def forward(self, route: Route) -> Tensor:
        return route.double() @ self.logits_RT


@stretto.differentiable("early", context=["route"], rewards=["early"])
class Early(nn.Module):
    worth_R: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("worth_R", torch.zeros(len(ROUTES), dtype=torch.float64))

    def forward(self, route: Route) -> Number:
        worth: Tensor = route.double() @ self.worth_R
        return worth


@stretto.differentiable("late", context=["route", "tool"], rewards=["late"])
class Late(nn.Module):
    worth_RT: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("worth_RT", torch.zeros(len(ROUTES), len(TOOLS), dtype=torch.float64))

    def forward(self, route: Route, tool: Tool) -> Number:
        return ((route.double() @ self.worth_RT) * tool.double()).sum(1)
