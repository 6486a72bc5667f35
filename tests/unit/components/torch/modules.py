"""Differentiable components of the tests."""

from typing import Annotated, TypedDict

import torch
from torch import Tensor, nn

import stretto
from stretto import OneOf, Shape

DECISIONS = ("approve", "refer", "decline")


class Read(TypedDict):
    state: Annotated[Tensor, Shape(3)]
    late: Annotated[Tensor, Shape()]


@stretto.differentiable("repayment", "1.0.0", inputs=["months"], context=["tenant"])
class Repayment(nn.Module):
    """Reads two months of four figures."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(8, 3)

    def forward(self, months: Annotated[Tensor, Shape(2, 4)], tenant: list[str]) -> Read:
        state: Tensor = self.net(months.flatten(1)) + torch.tensor([[float(len(name))] for name in tenant])
        return {"state": state, "late": state.sum(1)}


@stretto.differentiable("router", inputs=["state"], chooses={"decision": DECISIONS})
class Router(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(3, 3)

    def forward(self, state: Annotated[Tensor, Shape(3)]) -> Tensor:
        logits: Tensor = self.net(state) / 10
        return logits


@stretto.differentiable(inputs=["decision", "late"], context=["reference"], rewards=["utility"], inline=True)
def judge(
    decision: Annotated[Tensor, OneOf(*DECISIONS)],
    late: Annotated[Tensor, Shape(absent=0.0)],
    reference: list[float],
) -> Annotated[Tensor, Shape()]:
    return decision @ torch.tensor([1.0, 0.25, 0.0]) * torch.tensor(reference) + 0 * late


scale = stretto.differentiable("scale", inputs={"input": Shape(2)}, outputs=Shape(1))(nn.Linear(2, 1))
