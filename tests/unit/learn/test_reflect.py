"""What became known of runs is told to the components that learn on their own side."""

import textwrap
from pathlib import Path
from typing import Any

import msgspec
import pytest

import stretto
from stretto import Annotation, Run, Workflow
from stretto.learn.reflect import reflect
from stretto.types.errors import LearningError
from stretto.types.ids import StepPath

COMPONENTS = """
import stretto
from stretto import Signal

TOLD: list[Signal] = []


@stretto.component("planner")
class Planner:
    def __call__(self, goal: str) -> dict[str, str]:
        if goal == "fail":
            raise stretto.ComponentError("no")
        return {"plan": goal}

    def reflect(self, signal: Signal) -> bool | str:
        TOLD.append(signal)
        return True if signal.reward is not None else "unknown rewards teach nothing"


@stretto.component("executor")
def executor(plan: str) -> dict[str, str]:
    return {"done": plan}
"""

WORKFLOW = """
stretto: 1
name: desk
components: components.py
steps:
  - name: plan
    component: planner
    input_mapping: { goal: "input.goal" }
    resilience: { fallback: { output: { plan: "nothing" } } }
  - name: do
    component: executor
    input_mapping: { plan: "steps.plan.plan" }
output: { done: "steps.do.done" }
"""


@pytest.fixture
def workflow(tmp_path: Path) -> Workflow:
    (tmp_path / "components.py").write_text(COMPONENTS)
    (tmp_path / "workflow.yaml").write_text(WORKFLOW)
    return stretto.load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db")


def note(run: Run, name: str, value: Any, *, at_ns: int = 1, path: str = "plan") -> Annotation:
    return Annotation(run_id=run.id, name=name, value=value, at_ns=at_ns, path=StepPath(path), by="ana")


def told(workflow: Workflow) -> list[Any]:
    module: Any = workflow.component("planner")
    return list(__import__("sys").modules[module.target.__module__].TOLD)


async def test_reward_credit_and_corrections_arrive(workflow: Workflow) -> None:
    run = await workflow.run({"goal": "rent"})
    workflow.store.annotate(
        note(run, "reward", 0.75, path=""),
        note(run, "credit", 0.1),
        note(run, "credit", 0.2, at_ns=2),
        note(run, "correction", {"pointer": "/plan", "value": "pay rent"}),
        note(run, "correction", {"value": {}}, path="do"),
    )
    [reflected] = await reflect(workflow, [run])
    assert (reflected.component, reflected.path, reflected.accepted) == ("planner", "plan", True)
    [signal] = told(workflow)
    assert (signal.reward, signal.credit) == (0.75, 0.2)
    assert [(each.pointer, each.value, each.by) for each in signal.corrections] == [("/plan", "pay rent", "ana")]
    assert signal.run.id == run.id
    await workflow.aclose()


async def test_an_unknown_reward_is_none_and_a_refusal_is_told(workflow: Workflow) -> None:
    run = await workflow.run({"goal": "rent"})
    [reflected] = await reflect(workflow, [run])
    assert (reflected.accepted, reflected.note) == (False, "unknown rewards teach nothing")
    await workflow.aclose()


async def test_as_of_a_time_what_came_later_is_not_known(workflow: Workflow) -> None:
    run = await workflow.run({"goal": "rent"})
    workflow.store.annotate(note(run, "reward", 0.5, path=""), note(run, "reward", 0.9, at_ns=5, path=""))
    await reflect(workflow, [run], as_of_ns=4)
    assert told(workflow)[-1].reward == 0.5
    await workflow.aclose()


async def test_what_its_fallback_answered_is_no_answer_of_it(workflow: Workflow) -> None:
    run = await workflow.run({"goal": "fail"})
    assert await reflect(workflow, [run]) == []
    await workflow.aclose()


async def test_what_a_replay_reused_is_no_answer_of_it(workflow: Workflow) -> None:
    run = await workflow.run({"goal": "rent"})
    again = await workflow.replay(run, outputs={"plan": {"plan": "other"}})
    assert await reflect(workflow, [again]) == []
    await workflow.aclose()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("credit", "much", "expected a number"), ("credit", True, "expected a number"), ("correction", "x", '"pointer"')],
)
async def test_an_annotation_of_another_form_is_told(workflow: Workflow, name: str, value: Any, said: str) -> None:
    run = await workflow.run({"goal": "rent"})
    workflow.store.annotate(note(run, name, value))
    with pytest.raises(LearningError, match=said):
        await reflect(workflow, [run])
    await workflow.aclose()


async def test_a_workflow_without_learners_is_told(tmp_path: Path) -> None:
    (tmp_path / "components.py").write_text(textwrap.dedent(COMPONENTS).replace("def reflect", "def other"))
    (tmp_path / "workflow.yaml").write_text(WORKFLOW)
    workflow = stretto.load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db")
    with pytest.raises(LearningError, match=r"no component that learns on its own side.* `stretto train` is for"):
        await reflect(workflow, [])


async def test_a_run_of_another_workflow_or_that_has_not_ended_is_refused(workflow: Workflow) -> None:
    run = await workflow.run({"goal": "rent"})
    other = msgspec.structs.replace(run, manifest=msgspec.structs.replace(run.manifest, workflow="shop"))
    with pytest.raises(LearningError, match="is of workflow 'shop'; expected one of 'desk'"):
        await reflect(workflow, [run, other])
    with pytest.raises(LearningError, match="has not ended"):
        await reflect(workflow, [msgspec.structs.replace(run, status=None)])
    assert told(workflow) == []
    await workflow.aclose()
