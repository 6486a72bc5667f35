"""What folds and trainings of policies are given, and is something else: said with what to give instead."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

import stretto
from stretto.learn.adversity.measuring import requests_for
from stretto.learn.compare import compare
from stretto.learn.evaluate import Metric, evaluate, key_of, tables_of, terms_of
from stretto.learn.explain.linear import explain_policy
from stretto.learn.imitate import Example, imitate
from stretto.learn.options import TrainOptions
from stretto.learn.reflect import reflect
from stretto.learn.rewards import reward_as_of, terms_as_of
from stretto.learn.rollouts import Rollouts
from stretto.learn.samples import collect
from stretto.learn.semantics.alignments import alignments_of
from stretto.learn.tasks import Task
from stretto.learn.teach import teach
from stretto.learn.tokens import collect_tokens, models_of, only_model
from stretto.learn.train import train
from stretto.learn.usable import Downgraded, Recorded
from stretto.record.model import Run
from stretto.testing import run_virtual
from stretto.types.enums import Reason, StepStatus
from stretto.types.errors import UsageError
from tests.unit.learn.worlds import action_of, run_of, step_of

POLICY = stretto.SoftmaxPolicy("planner", ("red", "blue"), state=())
CHOICE = step_of("planner", {"words": "x"}, {"action": "red"}, actions=(action_of(POLICY, "red"),))
LATE = step_of("api", {}, None, status=StepStatus.FALLBACK, reason=Reason.TIMEOUT)
TASKS = [Task(name="a", input={}), Task(name="b", input={})]

COMPONENTS = """
import stretto

@stretto.component("student", effects="pure")
class Student:
    async def __call__(self, query: str) -> dict:
        return {"said": query}

    async def reflect(self, signal: stretto.Signal) -> bool:
        return True
"""

WORKFLOW = """
stretto: 1
name: lessons
components: components.py
steps: [{name: say, component: student, input_mapping: {query: input.query}}]
output: {said: steps.say.said}
"""


@pytest.fixture
def workflow(tmp_path: Path) -> stretto.Workflow:
    (tmp_path / "components.py").write_text(COMPONENTS)
    (tmp_path / "workflow.yaml").write_text(WORKFLOW)
    return stretto.load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db")


OF_A_POLICY: dict[str, Callable[[Any], object]] = {
    "collect": lambda given: collect([], given),
    "train": lambda given: trained(given),
    "imitate": lambda given: imitate(given, [Example(input={}, chosen="red")]),
    "learning_policy": lambda given: stretto.LearningPolicy(given, "never-made"),
    "explain_policy": lambda given: explain_policy(given, {}, action_of(POLICY, "red")),
}


@pytest.mark.parametrize("entry", OF_A_POLICY.values(), ids=[*OF_A_POLICY])
@pytest.mark.parametrize("given", ["planner", Path("policy.yaml"), None, 7, stretto.SoftmaxPolicy, {"name": "planner"}])
def test_what_is_no_policy_is_named(entry: Callable[[Any], object], given: object) -> None:
    with pytest.raises(
        UsageError,
        match=r"the policy is .*; expected a stretto\.SoftmaxPolicy, as workflow\.component\(name\) gives one",
    ):
        entry(given)
    assert not Path("never-made").exists()


def test_a_workflow_or_its_plan_is_no_policy(workflow: stretto.Workflow) -> None:
    for given in (workflow, workflow.plan):
        with pytest.raises(UsageError, match=r"the policy is .*expected a stretto\.SoftmaxPolicy"):
            collect([], given)  # type: ignore[arg-type]  # the slip
        with pytest.raises(UsageError, match=r"the policy is .*expected a stretto\.SoftmaxPolicy"):
            imitate(given, [])  # type: ignore[arg-type]  # the slip


OF_RUNS: dict[str, Callable[[Any], object]] = {
    "collect": lambda given: collect(given, POLICY),
    "collect_tokens": lambda given: collect_tokens(given, "model"),
    "only_model": only_model,
    "evaluate": evaluate,
    "compare before": lambda given: compare(given, []),
    "compare after": lambda given: compare([], given),
    "tables_of": lambda given: tables_of(given, Metric()),
}


@pytest.mark.parametrize("entry", OF_RUNS.values(), ids=[*OF_RUNS])
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("runs.db", r"runs is 'runs\.db'; expected a list of runs"),
        (Path("runs.db"), r"runs is .*Path\('runs\.db'\); expected a list of runs"),
        (None, "runs is None; expected a list of runs"),
        ({"run": 1}, "runs is {'run': 1}; expected a list of runs"),
        (Run, "runs is <class .*; expected a list of runs"),
        (["5f1c"], r"runs\[0\] is '5f1c'; expected a run, or a `Recorded`"),
        ([None], r"runs\[0\] is None; expected a run, or a `Recorded`"),
    ],
)
def test_what_is_no_list_of_runs_is_named(entry: Callable[[Any], object], given: object, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        entry(given)


def test_a_run_counts_as_recorded_without_annotations() -> None:
    run = run_of("r1", [CHOICE], 1.0)
    assert collect([run], POLICY).excluded == collect([Recorded(run=run)], POLICY).excluded
    assert evaluate([run]) == evaluate([Recorded(run=run)])


OF_A_RUN: dict[str, Callable[[Any], object]] = {
    "recorded": lambda given: Recorded(run=given),
    "reward_as_of": reward_as_of,
    "terms_as_of": terms_as_of,
    "terms_of": terms_of,
    "key_of": key_of,
    "models_of": models_of,
    "alignments_of": lambda given: [*alignments_of(given)],
}


@pytest.mark.parametrize("entry", OF_A_RUN.values(), ids=[*OF_A_RUN])
@pytest.mark.parametrize("given", ["5f1c", Path("runs.db"), None, 7, [], Run])
def test_what_is_no_run_is_named(entry: Callable[[Any], object], given: object) -> None:
    with pytest.raises(UsageError, match=r"the run is .*; expected a run.*; a store gives one by `store\.get\(id\)`"):
        entry(given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("credit", "annotations is 'credit'; expected a list of annotations"),
        ([1.0], r"annotations\[0\] is 1\.0; expected an annotation"),
    ],
)
def test_what_is_no_annotation_is_named(given: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Recorded(run=run_of("r1", [CHOICE], 1.0), annotations=given)


@pytest.mark.parametrize(
    ("given", "told"),
    [("last", "runs is 'last'; expected a list of runs"), (["last"], r"runs\[0\] is 'last'; expected a run; a store")],
)
def test_what_is_no_run_is_not_reflected(workflow: stretto.Workflow, given: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        run_virtual(reflect(workflow, given))


def examples(given: Any) -> object:
    return imitate(POLICY, given)


def trained(policy: Any = POLICY, tasks: Any = TASKS, **changed: Any) -> object:
    return run_virtual(train(policy, tasks, **{"rollout": None, "read": None, "folder": "never-made", **changed}))


def taught(component: Any, options: Any, tasks: Any = TASKS) -> object:
    made: Any = {"make": None, "tell": None}
    return run_virtual(teach(component, tasks, options=options, **made))


OF_TASKS: dict[str, Callable[[Any], object]] = {
    "train": lambda given: trained(POLICY, given),
    "teach": lambda given: taught("planner", TrainOptions(), given),
    "requests_for": requests_for,
}


@pytest.mark.parametrize("entry", OF_TASKS.values(), ids=[*OF_TASKS])
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("tasks.jsonl", r"tasks is 'tasks\.jsonl'; expected a list of tasks"),
        (7, "tasks is 7; expected a list of tasks"),
        (None, "tasks is None; expected a list of tasks"),
        (TASKS[0], r"tasks is Task\(.*; expected a list of tasks"),
        ([{"name": "a", "input": {}}], r"task 1 is .*; expected a stretto\.learn\.tasks\.Task"),
    ],
)
def test_what_is_no_list_of_tasks_is_named(entry: Callable[[Any], object], given: object, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        entry(given)
    assert not Path("never-made").exists()


@pytest.mark.parametrize(
    ("call", "given", "told"),
    [
        (examples, "choices.jsonl", r"examples is 'choices\.jsonl'; expected a list of examples"),
        (examples, [{"chosen": "red"}], r"examples\[0\] is .*; expected a stretto\.learn\.imitate\.Example"),
        (examples, [Example(input=cast("Any", "x"), chosen="red")], r"examples\[0\]: Expected `object`, got `str`"),
        (lambda each: imitate(POLICY, [], ridge=each), "0.1", "ridge is '0.1'; expected a number"),
        (lambda each: collect_tokens([], each), POLICY, "the component is .*; expected its name"),
        (lambda each: collect([], POLICY, downgraded=each), "drop", "downgraded is 'drop'; expected one of exclude, "),
        (lambda each: evaluate([], each), ["reward"], r"metrics is \['reward'\]; expected a mapping from names to"),
        (lambda each: compare([], [], each), {"r": "reward"}, r"metrics\['r'\] is 'reward'; expected a stretto\.learn"),
        (lambda each: trained(options=each), {"updates": 1}, "options is .*; expected TrainOptions"),
        (lambda each: trained(folder=each), None, r"folder is None; expected text or a pathlib\.Path"),
        (lambda each: taught(each, TrainOptions()), POLICY, "the component is .*; expected its name"),
        (lambda each: taught("planner", each), None, "options is None; expected TrainOptions"),
        (lambda each: stretto.LearningPolicy(POLICY, each), None, r"folder is None; expected text or a pathlib\.Path"),
    ],
)
def test_what_else_a_fold_or_a_training_is_given_is_held_to_its_kind(
    call: Callable[[Any], object], given: object, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        call(given)


def test_what_an_accident_did_is_treated_as_a_text_says() -> None:
    """A text stands for the member that it names, as in a file: it is never taken for another."""
    run = run_of("r1", [CHOICE, LATE], 1.0)
    for downgraded in Downgraded:
        said: Any = str(downgraded)
        assert (
            collect([run], POLICY, downgraded=said).excluded == collect([run], POLICY, downgraded=downgraded).excluded
        )


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda each: each.ran("tasks.jsonl"), r"requests is 'tasks\.jsonl'; expected a list of requests"),
        (
            lambda each: each.ran([TASKS[0]]),
            r"requests\[0\] is Task\(.*; expected a stretto\.learn\.tasks\.RolloutRequest",
        ),
        (lambda each: each.make(POLICY, 7), "requests is 7; expected a list of requests"),
        (lambda each: each.read("5f1c"), "ids is '5f1c'; expected a list of runs' ids"),
    ],
)
def test_what_is_no_request_is_not_rolled_out(
    workflow: stretto.Workflow, call: Callable[[Rollouts], Any], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        run_virtual(call(Rollouts(workflow, concurrency=1)))
