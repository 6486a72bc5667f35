"""A small workflow that learns jointly: two networks, one with dropout and counts of its own, a choice, a judge."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import stretto
from stretto.learn import Perturbation
from stretto.learn.joint import JointOptions, JointReport, train_jointly
from stretto.learn.joint.train import JointResult
from stretto.learn.tasks import Task

COMPONENTS = """
from typing import Annotated, TypedDict

import torch
from torch import Tensor, nn

import stretto
from stretto import OneOf, Shape


class Read(TypedDict):
    state: Annotated[Tensor, Shape(4)]


@stretto.differentiable("reader", inputs=["x"], inline=True)
class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.3))

    def forward(self, x: Annotated[Tensor, Shape(3)]) -> Read:
        return {"state": torch.tanh(self.net(x))}


@stretto.differentiable("router", inputs=["state"], chooses={"way": ("left", "right")}, seed=1, inline=True)
class Router(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(4, 2)

    def forward(self, state: Annotated[Tensor, Shape(4)]) -> Tensor:
        return self.net(state)


@stretto.differentiable("right", inputs=["way"], context=["reference"], rewards=["right"], inline=True)
def right(
    way: Annotated[Tensor, OneOf("left", "right")], reference: list[str | None]
) -> Annotated[Tensor, Shape()]:
    worth = {"left": [1.0, 0.0], "right": [0.0, 1.0], None: [torch.nan] * 2, "nan": [torch.inf, -torch.inf]}
    return (way * torch.tensor([worth[each] for each in reference])).sum(1)
"""

WORKFLOW = """
stretto: 1
name: ways
version: 0.1.0
components: components.py
contract:
  input: { x: "array[float][3,3]" }
  reward: { right: 1.0 }
steps:
  - { name: reader, component: reader, input_mapping: { x: "input.x" } }
  - { name: router, component: router, ESTIMATOR input_mapping: { state: "steps.reader.state" } }
  - { name: right, component: right, input_mapping: { way: "steps.router.way" } }
output: { way: "steps.router.way" }
"""


def workflow(folder: Path, *, estimator: str = "score", components: str = COMPONENTS) -> stretto.Workflow:
    """The workflow, with a store beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "components.py").write_text(components)
    (folder / "workflow.yaml").write_text(WORKFLOW.replace("ESTIMATOR", f"estimator: {estimator},"))
    return stretto.load(folder / "workflow.yaml", store=folder / "runs.db")


def tasks(count: int = 40, **labels: str) -> list[Task]:
    """Points, of which the first coordinate says where to go."""
    draw = random.Random(0)
    points = [[draw.gauss(0, 1) for _ in range(3)] for _ in range(count)]
    return [
        Task(name=f"t{place}", input={"x": list(x)}, reference="right" if x[0] > 0 else "left", labels=labels)
        for place, x in enumerate(points)
    ]


SMALL: dict[str, Any] = {"updates": 6, "batch_size": 8, "evaluate_every": 2, "learning_rate": 0.05}

UNEVALUATED: dict[str, Any] = {"held_out": 0, "evaluate_every": 10}
"""Beside `SMALL`: its evaluations are of none."""


def trained(
    folder: Path,
    given: list[Task] | None = None,
    *,
    place: str = "training",
    resume: bool = False,
    changed_code: bool = False,
    perturb: Mapping[str, Perturbation] | None = None,
    **options: Any,
) -> JointResult:
    """A training of it."""
    loaded = stretto.load(folder / "workflow.yaml", store=folder / "runs.db")
    chosen = JointOptions(**{**SMALL, **options})
    todo = tasks() if given is None else given
    return train_jointly(
        loaded, todo, folder=folder / place, options=chosen, resume=resume, changed_code=changed_code, perturb=perturb
    )


def held_out(reports: list[JointReport]) -> list[float]:
    """The evaluations of some reports."""
    return [report.held_out.reward_mean for report in reports if report.held_out is not None]
