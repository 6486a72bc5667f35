"""The runs that a joint training asks for: tasks checked once, and which of them an update takes."""

from collections.abc import Sequence
from hashlib import blake2b

from stretto.learn.differentiable.data import Batch
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.learn.joint.options import JointOptions
from stretto.learn.rollouts import request_of
from stretto.learn.tasks import Task, dealt, hold_to_contract, places_of, run_seed


class Fold:
    """Tasks of which batches are parts."""

    def __init__(self, module: DifferentiableWorkflow, tasks: Sequence[Task], *, reuse_pure: bool) -> None:
        """`reuse_pure`: what pure steps outside answered stands in later passes. Raises InputError for the first task
        whose input the workflow would refuse."""
        hold_to_contract(tasks, module.plan)
        self.tasks = tasks
        self.whole = module.batch([request_of(task) for task in tasks], keep_pure=reuse_pure)

    def part(self, rows: Sequence[int]) -> Batch:
        """Some of them."""
        return self.whole.part(rows)


def rows_and_seeds(tasks: int, options: JointOptions, update: int) -> tuple[list[int], list[int]]:
    """The next tasks of a shuffled deck, and a seed for the run of each, by the options' seed and the update only."""
    places = places_of(update, options.batch_size)
    return dealt(options.seed, places, tasks), [run_seed(options.seed, place, 0) for place in places]


def held_out_seed(seed: int, task: Task) -> int:
    """Of a task's run in every evaluation: two of them differ by the weights alone."""
    key = f"{seed}/held out/{task.name}".encode()
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "little") >> 1
