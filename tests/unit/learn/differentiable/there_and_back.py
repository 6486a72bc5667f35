"""A workflow of which the middle is elsewhere: local, remote, local."""

from collections.abc import Callable
from typing import TypeAlias

from torch import nn

import stretto
from stretto.learn.differentiable.module import DifferentiableWorkflow

Load: TypeAlias = Callable[..., DifferentiableWorkflow]
"""Loads the workflow as a module; `home` with its middle at home."""

COMPONENTS = """
from typing import Annotated, TypedDict

import torch
from torch import Tensor, nn

from torch import nn

import stretto
from stretto import Shape


class Told(TypedDict):
    state: Annotated[Tensor, Shape(2, 3)]
    score: Annotated[Tensor, Shape()]


@stretto.differentiable("first", inputs=["x"])
class First(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(4, 6)

    def forward(self, x: Annotated[Tensor, Shape(4)]) -> Annotated[Tensor, Shape(2, 3)]:
        return torch.tanh(self.net(x)).reshape(-1, 2, 3)


@stretto.differentiable("middle", inputs=["state"], context=["factor"], seed=1, inline=True)
class Middle(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(3, 3)

    def forward(self, state: Annotated[Tensor, Shape(2, 3)], factor: list[float]) -> Told:
        hidden = torch.relu(self.net(state)) * torch.tensor(factor)[:, None, None]
        return {"state": torch.sigmoid(hidden), "score": hidden.sum((1, 2))}


@stretto.differentiable("last", inputs=["state", "score"], context=["reference"], rewards=["near"], seed=2)
class Last(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(6, 1)

    def forward(
        self, state: Annotated[Tensor, Shape(2, 3)], score: Annotated[Tensor, Shape(absent=0.0)],
        reference: list[float | None],
    ) -> Annotated[Tensor, Shape()]:
        wanted = torch.tensor([torch.nan if each is None else each for each in reference])
        return -((self.net(state.reshape(-1, 6))[:, 0] + 0.1 * score - wanted) ** 2)
"""

STEPS = """
stretto: 1
name: there-and-back
{components}
contract: {{ reward: {{ near: 1.0 }} }}
steps:
  - {{ name: first, component: first, input_mapping: {{ x: input.x }} }}
  - name: middle
    component: middle
    input_mapping: {{ state: steps.first.result, factor: input.factor }}
    {more}
  - name: last
    component: last
    input_mapping: {{ state: steps.middle.state, score: steps.middle.score }}
output: {{ score: steps.middle.score }}
"""

ROUND = """
stretto: 1
name: round-and-round
{components}
contract: {{ reward: {{ near: 1.0 }} }}
steps:
  - {{ name: first, component: first, input_mapping: {{ x: input.x }} }}
  - name: talk
    repeat:
      max_rounds: 2
      carry: {{ state: steps.first.result }}
      steps:
        - name: middle
          component: middle
          condition: "input.factor < 2.0 || round == 1"
          input_mapping: {{ state: carry.state, factor: input.factor }}
          output_mapping: {{ state: carry.state }}
          {more}
  - {{ name: last, component: last, input_mapping: {{ state: steps.talk.carry.state, score: {{ value: 0.5 }} }} }}
output: {{ state: steps.talk.carry.state }}
"""
"""The middle goes round, not in all runs."""

XS = [[0.5, -1.0, 2.0, 0.25], [1.5, 0.5, -0.75, 1.0], [-1.0, -2.0, 0.125, 3.0]]
REQUESTS = [
    stretto.RunRequest(input={"x": x, "factor": factor}, reference=wanted)
    for x, factor, wanted in zip(XS, [1.0, 0.5, 2.0], [1.0, 0.0, -1.0], strict=True)
]


def of_first(module: DifferentiableWorkflow) -> list[nn.Parameter]:
    """The parameters before what is elsewhere."""
    return [each for name, each in module.named_parameters() if name.startswith("first.")]
