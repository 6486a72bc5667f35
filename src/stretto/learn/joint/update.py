"""One update of a joint training: a batch forward and back, and a step of every optimiser."""

from collections.abc import Sequence

import torch

from stretto.learn.differentiable.gradients import Gradients
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.learn.differentiable.outcome import Outcome
from stretto.learn.joint.drawing import drawing
from stretto.learn.joint.keeping import Keeping
from stretto.learn.joint.learners import Learners
from stretto.learn.joint.options import JointOptions, Kept
from stretto.learn.joint.precision import computing_in
from stretto.learn.joint.report import JointReport, left_out_of
from stretto.learn.joint.requests import Fold, rows_and_seeds
from stretto.learn.tasks import Task


class Updating:
    """Makes the updates of a training."""

    def __init__(
        self,
        module: DifferentiableWorkflow,
        tasks: Sequence[Task],
        options: JointOptions,
        learners: Learners,
        keeping: Keeping,
    ) -> None:
        self._module = module
        self._options = options
        self._learners = learners
        self._keeping = keeping
        self._fold = Fold(module, tasks, reuse_pure=options.reuse_pure)

    def make(self, update: int) -> JointReport:
        """Change the weights by the next batch; what it depends on is the weights, the optimisers and the number."""
        rows, seeds = rows_and_seeds(len(self._fold.tasks), self._options, update)
        with drawing(self._options.seed, str(update)):
            with computing_in(self._options.precision, self._module):
                outcome = self._module(self._fold.part(rows), seeds=seeds)
            gradients = _gone_back(outcome)
            runs = outcome.runs if self._options.keep is Kept.ALL else ()
        if runs:
            self._keeping.update(runs, [self._fold.tasks[row] for row in rows], update)
        told = self._learners.step(gradients)
        known_B, perturbed = outcome.known, torch.tensor(sorted(outcome.perturbed), dtype=torch.int64)
        own_B = known_B.index_fill(0, perturbed, value=False)
        return JointReport(
            update=update,
            runs=update * self._options.batch_size,
            reward_mean=outcome.rewards[own_B].mean().item() if bool(own_B.any()) else None,
            unknown=int((~known_B).sum()),
            gradients=told,
            left_out=left_out_of(runs),
            biased=tuple(gradients.biased),
            perturbed=len(outcome.perturbed),
            skipped=gradients.skipped,
        )


def _gone_back(outcome: Outcome) -> Gradients:
    """The gradients of a batch, which may have none."""
    if not bool(outcome.known.any()):
        return Gradients(None, skipped=f"the reward of all {len(outcome.known)} runs of the batch is unknown")
    if not outcome.has_gradient:
        return Gradients(None, skipped="no reward of the batch depends on anything that learns")
    return outcome.backward()
