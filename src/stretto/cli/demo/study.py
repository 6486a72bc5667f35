"""The demo's course: serve, train, serve again, and the same customers under four baselines."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from stretto.cli.demo.left_out import left_out
from stretto.cli.demo.phases import Phases
from stretto.cli.demo.place import Example
from stretto.cli.stopping import stopping_told
from stretto.components.policy import SoftmaxPolicy
from stretto.learn.imitate import Example as Shown, ImitationReport, imitate
from stretto.learn.options import TrainOptions
from stretto.learn.rollouts import Rollouts
from stretto.learn.tasks import RolloutRequest, Task
from stretto.learn.train import TrainResult, train
from stretto.learn.usable import Recorded
from stretto.record.model import decoded
from stretto.runtime.workflow import Workflow
from stretto.types.enums import StepStatus
from stretto.types.ids import RunId
from stretto.types.protocols import Component

CONCURRENCY = 4
"""As many as the example's server has state keys; more would only wait for one."""


MOST_SEEDS: Final = 100
"""Runs of each test customer on a side: 24,000 in all, hours of them, and intervals a seventh as wide as by default."""


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """How much is run."""

    seeds: int = 2
    """Runs of each test customer, on each side of the comparison."""
    training: TrainOptions = TrainOptions(updates=20, tasks_per_update=6)
    """As many runs as by default, in twice as many updates: better in cross-validation (docs/log.md)."""
    train_tasks: int | None = None
    """The first so many; all when None."""
    test_tasks: int | None = None


QUICK = Size(seeds=1, training=TrainOptions(updates=2, tasks_per_update=4, group_size=2), train_tasks=8, test_tasks=6)
"""Shows that everything works, and nothing else: far too little to learn from."""


class Study(msgspec.Struct, frozen=True, kw_only=True):
    """All that was run."""

    arms: Mapping[str, Sequence[Recorded]]
    """The test customers' runs on each side: ``before``, ``after``, and the baselines."""
    training: TrainResult
    imitation: ImitationReport
    seconds: Mapping[str, float]
    """Wall time of each phase."""


class Course:
    """One demo, its progress told to `phases`."""

    def __init__(self, workflow: Workflow, example: Example, size: Size, folder: Path, phases: Phases) -> None:
        self._workflow = workflow
        self._example = example
        self._size = size
        self._folder = folder
        self._phases = phases
        self._rollouts = Rollouts(workflow, concurrency=CONCURRENCY, on_run=lambda _: phases.advance())
        self._train = example.tasks("train")[: size.train_tasks]
        self._test = example.tasks("test")[: size.test_tasks]
        policy = workflow.component(example.POLICY)
        assert isinstance(policy, SoftmaxPolicy)  # the example's own planner
        self._policy = policy

    async def go(self) -> Study:
        """Run everything."""
        with self._phases("start", "starting the shop's two servers", 0):
            await self._workflow.open()
        try:
            with stopping_told():
                return await self._go()
        finally:
            await self._workflow.aclose()

    async def _go(self) -> Study:
        arms = {"before": await self._serve("before", "untrained, serves", self._policy)}
        training = await self._learn()
        arms["after"] = await self._serve("after", "trained, serves", training.policy)
        for arm, what, rule in (
            ("baseline_nothing", "does nothing for", self._example.nothing),
            ("baseline_majority", "one tool only, for", self._example.majority),
            ("baseline_available", "the commonest tool available, for", self._example.commonest_available),
        ):
            arms[arm] = await self._serve(arm, what, rule(self._policy))
        supervised, imitation = await self._imitate()
        arms["baseline_supervised"] = await self._serve("baseline_supervised", "supervised, serves", supervised)
        return Study(arms=arms, training=training, imitation=imitation, seconds=dict(self._phases.seconds))

    async def _serve(self, arm: str, what: str, acting: Component) -> list[Recorded]:
        """Every test customer once for each seed, the same on every side."""
        requests = _requests(self._test, range(1, self._size.seeds + 1), arm)
        return await self._read(await self._make(arm, f"{what} {len(self._test)} new customers", acting, requests))

    async def _learn(self) -> TrainResult:
        options = self._size.training
        runs = options.updates * options.tasks_per_update * options.group_size
        with self._phases("train", f"trains on {len(self._train)} other customers", runs):
            trained = await train(
                self._policy, self._train, rollout=self._rollouts.make, read=self._read, folder=self._folder,
                options=options, on_update=self._phases.tell_update,
            )  # fmt: skip
            if missing := left_out(trained.reports, options):
                self._phases.tell(missing)
            return trained

    async def _imitate(self) -> tuple[SoftmaxPolicy, ImitationReport]:
        """The same features and the same policy, fitted to what the teacher chose for the train customers."""
        requests = _requests(self._train, [0], "teacher")
        what = f"a teacher who knows the answers serves the {len(self._train)}"
        taught = await self._read(await self._make("teacher", what, self._example.teacher(), requests))
        shown = [one for item in taught for one in _shown(item, self._policy.name)]
        weights, report = imitate(self._policy, shown)
        checkpoint = weights.save(self._folder / "supervised")
        return self._policy.with_weights(str(checkpoint)), report

    async def _make(self, phase: str, what: str, acting: Component, requests: Sequence[RolloutRequest]) -> list[RunId]:
        with self._phases(phase, what, len(requests)):
            return await self._rollouts.make(acting, requests)

    async def _read(self, ids: Sequence[RunId]) -> list[Recorded]:
        return await self._rollouts.read(ids)


def _requests(tasks: Sequence[Task], numbers: Sequence[int], arm: str) -> list[RolloutRequest]:
    return [
        RolloutRequest(
            task=task, seed=seed_of(task.name, number), labels={**task.labels, "task": task.name, "purpose": arm}
        )
        for task in tasks
        for number in numbers
    ]


def seed_of(task: str, number: int) -> int:
    """A task's seeds: the same on every side, others for every task.

    With one seed for all tasks, all would draw the same numbers, and a lucky draw would be lucky for all at once:
    intervals over tasks would be too narrow. 63 bits, so that it is a JSON integer.
    """
    return int.from_bytes(blake2b(f"{task}/{number}".encode(), digest_size=8).digest(), "little") >> 1


def _shown(item: Recorded, component: str) -> list[Shown]:
    """A run's decisions as examples, of those steps where there was something to choose."""
    steps = [step for step in item.run.steps if step.component == component and step.status is StepStatus.OK]
    return [Shown(input=decoded(step.input), chosen=decoded(step.output)["action"]) for step in steps]
