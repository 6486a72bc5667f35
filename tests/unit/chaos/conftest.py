"""A workflow that plans and writes, whose real writes the test can count, and a chaos plan for it."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TypedDict

import pytest

import stretto
from stretto.chaos.experiment import Experiment
from stretto.chaos.lapse import LapsingLoop
from stretto.chaos.report import ChaosReport
from stretto.chaos.trial import Given
from stretto.components.python.decorator import component_of
from stretto.runtime.catalog import ComponentCatalog
from stretto.runtime.load import Loader
from stretto.runtime.workflow import Workflow
from stretto.spec.chaos import parse_chaos
from stretto.store.sqlite import Store

WORKFLOW = """
stretto: 1
name: refunds
durability: step
budget: {deadline: 4s, reserve: 1s}
contract:
  input: {query: "string[1,80]"}
  output: {intent: "string", status: "string?"}
  semantics: {intent: {values: [refund, track], at: [planner.intent]}}
steps:
  - name: planner
    component: planner
    input_mapping: {query: "input.query"}
    resilience:
      timeout: 500ms
      retry: {attempts: 3, base: 10ms}
      fallback: {output: {intent: track, amount: 0}}
  - name: executor
    component: executor
    condition: "steps.planner.intent == 'refund'"
    input_mapping: {amount: "steps.planner.amount"}
    resilience: {timeout: 500ms, retry: {attempts: 3, base: 10ms}}
output: {intent: "steps.planner.intent", status: "steps.executor.status"}
"""


class Planned(TypedDict):
    intent: str
    amount: int


class Done(TypedDict):
    status: Literal["refunded", "declined"]


class World:
    """What stands behind the components, and what it has seen."""

    def __init__(self) -> None:
        self.written: Counter[str] = Counter()
        """Real writes, by effect key."""
        self.planned = 0
        self.lies = False
        """Whether `confirm` denies what was written."""
        self.works_s = 0.0
        """Real time that a plan takes."""

    @property
    def components(self) -> list[Any]:
        world = self

        @stretto.component("planner", effects="pure")
        async def planner(query: str) -> Planned:
            world.planned += 1
            if world.works_s:
                await asyncio.to_thread(time.sleep, world.works_s)
            return {"intent": "refund" if "refund" in query else "track", "amount": len(query)}

        @stretto.component("executor", effects="write")
        class Executor:
            async def __call__(self, amount: int, context: stretto.Context) -> Done:
                world.written[context.effect_key] += 1
                return {"status": "refunded"}

            async def confirm(self, amount: int, context: stretto.Context) -> Done | None:
                happened = context.effect_key in world.written and not world.lies
                return {"status": "refunded"} if happened else None

        return [planner, Executor]


Experimenting = Callable[..., Experiment]
"""`(faults, **options)`: an experiment of a chaos plan's `faults`, given as text."""

GIVEN = (Given(input={"query": "please refund"}), Given(input={"query": "where is it"}))


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def workflow(tmp_path: Path, world: World) -> Iterator[Workflow]:
    with Store(tmp_path / "runs.db") as store:
        yield workflow_of(tmp_path, WORKFLOW, world.components, store)


def workflow_of(folder: Path, text: str, components: list[Any], store: Store) -> Workflow:
    """A workflow of these components, wherever its file says that they come from."""
    (folder / "workflow.yaml").write_text(text)
    found = [component_of(each) or each for each in components]
    catalog = ComponentCatalog({each.card.name: each for each in found})
    return Workflow(Loader(folder / "workflow.yaml"), catalog, store)


@pytest.fixture
def experiment(workflow: Workflow) -> Experimenting:
    def of(faults: str, *, expect: str = "", **options: Any) -> Experiment:
        text = f"stretto: 1\nseed: 5\nfaults: [{faults}]\n{expect}"
        return Experiment(workflow, parse_chaos(text), GIVEN, **{"runs": 40, **options})

    return of


def made(experiment: Experiment) -> ChaosReport:
    """Its report, on a loop that jumps over injected waits."""
    with asyncio.Runner(loop_factory=LapsingLoop) as runner:
        return runner.run(experiment.go())
