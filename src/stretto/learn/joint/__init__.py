"""Joint training: every PyTorch component of a workflow learns from the reward at its end, by the gradient.

Importing this package imports no torch; `train_jointly` does.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.components.torch.extra import need_torch
from stretto.learn.adversity.perturbation import Perturbation
from stretto.learn.joint.options import ComponentOptions, JointOptions
from stretto.learn.joint.report import JointReport
from stretto.learn.tasks import Task
from stretto.types.arguments import as_path

if TYPE_CHECKING:
    from stretto.learn.joint.train import JointResult
    from stretto.runtime.workflow import Workflow

__all__ = ["ComponentOptions", "JointOptions", "JointReport", "train_jointly"]


def train_jointly(
    workflow: "Workflow",
    tasks: Sequence[Task],
    *,
    folder: str | Path,
    options: JointOptions | None = None,
    resume: bool = False,
    changed_code: bool = False,
    on_update: Callable[[JointReport], None] | None = None,
    perturb: Mapping[str, Perturbation] | None = None,
) -> "JointResult":
    """Train the differentiable components of a workflow together; what serves stays as it is.

    Everything is kept in `folder`. With `resume` a training goes on from there and comes to the very numbers of one
    that was never interrupted, on the same machine and build of torch, where components outside depend on their inputs
    and their run's seed only; with `reuse_pure` a pure one behind a protocol must not draw by the seed, unseen from
    here. With `changed_code` it goes on with other code than it was made with so far, where the weights fit that: the
    log tells, and so does the report of the first update with it. `updates` and `patience` may be raised. It may be
    killed at any moment. `perturb` says what is done to components in a share of the updates' runs, as for `as_module`;
    evaluations are not perturbed. An update whose gradient is no number is skipped, and told, and so is one whose
    reward is unknown in every run; a fourth in a row raises LearningError.

    Raises UsageError when the folder holds a training and `resume` is not set, holds another one or, with `resume`,
    none, when another training is at work in it, when `changed_code` has no effect, or options or tasks do not fit the
    workflow; InputError for a task that breaks the contract; MissingExtraError without torch.
    """
    need_torch("`stretto.learn.joint.train_jointly`")
    place = as_path("folder", folder)
    from stretto.learn.joint.train import train_jointly as train  # with torch, which only its users wait for

    return train(
        workflow, tasks, folder=place, options=options, resume=resume, changed_code=changed_code, on_update=on_update,
        perturb=perturb,
    )  # fmt: skip
