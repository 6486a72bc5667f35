"""A planner and executors measured beside each other: the same tasks, the same seeds, one thing changed at a time."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from stretto.learn.adversity.in_place import Answer, InPlace, answered_by, blurred, exchanged, recited
from stretto.learn.adversity.perturbation import bits
from stretto.learn.adversity.vagueness import MESSAGES, Sides
from stretto.learn.arguments import check_workflow
from stretto.learn.rollouts import Rollouts
from stretto.learn.tasks import RolloutRequest, Task, as_tasks
from stretto.learn.usable import Recorded
from stretto.plan.places import places_of, step_of
from stretto.record.model import Run
from stretto.runtime.workflow import Workflow
from stretto.types.errors import UsageError
from stretto.types.protocols import Component, Opens, OpensPerRun

NOISE: Final = "noise"
"""Name of the side whose planner's numbers are blurred."""

PURPOSE: Final = "vagueness"
"""The label ``purpose`` of such runs."""


def requests_for(tasks: Sequence[Task], *, runs: int = 1, seed: int = 0) -> list[RolloutRequest]:
    """So many runs of each task, each under a seed of its own."""
    given = as_tasks(tasks)
    return [
        RolloutRequest(
            task=task,
            seed=bits(seed, task.name, str(again)) >> 1,  # 63 bits, so that it is a JSON integer
            labels={**task.labels, "task": task.name, "purpose": PURPOSE},
        )
        for again in range(runs)
        for task in given
    ]


class Measuring:
    """Makes the runs of all sides. They are kept in the workflow's store: give it one of its own."""

    def __init__(
        self,
        workflow: Workflow,
        *,
        planner: str,
        executor: str,
        concurrency: int = 8,
        on_run: Callable[[Run], None] | None = None,
    ) -> None:
        """`planner` and `executor` are steps, by their paths without indices. Raises UsageError for what is none."""
        check_workflow(workflow)
        self._workflow = workflow
        self._planner, self._executor = planner, executor
        self._concurrency = concurrency
        self._on_run = on_run
        self.executor = _component(workflow, executor)
        """What the executor's step calls."""
        _component(workflow, planner)
        if planner == executor:
            raise UsageError(f"'{planner}' is named as planner and as executor; name two steps")

    async def sides(
        self, requests: Sequence[RolloutRequest], strict: Mapping[str, Component], noise: float = 0.0
    ) -> Sides:
        """Run all requests on each side. `noise` blurs what the planner says, as one more strict executor.

        Raises UsageError where the steps answer too little to be exchanged, or there is nothing to blur.
        """
        for name, each in strict.items():
            if name in (NOISE, MESSAGES):
                raise UsageError(f"'{name}' names a side of every measurement; give the executor another name")
            if each.card.digest == self.executor.card.digest:
                raise UsageError(
                    f"'{name}' is the executor itself ({each.card.digest[:8]}); give another version of it"
                )
        own = await self._runs(self._workflow, requests)
        messages, answers = exchanged(own, self._planner), exchanged(own, self._executor)
        told: dict[str, tuple[str, Answer]] = {
            name: (self._executor, answered_by(each, each.card.digest)) for name, each in strict.items()
        }
        if noise:
            told[NOISE] = self._planner, blurred(messages, noise)
        async with _opened(strict.values()):
            others = {name: await self._with(step, answer, requests) for name, (step, answer) in told.items()}
            for name, runs in others.items():
                _hold_to_success(name, runs)
            if noise:
                self._hold_to_effect(own, others[NOISE])
            return Sides(
                own=_recorded(own),
                answers=_recorded(await self._with(self._executor, recited(answers), requests)),
                messages=_recorded(await self._with(self._planner, recited(messages), requests)),
                strict={name: _recorded(runs) for name, runs in others.items()},
            )

    async def _with(self, step: str, answer: Answer, requests: Sequence[RolloutRequest]) -> list[Run]:
        return await self._runs(self._workflow.wrapped(InPlace(step, answer).wrap), requests)

    def _hold_to_effect(self, own: Sequence[Run], noisy: Sequence[Run]) -> None:
        """Raise UsageError where noise reached no executor: what it blurred is not read."""
        if all(self._asked(one) == self._asked(other) for one, other in zip(own, noisy, strict=True)):
            raise UsageError(
                f"noise on the numbers that '{self._planner}' gives reaches '{self._executor}' in no run: it reads "
                "none of them; give other versions of the executor to compare with"
            )

    def _asked(self, run: Run) -> list[bytes]:
        """What the executor was asked."""
        return [bytes(step.input) for step in run.steps if step_of(step.path) == self._executor]

    async def _runs(self, workflow: Workflow, requests: Sequence[RolloutRequest]) -> list[Run]:
        return await Rollouts(workflow, concurrency=self._concurrency, on_run=self._on_run).ran(requests)


def _hold_to_success(name: str, runs: Sequence[Run]) -> None:
    """Raise UsageError where no run of a side succeeded: what answers there is no executor of this workflow."""
    if any(run.succeeded for run in runs):
        return
    why = next((run.error.message for run in runs if run.error is not None), "no reason is recorded")
    raise UsageError(
        f"with '{name}' none of {len(runs)} runs succeeded, so it tells nothing of the planner; the first: {why}"
    )


def _component(workflow: Workflow, step: str) -> Component:
    found = {place.step: place.op.component for place in places_of(workflow.plan) if place.step}
    if step not in found:
        raise UsageError(
            f"workflow '{workflow.name}' has no step '{step}' that calls a component; it has: {', '.join(found)}"
        )
    return found[step]


def _recorded(runs: Sequence[Run]) -> list[Recorded]:
    return [Recorded(run=run) for run in runs]


@asynccontextmanager
async def _opened(components: Iterable[Component]) -> AsyncIterator[None]:
    """Components that no workflow opens are open meanwhile."""
    async with AsyncExitStack() as stack:
        for each in components:
            if isinstance(each, OpensPerRun):
                raise UsageError(f"component '{each.card.name}' is opened for each run, so it can answer for no other")
            if isinstance(each, Opens):
                await each.open()
                stack.push_async_callback(each.close)
        yield
