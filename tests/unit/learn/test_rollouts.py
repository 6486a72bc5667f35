"""Runs of a workflow from its file, on the engine and the store that serving uses, and training on nothing else."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import msgspec
import pytest

import stretto
from stretto.components.policy import SoftmaxPolicy
from stretto.learn.options import TrainOptions
from stretto.learn.rollouts import Rollouts
from stretto.learn.tasks import RolloutRequest, Task, requests_of
from stretto.learn.train import TrainResult, train
from stretto.record.model import Annotation, Run
from stretto.types.enums import Durability
from stretto.types.errors import UsageError
from stretto.types.ids import RunId, new_run_id

COLOURS = ("red", "green", "blue")

COMPONENTS = """
import stretto

painter = stretto.SoftmaxPolicy("painter", ("red", "green", "blue"), state=(), text_scale=1.0)

@stretto.reward(inline=True)
def right(action: str, context: stretto.Context) -> float | None:
    return None if context.reference is None else float(action == context.reference)
"""

WORKFLOW = """
stretto: 1
name: paint
version: 1.0.0
durability: run
contract:
  input: {words: "string[1,99]"}
  reward: {right: 1.0}
components: components.py
steps:
  - {name: paint, component: painter, input_mapping: {words: "input.words"}}
  - {name: judge, component: right, input_mapping: {action: "steps.paint.action"}}
"""

TASKS = [Task(name=colour, input={"words": f"paint it {colour}"}, reference=colour) for colour in COLOURS]
OPTIONS = TrainOptions(updates=4, tasks_per_update=3, group_size=4, learning_rate=0.2)
AN_UPDATE = 12
"""Runs."""


@pytest.fixture
def workflow(tmp_path: Path) -> Iterator[stretto.Workflow]:
    (tmp_path / "components.py").write_text(COMPONENTS)
    (tmp_path / "workflow.yaml").write_text(WORKFLOW)
    with stretto.Store(tmp_path / "runs.db") as store:
        yield stretto.load(tmp_path / "workflow.yaml", store=store)


def painter(workflow: stretto.Workflow) -> SoftmaxPolicy:
    return cast("SoftmaxPolicy", workflow.component("painter"))


def asked(task: Task, seed: int) -> RolloutRequest:
    return RolloutRequest(task=task, seed=seed, labels={"task": task.name, "purpose": "train"})


async def test_runs_come_back_in_the_order_asked_for_with_seed_labels_and_reference(workflow: stretto.Workflow) -> None:
    rollouts = Rollouts(workflow, concurrency=2)
    wanted = [asked(task, seed) for task in TASKS for seed in (7, 8)]
    read = await rollouts.read(await rollouts.make(painter(workflow), wanted))
    assert [(item.run.labels["task"], item.run.seed) for item in read] == [(w.task.name, w.seed) for w in wanted]
    assert all(item.run.labels["purpose"] == "train" and item.run.reward in (0.0, 1.0) for item in read)


async def test_the_component_given_acts_and_not_the_workflows_own(workflow: stretto.Workflow) -> None:
    always_blue = SoftmaxPolicy("painter", COLOURS, state=(), prior={"blue": 99.0}, sample=False)
    rollouts = Rollouts(workflow, concurrency=2)
    read = await rollouts.read(await rollouts.make(always_blue, [asked(task, 1) for task in TASKS]))
    assert [item.run.reward for item in read] == [0.0, 0.0, 1.0]
    assert painter(workflow).options.prior == {}


async def test_what_became_known_later_is_read_too(workflow: stretto.Workflow) -> None:
    rollouts = Rollouts(workflow, concurrency=1)
    [run_id] = await rollouts.make(painter(workflow), [asked(TASKS[0], 1)])
    workflow.store.annotate(Annotation(run_id=run_id, name="reward", value=0.5, at_ns=1, by="a person"))
    [item] = await rollouts.read([run_id])
    assert [note.value for note in item.annotations] == [0.5]


async def test_a_run_that_is_not_in_the_store_is_an_error(workflow: stretto.Workflow) -> None:
    rollouts = Rollouts(workflow, concurrency=1)
    await rollouts.make(painter(workflow), [asked(TASKS[0], 1)])
    with pytest.raises(UsageError, match="is not in"):
        await rollouts.read([RunId("019aa000-0000-7000-8000-000000000000")])


async def go(
    workflow: stretto.Workflow, folder: Path, *, resume: bool = False, stop_after: int | None = None
) -> TrainResult:
    """Train; with `stop_after` runs the training is cancelled, as Ctrl-C does it."""
    ended = 0
    training = asyncio.current_task()
    assert training is not None

    def count(_: Run) -> None:
        nonlocal ended
        ended += 1
        if ended == stop_after:
            training.cancel()

    rollouts = Rollouts(workflow, concurrency=3, on_run=count)
    return await train(
        painter(workflow), TASKS, rollout=rollouts.make, read=rollouts.read, folder=folder, options=OPTIONS,
        resume=resume,
    )  # fmt: skip


@pytest.mark.parametrize("stop_after", [1, AN_UPDATE - 1, AN_UPDATE, 2 * AN_UPDATE + 5])
async def test_a_training_stopped_anywhere_and_resumed_comes_to_the_same_weights(
    workflow: stretto.Workflow, tmp_path: Path, stop_after: int
) -> None:
    straight = await go(workflow, tmp_path / "straight")
    stopped = asyncio.create_task(go(workflow, tmp_path / "stopped", stop_after=stop_after))
    with pytest.raises(asyncio.CancelledError):
        await stopped
    resumed = await go(workflow, tmp_path / "stopped", resume=(tmp_path / "stopped" / "state.safetensors").exists())
    assert resumed.checkpoint.name == straight.checkpoint.name
    assert resumed.checkpoint.read_bytes() == straight.checkpoint.read_bytes()
    assert resumed.reports == straight.reports


async def test_an_unknown_reward_is_left_out_and_counted(workflow: stretto.Workflow, tmp_path: Path) -> None:
    unknown = Task(name="unknown", input={"words": "paint it"})
    rollouts = Rollouts(workflow, concurrency=3)
    result = await train(
        painter(workflow), [*TASKS, unknown], rollout=rollouts.make, read=rollouts.read, folder=tmp_path / "t",
        options=TrainOptions(updates=1, tasks_per_update=4, group_size=2),
    )  # fmt: skip
    assert (result.reports[0].runs, result.reports[0].excluded) == (6, {"reward_unknown": 2})


REMEMBERING = """
stretto: 1
name: visits
components:
  - components.py
  - memory: { kind: memory, path: kept/memory.db }
memory: memory
contract:
  reward: { first: 1.0 }
steps:
  - {name: paint, component: painter, input_mapping: {words: "input.words"}}
  - {name: met, component: met, input_mapping: {before: "memory.recent"}}
  - {name: keep, component: memory, input_mapping: {remember: "input.words"}}
  - {name: inner, workflow: inner.yaml, input_mapping: {words: "input.words"}}
  - {name: judge, component: first, input_mapping: {before: "steps.met.before", inner: "steps.inner.before"}}
"""

INNER = """
stretto: 1
name: inner
components:
  - notes: { kind: memory }
contract:
  input: {words: "string"}
steps:
  - {name: recall, component: notes}
  - {name: keep, component: notes, needs: [recall], input_mapping: {remember: "input.words"}}
output: {before: "steps.recall.recent"}
"""

MEETING = """
@stretto.component(effects="pure")
def met(before: list) -> dict:
    return {"before": before}


@stretto.reward
def first(before: list, inner: list) -> float:
    return float(len(before) + 10 * len(inner))
"""


@pytest.fixture
def visits(tmp_path: Path) -> Iterator[stretto.Workflow]:
    """A workflow whose reward counts what it remembers, as does a workflow inside it."""
    (tmp_path / "components.py").write_text(COMPONENTS + MEETING)
    (tmp_path / "workflow.yaml").write_text(REMEMBERING)
    (tmp_path / "inner.yaml").write_text(INNER)
    with stretto.Store(tmp_path / "runs.db") as store:
        yield stretto.load(tmp_path / "workflow.yaml", store=store)


async def test_a_rollout_remembers_no_other_run_and_leaves_nothing(visits: stretto.Workflow) -> None:
    async with visits:
        served = [await visits.run({"words": words}) for words in ("a", "b")]
        rollouts = Rollouts(visits, concurrency=2)
        read = await rollouts.read(await rollouts.make(painter(visits), [asked(task, 1) for task in TASKS * 3]))
        served.append(await visits.run({"words": "c"}))
    assert [item.run.reward for item in read] == [0.0] * 9
    assert [run.reward for run in served] == [0.0, 11.0, 22.0]


async def test_a_task_says_what_its_runs_remember(visits: stretto.Workflow) -> None:
    rollouts = Rollouts(visits, concurrency=2)
    met_before = Task(name="again", input={"words": "a"}, memory={"recent": ["x", "y"]})
    read = await rollouts.read(await rollouts.make(painter(visits), [asked(met_before, seed) for seed in (1, 2)]))
    assert [item.run.reward for item in read] == [2.0, 2.0]


async def test_a_run_of_a_training_cannot_go_on_with_what_serving_remembers(visits: stretto.Workflow) -> None:
    wanted = requests_of(TASKS, OPTIONS, 1)[:1]
    async with visits:
        await visits.run({"words": "served"})
        [item] = await Rollouts(visits, concurrency=1).read(
            await Rollouts(visits, concurrency=1).make(painter(visits), wanted)
        )
        cut = msgspec.structs.replace(item.run, id=new_run_id(), status=None, steps=[], output=msgspec.Raw(b"null"))
        await visits.store.open(cut, Durability.STEP)
        with pytest.raises(UsageError, match=r"was made by a training .*`stretto train \.\.\. --resume` makes"):
            await visits.resume(cut.id)
        served = await visits.run({"words": "again"})
    assert served.reward == 11.0
    assert visits.store.get(cut.id).status is None
