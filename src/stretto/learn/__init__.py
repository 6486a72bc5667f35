"""Learning from runs: fold recorded ones into samples and samples into a gradient; or run a workflow as a module."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from stretto.components.torch.extra import need_torch
from stretto.learn.adversity.perturbation import Perturbation
from stretto.learn.differentiable import CHECK_REMOTE

if TYPE_CHECKING:
    from stretto.learn.differentiable.module import DifferentiableWorkflow
    from stretto.runtime.workflow import Workflow

__all__ = ["Perturbation", "as_module"]


def as_module(
    workflow: "Workflow",
    *,
    train: Collection[str] | None = None,
    perturb: Mapping[str, Perturbation] | None = None,
    check_remote: int = CHECK_REMOTE,
) -> "DifferentiableWorkflow":
    """A workflow as an ``nn.Module``: `forward` runs a batch, with tensors kept between differentiable steps.

    `train` names the components that learn, all when it is absent. `perturb` says of components what is done to them in
    a share of the runs while the module is in train mode, so that others do not come to rely on their forgiveness.
    `check_remote`: of so many rows whose gradient comes from elsewhere one is held against differences of answers from
    there; 0 trusts them all. Raises UsageError, with every reason, for a workflow that only the engine can run, for a
    component that is frozen and asked to learn, and for one that cannot be perturbed so. Without torch it raises
    MissingExtraError.
    """
    need_torch("`stretto.learn.as_module`")
    from stretto.learn.differentiable.module import as_module as make  # with torch, which only its users wait for

    return make(workflow, train=train, perturb=perturb, check_remote=check_remote)
