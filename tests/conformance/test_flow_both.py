"""Both interpreters of a Plan give the same: the data cases of `flow/`, run by the engine and as a batch of one."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from ruamel.yaml import YAML

import stretto
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.record.model import Run, StepRecord
from stretto.types.errors import InputError, UsageError

torch.set_num_threads(1)

CASES_DIR = Path(__file__).parent / "flow"

SEED = 11


def _cases(*names: str) -> list[Any]:
    yaml = YAML(typ="safe", pure=True)
    cases = [(name, case) for name in names for case in yaml.load(CASES_DIR / name)]
    return [pytest.param(case, id=f"{Path(name).stem}: {case['name']}") for name, case in cases]


def _loaded(case: dict[str, Any], folder: Path) -> stretto.Workflow:
    for name in ("components.py", "modules.py"):
        shutil.copy(CASES_DIR / name, folder / name)
    for name, content in case["files"].items():
        (folder / name).write_text(content)
    return stretto.load(folder / next(iter(case["files"])), store=folder / "runs.db")


def _but_times(step: StepRecord) -> dict[str, Any]:
    told = {name: getattr(step, name) for name in step.__struct_fields__ if not name.endswith("_ms")}
    told["attempts"] = [attempt.error for attempt in step.attempts]
    return {**told, "input": step.input_value, "output": step.output_value}


def _but_ids(run: Run) -> dict[str, Any]:
    names = ("status", "reason", "error", "labels", "seed", "reward", "rewards", "manifest", "evidence", "usage")
    told = {name: getattr(run, name) for name in names}
    return {**told, "output": run.output_value, "input": run.input_value, "memory": run.memory_value}


FALLBACK = "`fallback` of the workflow answers in place of a run"
DOMAINS = "is a sub-workflow with values in semantic domains, which only the engine aligns"

REFUSED = {
    "what answers in the workflow's place is said in the domain of its output": FALLBACK,
    "an input that means nothing is answered by the workflow's fallback, which is not told it either": FALLBACK,
    "one that means something never comes to it": FALLBACK,
    "a sub-workflow's own domain, said in those of the workflow around it": DOMAINS,
    "a sub-workflow that is given what means nothing": DOMAINS,
}
"""What only the engine does: the case, and why. So is every case of `business_run.yaml`."""


@pytest.mark.parametrize("case", _cases("differentiable.yaml", "run.yaml", "meaning_run.yaml", "replay.yaml"))
def test_a_batch_of_one_is_recorded_as_the_run_is(case: dict[str, Any], tmp_path: Path) -> None:
    asked = stretto.RunRequest(input=case["input"], seed=SEED, reference=case.get("reference"))
    with _loaded(case, tmp_path) as workflow:
        if case["name"] in REFUSED:
            with pytest.raises(UsageError, match=REFUSED[case["name"]]):
                DifferentiableWorkflow(workflow)
            return
        module = DifferentiableWorkflow(workflow).eval()
        if "input" in case.get("expect", {}):
            with pytest.raises(InputError):
                module([asked])
            return
        (batched,) = module([asked]).runs
        module.close()
        run = workflow.run_sync(asked.input, seed=SEED, reference=asked.reference)
    assert [_but_times(step) for step in _in_order(batched)] == [_but_times(step) for step in _in_order(run)]
    assert _but_ids(batched) == _but_ids(run)


@pytest.mark.parametrize("case", _cases("business_run.yaml"))
def test_a_workflow_with_a_fallback_of_its_own_is_the_engines(case: dict[str, Any], tmp_path: Path) -> None:
    with _loaded(case, tmp_path) as workflow, pytest.raises(UsageError, match=FALLBACK):
        DifferentiableWorkflow(workflow)


def _by_workflow() -> list[Any]:
    """The cases that several runs of one workflow make."""
    cases = YAML(typ="safe", pure=True).load(CASES_DIR / "differentiable.yaml")
    groups: dict[str, list[dict[str, Any]]] = {}
    for case in cases:
        groups.setdefault(str(case["files"]), []).append(case)
    return [pytest.param(group, id=group[0]["name"]) for group in groups.values()]


@pytest.mark.parametrize("cases", _by_workflow())
def test_runs_of_one_batch_fare_as_each_does_alone(cases: list[dict[str, Any]], tmp_path: Path) -> None:
    asked = [
        stretto.RunRequest(input=case["input"], seed=SEED + row, reference=case.get("reference"))
        for row, case in enumerate([*cases, *reversed(cases)])
    ]
    with _loaded(cases[0], tmp_path) as workflow:
        module = DifferentiableWorkflow(workflow).eval()
        batched = module(asked).runs
        module.close()
        alone = [workflow.run_sync(each.input, seed=each.seed, reference=each.reference) for each in asked]
    for one, other in zip(batched, alone, strict=True):
        assert [_fate(step) for step in _in_order(one)] == [_fate(step) for step in _in_order(other)]
        assert (one.status, one.reason, one.seed, one.manifest) == (
            other.status,
            other.reason,
            other.seed,
            other.manifest,
        )
        assert _close(one.output_value, other.output_value)
        assert _close(one.reward, other.reward)


def _fate(step: StepRecord) -> tuple[object, ...]:
    return step.path, step.status, step.reason, [action.chosen for action in step.actions]


def _close(one: Any, other: Any) -> bool:
    """Equal but for how a batch rounds."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_close(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_close, one, other))
    return bool(one == pytest.approx(other, rel=1e-5)) if isinstance(one, float) else bool(one == other)


def _in_order(run: Run) -> list[StepRecord]:
    """Branches beside each other end in any order."""
    return sorted(run.steps, key=lambda step: step.path)
