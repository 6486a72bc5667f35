"""Answers of pure steps outside that are kept with a batch: who is asked again, and what the records say."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import stretto
from stretto.learn import as_module
from stretto.record.model import Run, StepRecord
from stretto.types.enums import RunStatus
from tests.unit.learn.differentiable.made import grads_of, rows, same

COMPONENTS = """
from typing import Annotated

import torch
from torch import Tensor, nn

import stretto
from stretto import Shape
from stretto.types.learning import Action

ASKED = []


@stretto.component("counted", effects="pure", inline=True)
def counted(n: int) -> dict[str, int]:
    ASKED.append(n)
    if n < 0:
        raise ValueError("less than nothing")
    return {"n": n}


@stretto.component("looked_up", effects="read", inline=True)
def looked_up(n: int) -> dict[str, int]:
    ASKED.append(n)
    return {"n": n}


@stretto.component("nth", effects="pure", scope="run")
class Nth:
    def __init__(self) -> None:
        self.times = 0

    async def __call__(self, n: int) -> dict[str, int]:
        self.times += 1
        return {"times": self.times}


@stretto.component("calling", effects="pure")
async def calling(n: int, context: stretto.Context) -> dict[str, int]:
    ASKED.append(n)
    return {"n": (await context.call("looked_up", n=n))["n"]}


@stretto.component("drawing", effects="pure")
def drawing(n: int, context: stretto.Context) -> dict[str, float]:
    ASKED.append(n)
    return {"n": context.rng.random()}


@stretto.component("of_its_run", effects="pure", inline=True)
def of_its_run(n: int, context: stretto.Context) -> dict[str, str]:
    ASKED.append(n)
    return {"n": context.run.id}


@stretto.component("picking", effects="pure")
async def picking(n: int, context: stretto.Context) -> dict[str, int]:
    ASKED.append(n)
    context.action(Action(name="n", chosen="a", support=("a", "b"), logprob=-0.69, propensity=0.5, policy="none"))
    return {"n": n}


@stretto.differentiable("chooser", inputs=["x"], chooses={"way": ("a", "b", "c")})
class Chooser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(2, 3)

    def forward(self, x: Annotated[Tensor, Shape(2)]) -> Tensor:
        return self.net(x)


@stretto.component("ruled", effects="pure", inline=True)
def ruled(way: str, n: int) -> dict[str, int]:
    ASKED.append(n)
    return {"worth": {"a": 1, "b": 3, "c": -2}[way] * (n + 1)}


@stretto.component("telling", effects="pure", inline=True)
def telling(way: str, context: stretto.Context) -> dict[str, str]:
    context.reward("told", {"a": 1.0, "b": 3.0, "c": -2.0}[way])
    return {"way": way}


@stretto.differentiable("worth", context=["worth"], rewards=["worth"])
def worth(worth: list[int | None]) -> Annotated[Tensor, Shape()]:
    return torch.tensor([float("nan") if each is None else float(each) for each in worth])
"""

CHOICE = """
  - {name: chooser, component: chooser, estimator: enumerate, input_mapping: {x: input.x}}
  - {name: ruled, component: ruled, input_mapping: {way: steps.chooser.way, n: input.n}}
  - {name: worth, component: worth, input_mapping: {worth: steps.ruled.worth}}
"""


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Any]:
    loaded: list[stretto.Workflow] = []

    def make(steps: str, reward: str = "") -> stretto.Workflow:
        (tmp_path / "components.py").write_text(COMPONENTS)
        weighed = f", reward: {reward}" if reward else ""
        head = f"components: components.py\ncontract: {{input: {{x: 'array[float]', n: int}}{weighed}}}"
        text = f"stretto: 1\nname: kept\n{head}\nsteps:\n{steps}\noutput: {{done: {{value: true}}}}\n"
        (tmp_path / "workflow.yaml").write_text(text)
        loaded.append(stretto.load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db"))
        return loaded[-1]

    yield make
    for each in loaded:
        each.close()


def asked_of(workflow: stretto.Workflow, name: str) -> list[int]:
    """What components were asked, in a list that they add to."""
    component: Any = workflow.component(name)
    found: list[int] = component.target.__globals__["ASKED"]
    return found


def step_of(run: Run, path: str) -> StepRecord:
    return next(step for step in run.steps if step.path == path)


def test_a_pure_step_is_asked_once_whatever_is_drawn(made: Any) -> None:
    workflow, inputs = made(CHOICE, "{worth: 1.0}"), rows(5)
    asked = asked_of(workflow, "ruled")
    keeping, plain = as_module(workflow), as_module(workflow)
    kept, asked_each_time = keeping.batch(inputs, keep_pure=True), plain.batch(inputs)
    for seeds in (range(5), range(7, 12)):
        one, other = keeping(kept, seeds=seeds), plain(asked_each_time, seeds=seeds)
        assert torch.equal(one.rewards, other.rewards)
        assert same(grads_of(keeping, one.loss), grads_of(plain, other.loss))
        assert [run.reward for run in one.runs] == [run.reward for run in other.runs]
    assert len(asked) == 5 * 3 * 3  # three ways: in one pass of the one, in two of the other


def test_parts_of_a_batch_share_what_stands(made: Any) -> None:
    workflow, inputs = made(CHOICE, "{worth: 1.0}"), rows(6)
    module, asked = as_module(workflow), asked_of(workflow, "ruled")
    whole = module.batch(inputs, keep_pure=True)
    expected = module(inputs, seeds=range(6)).rewards
    asked.clear()
    for part in ([4, 2], [2, 5]):
        assert torch.equal(module(whole.part(part), seeds=part).rewards, expected[part])
    assert sorted(asked) == sorted([4, 2, 5] * 3)
    assert torch.equal(module(whole, seeds=range(6)).rewards, expected)
    assert sorted(asked) == sorted([*range(6)] * 3)


def test_a_record_names_the_run_that_asked(made: Any) -> None:
    workflow = made("  - {name: ask, component: counted, input_mapping: {n: input.n}}\n" + CHOICE, "{worth: 1.0}")
    module = as_module(workflow)
    batch = module.batch(rows(3), keep_pure=True)
    first, second = module(batch, seeds=range(3)).runs, module(batch, seeds=range(3)).runs
    for before, after in zip(first, second, strict=True):
        then, now = step_of(before, "ask"), step_of(after, "ask")
        assert (then.reused_from, now.reused_from) == ("", before.id)
        assert (now.input, now.output, now.status, now.path) == (then.input, then.output, then.status, then.path)
        assert now.started_ms == now.ended_ms
        assert [step.path for step in after.steps] == [step.path for step in before.steps]
        assert step_of(after, "chooser").reused_from == ""
        assert after.reward == before.reward


def test_what_is_not_pure_fails_or_calls_others_is_asked_in_each_pass(made: Any) -> None:
    steps = """
  - {name: seen, component: looked_up, input_mapping: {n: input.n}}
  - {name: through, component: calling, input_mapping: {n: input.n}}
  - {name: one, component: counted, input_mapping: {n: "input.n - 1"}}
"""
    workflow = made(steps + CHOICE, "{worth: 1.0}")
    module, asked = as_module(workflow), asked_of(workflow, "ruled")
    batch = module.batch(rows(2), keep_pure=True)
    statuses = [run.status for run in module(batch, seeds=range(2)).runs]
    assert statuses == [RunStatus.FAILED, RunStatus.OK]
    asked.clear()
    again = module(batch, seeds=range(2)).runs
    assert [run.status for run in again] == statuses
    assert sorted(asked) == sorted([0, 1] * 3 + [-1])  # looked_up by itself and through calling; what failed
    assert again[0].error is not None
    assert again[0].error.path == "one"


def test_a_component_that_each_run_has_its_own_of_is_asked_in_each_pass(made: Any) -> None:
    steps = """
  - {name: one, component: nth, input_mapping: {n: input.n}}
  - {name: two, component: nth, input_mapping: {n: "input.n + steps.one.times"}}
"""
    module = as_module(made(steps + CHOICE, "{worth: 1.0}"))
    batch = module.batch(rows(2), keep_pure=True)
    for _ in range(2):
        for run in module(batch, seeds=range(2)).runs:
            assert [step_of(run, each).output_value["times"] for each in ("one", "two")] == [1, 2]
            assert not step_of(run, "one").reused_from


@pytest.mark.parametrize("component", ["drawing", "of_its_run", "picking"])
def test_what_is_of_one_run_is_asked_in_each_pass(made: Any, component: str) -> None:
    step = f"  - {{name: one, component: {component}, input_mapping: {{n: input.n}}}}\n"
    workflow = made(step + CHOICE, "{worth: 1.0}")
    module, asked = as_module(workflow), asked_of(workflow, "ruled")
    batch = module.batch(rows(2), keep_pure=True)
    passes = [module(batch, seeds=[again, again + 10]).runs for again in range(3)]
    assert sorted(asked) == sorted([0, 1] * (3 + 3))  # of ruled three ways, once; of the other in each pass
    outputs = {bytes(step_of(run, "one").output) for runs in passes for run in runs}
    assert len(outputs) == (2 if component == "picking" else 6)


def test_rewards_that_a_pure_step_tells_stand_too(made: Any) -> None:
    steps = """
  - {name: chooser, component: chooser, input_mapping: {x: input.x}}
  - {name: telling, component: telling, input_mapping: {way: steps.chooser.way}}
"""
    module = as_module(made(steps))
    batch = module.batch(rows(4), keep_pure=True)
    first, second = (module(batch, seeds=range(4)) for _ in range(2))
    assert second.rewards.tolist() == first.rewards.tolist() == [run.reward for run in second.runs]
    assert len(second.rewards.unique()) > 1
