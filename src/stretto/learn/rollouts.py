"""What training and evaluation need of a workflow: runs made with a given component, and read back from the store."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from stretto.engine.request import RunRequest
from stretto.learn.arguments import check_workflow
from stretto.learn.tasks import RolloutRequest, Task
from stretto.learn.usable import Recorded
from stretto.record.model import Run
from stretto.runtime.workflow import Workflow
from stretto.types.arguments import as_several, as_tuple
from stretto.types.ids import RunId
from stretto.types.protocols import Component


class Rollouts:
    """Makes and reads runs of one workflow. Memories begin empty in each, and what serving remembers stays as it is.

    Keep the workflow open meanwhile, so that its servers are started once and not for each `make`.
    """

    def __init__(self, workflow: Workflow, *, concurrency: int, on_run: Callable[[Run], None] | None = None) -> None:
        """`on_run` is told of each run as it ends."""
        check_workflow(workflow)
        self._workflow = workflow.for_rollouts()
        self._concurrency = concurrency
        self._on_run = on_run

    async def make(self, acting: Component, requests: Sequence[RolloutRequest]) -> list[RunId]:
        """Run the requests with this component in the place of its namesake; ids in the order of the requests.

        Failed runs have an id like any other. Cancelling cancels the runs and seals them.
        """
        asked = _asked(requests)
        async with self._workflow.with_component(acting) as changed:
            runs = await changed.run_many(asked, concurrency=self._concurrency, on_run=self._on_run)
        return [run.id for run in runs]

    async def ran(self, requests: Sequence[RolloutRequest]) -> list[Run]:
        """Run the requests with the components as they stand; in the order of the requests, failed runs too."""
        asked = _asked(requests)
        async with self._workflow as opened:
            return await opened.run_many(asked, concurrency=self._concurrency, on_run=self._on_run)

    async def read(self, ids: Sequence[RunId]) -> list[Recorded]:
        """Read runs back in this order, with what became known of them; UsageError for one that is not there."""
        given = as_tuple("ids", ids, "a list of runs' ids")
        return await asyncio.to_thread(lambda: [self._recorded(run_id) for run_id in given])

    def _recorded(self, run_id: RunId) -> Recorded:
        store = self._workflow.store
        return Recorded(run=store.get(run_id), annotations=tuple(store.annotations(run_id)))


def request_of(task: Task) -> RunRequest:
    """What a task asks of the workflow, but for the seed."""
    memory = None if task.memory is None else dict(task.memory)
    return RunRequest(input=dict(task.input), reference=task.reference, memory=memory, labels=task.labels)


def _asked(requests: Sequence[RolloutRequest]) -> list[RunRequest]:
    kind = "a stretto.learn.tasks.RolloutRequest"
    return [_request(each) for each in as_several("requests", requests, RolloutRequest, "a list of requests", kind)]


def _request(asked: RolloutRequest) -> RunRequest:
    return msgspec.structs.replace(request_of(asked.task), seed=asked.seed, labels=asked.labels)
