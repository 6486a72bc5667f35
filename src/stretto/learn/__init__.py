"""Learning from runs: fold recorded ones into samples and samples into a gradient; or run a workflow as a module."""

from typing import TYPE_CHECKING

from stretto.components.torch.extra import need_torch

if TYPE_CHECKING:
    from stretto.learn.differentiable.module import DifferentiableWorkflow
    from stretto.runtime.workflow import Workflow

__all__ = ["as_module"]


def as_module(workflow: "Workflow") -> "DifferentiableWorkflow":
    """A workflow as an ``nn.Module``: `forward` runs a batch, with tensors kept between differentiable steps.

    Raises UsageError, with every reason, for a workflow that only the engine can run; MissingExtraError without torch.
    """
    need_torch("`stretto.learn.as_module`")
    from stretto.learn.differentiable.module import as_module as make  # with torch, which only its users wait for

    return make(workflow)
