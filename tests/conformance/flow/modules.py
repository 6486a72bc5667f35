"""Differentiable components of the data cases."""

from typing import Annotated, TypedDict

import torch
from torch import Tensor, nn

import stretto
from stretto import OneOf, Shape


class Told(TypedDict):
    state: Annotated[Tensor, Shape(2)]
    score: Annotated[Tensor, Shape()]


@stretto.differentiable("read", inputs=["x"])
class Read(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(2, 2)

    def forward(self, x: Annotated[Tensor, Shape(2)]) -> Told:
        state: Tensor = torch.tanh(self.net(x))
        return {"state": state, "score": state.sum(-1)}


@stretto.differentiable("step", inputs=["state"])
class Step(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(2, 2)

    def forward(self, state: Annotated[Tensor, Shape(2)]) -> Told:
        state = state + torch.tanh(self.net(state))
        return {"state": state, "score": state.sum(-1)}


@stretto.differentiable("choose", inputs=["state"], chooses={"way": ("left", "right")})
class Choose(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(2, 2)

    def forward(self, state: Annotated[Tensor, Shape(2)]) -> Tensor:
        logits: Tensor = self.net(state)
        return logits


@stretto.differentiable("mix", inputs=["way", "score"], context=["note"])
def mix(
    way: Annotated[Tensor, OneOf("left", "right")], score: Annotated[Tensor, Shape(absent=0.5)], note: list[str | None]
) -> Annotated[Tensor, Shape()]:
    return way @ torch.tensor([1.0, -1.0]) * score + torch.tensor([float(len(each or "")) for each in note])


@stretto.differentiable("gain", inputs=["value"], context=["reference"], rewards=["gain"])
def gain(value: Annotated[Tensor, Shape()], reference: list[float | None]) -> Annotated[Tensor, Shape()]:
    return value * torch.tensor([torch.nan if each is None else each for each in reference])


@stretto.differentiable("pool", inputs=["states"])
def pool(states: Annotated[Tensor, Shape(3, 2)]) -> Annotated[Tensor, Shape(2)]:
    return states.mean(1)
