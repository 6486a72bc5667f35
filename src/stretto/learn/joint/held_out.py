"""A joint training's evaluation: the held-out fold, run with the present weights in eval mode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.learn.differentiable.outcome import Outcome
from stretto.learn.joint.drawing import drawing
from stretto.learn.joint.keeping import Keeping
from stretto.learn.joint.learners import set_learning
from stretto.learn.joint.options import Evaluated, JointOptions
from stretto.learn.joint.precision import computing_in
from stretto.learn.joint.report import left_out_of
from stretto.learn.joint.requests import Fold, held_out_seed
from stretto.learn.tasks import Task
from stretto.record.model import Run
from stretto.types.errors import LearningError


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What an evaluation came to."""

    reward_mean: float
    runs: int
    unknown: int
    left_out: Mapping[str, int]


class HeldOut:
    """The held-out fold of a training."""

    def __init__(
        self, module: DifferentiableWorkflow, tasks: Sequence[Task], options: JointOptions, keeping: Keeping
    ) -> None:
        self._module = module
        self._options = options
        self._keeping = keeping
        self._judge = _likeliest(module) if options.evaluation is Evaluated.LIKELIEST else module
        self._fold = Fold(self._judge, tasks, reuse_pure=True)  # a task has one seed in all evaluations
        self._seeds = [held_out_seed(options.seed, task) for task in tasks]

    def measure(self, update: int) -> Measured:
        """Run every task of the fold and keep the runs. Raises LearningError where no reward is known."""
        if self._judge is not self._module:
            self._judge.load_state_dict(self._module.state_dict())
        self._judge.eval()
        try:
            with torch.no_grad():
                parts = [self._part(rows, update) for rows in self._parts()]
        finally:
            set_learning(self._module)
        found, runs = [each for rewards, _ in parts for each in rewards], [run for _, made in parts for run in made]
        known = [reward for reward in found if reward is not None]
        if not known:
            raise LearningError(
                f"the reward of all {len(found)} held-out runs is unknown, so nothing can be told better than another; "
                "give the held-out tasks a `reference`, or set held_out to 0"
            )
        return Measured(
            reward_mean=sum(known) / len(known),
            runs=len(found),
            unknown=len(found) - len(known),
            left_out=left_out_of(runs),
        )

    def close(self) -> None:
        """Close what the judge holds open, where it is another than the training's module."""
        if self._judge is not self._module:
            self._judge.close()

    def _parts(self) -> Sequence[range]:
        size, step = len(self._fold.tasks), self._options.batch_size
        return [range(start, min(start + step, size)) for start in range(0, size, step)]

    def _part(self, rows: range, update: int) -> tuple[list[float | None], Sequence[Run]]:
        """The rewards of some tasks, and the runs, which are kept."""
        with drawing(self._options.seed, f"{update}/held out/{rows.start}"):
            with computing_in(self._options.precision, self._judge):
                outcome = self._judge(self._fold.part(rows), seeds=[self._seeds[row] for row in rows])
            runs = outcome.runs
        self._keeping.evaluation(runs, [self._fold.tasks[row] for row in rows], update)
        return (_expected(outcome) if self._judge is self._module else [run.reward for run in runs]), runs


def _expected(outcome: Outcome) -> list[float | None]:
    told = zip(outcome.rewards.tolist(), outcome.known.tolist(), strict=True)
    return [reward if is_known else None for reward, is_known in told]


def _likeliest(module: DifferentiableWorkflow) -> DifferentiableWorkflow:
    """The same workflow, whose components take the likeliest alternative."""
    workflow = module.workflow
    for component in module.components.values():
        if component.signature.chooses:
            workflow = workflow.with_component(component.with_sampling(False))
    return DifferentiableWorkflow(workflow)
