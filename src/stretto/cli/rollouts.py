"""What training needs of a workflow: runs made with given weights, and read back from the store."""

import asyncio
from collections.abc import Callable, Sequence

from stretto.components.policy import SoftmaxPolicy
from stretto.engine.engine import RunRequest
from stretto.learn.samples import Recorded
from stretto.learn.tasks import RolloutRequest
from stretto.record.model import Run
from stretto.runtime.workflow import Workflow
from stretto.types.ids import RunId


class Rollouts:
    """Makes and reads the runs of a training. The workflow stays open meanwhile, so servers are started once."""

    def __init__(self, workflow: Workflow, *, concurrency: int, on_run: Callable[[Run], None] | None = None) -> None:
        self._workflow = workflow
        self._concurrency = concurrency
        self._on_run = on_run

    async def make(self, policy: SoftmaxPolicy, requests: Sequence[RolloutRequest]) -> list[RunId]:
        """Run the requests with this policy in the place of its namesake; ids in the order of the requests."""
        acting = self._workflow.with_component(policy)
        async with acting:
            runs = await acting.run_many(map(_request, requests), concurrency=self._concurrency, on_run=self._on_run)
        return [run.id for run in runs]

    async def read(self, ids: Sequence[RunId]) -> list[Recorded]:
        """Read runs back, with what became known of them."""
        return await asyncio.to_thread(lambda: [self._recorded(run_id) for run_id in ids])

    def _recorded(self, run_id: RunId) -> Recorded:
        store = self._workflow.store
        return Recorded(run=store.get(run_id), annotations=tuple(store.annotations(run_id)))


def _request(asked: RolloutRequest) -> RunRequest:
    task = asked.task
    return RunRequest(input=dict(task.input), reference=task.reference, seed=asked.seed, labels=asked.labels)
