"""A workflow of modules that follow one another, of which one may be counted, or return something else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn

from stretto.components.torch.component import TorchComponent
from stretto.learn import as_module
from stretto.learn.differentiable.module import DifferentiableWorkflow
from tests.unit.learn.differentiable.made import loaded

STEPS = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: two, component: second, input_mapping: {state: steps.one.state}}
  - {name: choose, component: chooser, input_mapping: {state: steps.two.state}}
  - {name: worth, component: worth, input_mapping: {score: steps.two.score}}
"""
HEAD = "contract: {reward: {worth: 1.0}}"


class Counting(nn.Module):
    """Counts its calls, and returns something else."""

    def __init__(self, inner: nn.Module, after: Callable[[Any], Any]) -> None:
        super().__init__()
        self.inner, self.after, self.calls = inner, after, 0

    def forward(self, **fields: Any) -> Any:
        self.calls += 1
        return self.after(self.inner(**fields))


def counting(folder: Path, name: str, after: Callable[[Any], Any] = lambda told: told) -> DifferentiableWorkflow:
    workflow = loaded(folder, STEPS, head=HEAD, output="{score: steps.two.score}")
    component = workflow.component(name)
    assert isinstance(component, TorchComponent)
    return as_module(workflow.with_component(component.with_module(Counting(component.module, after))))
