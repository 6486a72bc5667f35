"""What learning is given first, and is something else: said with what to give instead."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stretto
from stretto.learn import as_module
from stretto.learn.adversity.measuring import Measuring
from stretto.learn.joint import train_jointly
from stretto.learn.reflect import reflect
from stretto.learn.rollouts import Rollouts
from stretto.learn.tasks import Task
from stretto.testing import run_virtual
from stretto.types.errors import UsageError
from tests.unit.learn.differentiable.made import module_of, rows

STEPS = """
  - {name: choose, component: chooser, estimator: relax, input_mapping: {state: input.x}}
  - {name: reward, component: of_way, input_mapping: {way: steps.choose.way}}
"""
HEAD = "contract: {reward: {of_way: 1.0}}"
OUTPUT = "{way: steps.choose.way}"

ENTRIES: dict[str, Callable[[Any], object]] = {
    "as_module": as_module,
    "train_jointly": lambda given: train_jointly(given, [Task(name="a", input={})], folder="never-made"),
    "explain": lambda given: run_virtual(stretto.explain(given, "last")),
    "reflect": lambda given: run_virtual(reflect(given, [])),
    "measuring": lambda given: Measuring(given, planner="plan", executor="act"),
    "rollouts": lambda given: Rollouts(given, concurrency=1),
}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=[*ENTRIES])
@pytest.mark.parametrize("given", ["workflow.yaml", Path("workflow.yaml")])
def test_the_path_of_a_workflow_is_said_to_be_loaded(entry: Callable[[Any], object], given: object) -> None:
    with pytest.raises(
        UsageError, match=r"the workflow is .*workflow\.yaml.*give it stretto\.load\('workflow\.yaml'\)"
    ):
        entry(given)
    assert not Path("never-made").exists()


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=[*ENTRIES])
@pytest.mark.parametrize("given", [None, 7, {"steps": []}])
def test_what_is_no_workflow_is_named(entry: Callable[[Any], object], given: object) -> None:
    with pytest.raises(
        UsageError, match=r"the workflow is .*expected a workflow, as stretto\.load\(path\) returns one"
    ):
        entry(given)


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        ("runs.db", r"runs is 'runs\.db'; expected a list of runs"),
        (["5f1c"], r"runs\[0\] is '5f1c'; expected a run, or a `Recorded`"),
        (7, "runs is 7; expected a list of runs"),
    ],
)
def test_surrogates_are_fitted_of_runs_alone(tmp_path: Path, runs: Any, told: str) -> None:
    module = module_of(tmp_path, STEPS, head=HEAD, output=OUTPUT)
    with pytest.raises(UsageError, match=told):
        module.fit_surrogates(runs)


def test_one_run_is_no_list_of_them(tmp_path: Path) -> None:
    module = module_of(tmp_path, STEPS, head=HEAD, output=OUTPUT)
    (run,) = module(rows(1)).runs
    with pytest.raises(UsageError, match=r"runs is Run\(.*expected a list of runs"):
        module.fit_surrogates(run)


@pytest.mark.parametrize("tasks", ["tasks.jsonl", [{"name": "a", "input": {}}], 7])
def test_what_is_no_task_is_named(tmp_path: Path, tasks: Any) -> None:
    workflow = module_of(tmp_path, STEPS, head=HEAD, output=OUTPUT).workflow
    with pytest.raises(UsageError, match=r"task(s| 1) is .*expected a (list of tasks|stretto\.learn\.tasks\.Task)"):
        train_jointly(workflow, tasks, folder=tmp_path / "training")
    assert not (tmp_path / "training").exists()


@pytest.mark.parametrize("run", [7, None, ["last"]])
def test_a_run_is_explained_by_itself_or_by_its_id(tmp_path: Path, run: Any) -> None:
    workflow = module_of(tmp_path, STEPS, head=HEAD, output=OUTPUT).workflow
    with pytest.raises(UsageError, match=r"the run is .*expected a run, its id, or 'last'"):
        run_virtual(stretto.explain(workflow, run))
