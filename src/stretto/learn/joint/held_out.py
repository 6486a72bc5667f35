"""A joint training's evaluation: the held-out fold, run with the present weights in eval mode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import torch

from stretto.engine.request import RunRequest
from stretto.learn.differentiable.host import Host
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.learn.joint.drawing import drawing
from stretto.learn.joint.keeping import Keeping, evaluation_labels
from stretto.learn.joint.learners import set_learning
from stretto.learn.joint.options import Evaluated, JointOptions
from stretto.learn.joint.precision import computing_in
from stretto.learn.joint.report import left_out_of
from stretto.learn.joint.requests import Fold, held_out_seed
from stretto.learn.rollouts import request_of
from stretto.learn.tasks import Task
from stretto.record.model import Run
from stretto.types.errors import LearningError

Rewarded = tuple[Run, float | None]
"""A run, and what it counts; None where that is unknown."""


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
        self._tasks = tasks
        self._options = options
        self._keeping = keeping
        self._fold = Fold(module, tasks, reuse_pure=True)  # a task has one seed in all evaluations
        self._seeds = [held_out_seed(options.seed, task) for task in tasks]

    def measure(self, update: int) -> Measured:
        """Run every task of the fold and keep the runs. Raises LearningError where no reward is known."""
        found = self._likeliest(update) if self._options.evaluation is Evaluated.LIKELIEST else self._drawn(update)
        known = [reward for _, reward in found if reward is not None]
        if not known:
            raise LearningError(
                f"the reward of all {len(found)} held-out runs is unknown, so nothing can be told better than another; "
                "give the held-out tasks a `reference`, or set held_out to 0"
            )
        return Measured(
            reward_mean=sum(known) / len(known),
            runs=len(found),
            unknown=len(found) - len(known),
            left_out=left_out_of(run for run, _ in found),
        )

    def _drawn(self, update: int) -> list[Rewarded]:
        """A batch at a time, with tensors: what is enumerated counts as it is expected."""
        size, step = len(self._tasks), self._options.batch_size
        self._module.eval()
        try:
            with torch.no_grad():
                parts = [self._part(range(start, min(start + step, size)), update) for start in range(0, size, step)]
        finally:
            set_learning(self._module)
        return [each for part in parts for each in part]

    def _part(self, rows: range, update: int) -> list[Rewarded]:
        with drawing(self._options.seed, f"{update}/held out/{rows.start}"):
            with computing_in(self._options.precision, self._module):
                outcome = self._module(self._fold.part(rows), seeds=[self._seeds[row] for row in rows])
            runs = outcome.runs
        self._keeping.evaluation(runs, [self._tasks[row] for row in rows], update)
        told = zip(runs, outcome.rewards.tolist(), outcome.known.tolist(), strict=True)
        return [(run, reward if is_known else None) for run, reward, is_known in told]

    def _likeliest(self, update: int) -> list[Rewarded]:
        """By the engine, as they would be served: it keeps the runs itself."""
        served = self._module.trained()
        for component in self._module.components.values():
            if component.signature.chooses:
                chooser = served.component(component.options.name)
                served = served.with_component(chooser.with_sampling(False))  # type: ignore[attr-defined]  # torch's
        rollouts = served.for_rollouts()
        host = Host(rollouts)
        try:
            runs = host.run(rollouts.run_many(self._requests(update), concurrency=self._options.batch_size))
        finally:
            host.close()
        return [(run, run.reward) for run in runs]

    def _requests(self, update: int) -> list[RunRequest]:
        return [
            msgspec.structs.replace(request_of(task), seed=seed, labels=evaluation_labels(task, update))
            for task, seed in zip(self._tasks, self._seeds, strict=True)
        ]
