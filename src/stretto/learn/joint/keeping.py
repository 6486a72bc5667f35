"""Runs that a joint training made, put into the workflow's store like any others."""

from collections.abc import Sequence

from stretto.learn.differentiable.host import LoopThread
from stretto.learn.tasks import Task
from stretto.record.model import Run
from stretto.runtime.asked import training_labels
from stretto.store.sqlite import Store
from stretto.types.enums import Durability

EVALUATION = "evaluate"
"""The label ``purpose`` of the runs of an evaluation."""


class Keeping:
    """Puts runs into a store, labelled by what they were made for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = LoopThread()

    def update(self, runs: Sequence[Run], tasks: Sequence[Task], update: int) -> None:
        """Keep the runs that an update learns from."""
        for run, task in zip(runs, tasks, strict=True):
            run.labels = {**task.labels, **training_labels(update, task.name)}
        self._thread.run(self._keep(runs))

    def evaluation(self, runs: Sequence[Run], tasks: Sequence[Task], update: int) -> None:
        """Keep the runs of the evaluation after an update."""
        for run, task in zip(runs, tasks, strict=True):
            run.labels = evaluation_labels(task, update)
        self._thread.run(self._keep(runs))

    def flush(self) -> None:
        """Return when all of them are committed."""
        self._store.flush()

    def close(self) -> None:
        """Keep no more."""
        self._thread.end()

    async def _keep(self, runs: Sequence[Run]) -> None:
        for run in runs:
            journal = await self._store.open(run, Durability.NONE)
            await journal.seal(run)


def evaluation_labels(task: Task, update: int) -> dict[str, str]:
    """The labels by which a run of the evaluation after an update is known."""
    return {**task.labels, "task": task.name, "group": f"{update}/{task.name}", "purpose": EVALUATION}
