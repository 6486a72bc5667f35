"""Runs the data cases of `flow/`: what the compiler finds, what a run says of bad input and bad components, and what
a replay marks as simulated."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import stretto
from stretto.record.model import decoded
from stretto.types.errors import InputError, SpecError

CASES_DIR = Path(__file__).parent / "flow"


def _cases(name: str) -> list[Any]:
    cases = YAML(typ="safe", pure=True).load(CASES_DIR / name)
    return [pytest.param(case, id=case["name"]) for case in cases]


def _write(case: dict[str, Any], folder: Path) -> Path:
    if not case.get("without_components"):
        shutil.copy(CASES_DIR / "components.py", folder / "components.py")
    for name, content in case["files"].items():
        (folder / name).write_text(content)
    first: str = next(iter(case["files"]))
    return folder / first


def _load(case: dict[str, Any], folder: Path) -> stretto.Workflow:
    return stretto.load(_write(case, folder), store=folder / "runs.db")


COMPILED = ("flow.yaml", "business_flow.yaml", "promises.yaml", "meaning.yaml", "resources_flow.yaml")


@pytest.mark.parametrize("case", [case for name in COMPILED for case in _cases(name)])
def test_the_compiler_says_what_the_case_expects(case: dict[str, Any], tmp_path: Path) -> None:
    expected = case["expect"].get("problems", [])
    try:
        _load(case, tmp_path)
    except SpecError as error:
        found, shown = error.problems, str(error)
    else:
        found, shown = (), ""
    assert [problem.code for problem in found] == [problem["code"] for problem in expected], shown
    for problem, wanted in zip(found, expected, strict=True):
        text = str(problem)
        assert Path(problem.file).name == wanted.get("file", "workflow.yaml"), text
        assert problem.line == wanted.get("line", problem.line), text
        assert problem.column == wanted.get("column", problem.column), text
        assert [part for part in wanted.get("contains", []) if part not in text] == [], text


@pytest.mark.parametrize("case", [*_cases("run.yaml"), *_cases("business_run.yaml")])
def test_a_run_says_what_the_case_expects(case: dict[str, Any], tmp_path: Path) -> None:
    expect = case["expect"]
    with _load(case, tmp_path) as workflow:
        if "input" in expect:
            with pytest.raises(InputError) as caught:
                workflow.run_sync(case["input"])
            assert sorted(violation.pointer for violation in caught.value.violations) == expect["input"]
            assert list(workflow.store.list()) == []
            return
        run = workflow.run_sync(case["input"])
    assert run.status == expect["status"], run.error
    assert run.reason == expect.get("reason", run.reason)
    message = "" if run.error is None else f"{run.error.message} {run.error.violations}"
    assert [part for part in expect.get("error", []) if part not in message] == [], message
    if "output" in expect:
        assert decoded(run.output) == expect["output"]


def _told(evidence: dict[str, Any]) -> list[list[Any]]:
    return [[note["value"], note["to"], note["by"]] for note in evidence.get("alignments", [])]


@pytest.mark.parametrize("case", _cases("meaning_run.yaml"))
def test_what_crosses_into_a_domain_is_a_value_of_it(case: dict[str, Any], tmp_path: Path) -> None:
    expect = case["expect"]
    with _load(case, tmp_path) as workflow:
        if "input" in expect:
            with pytest.raises(InputError) as caught:
                workflow.run_sync(case["input"])
            assert [violation.pointer for violation in caught.value.violations] == expect["input"]
            return
        run = workflow.run_sync(case["input"])
    assert run.status == expect["status"], run.error
    assert run.reason == expect.get("reason", run.reason)
    assert run.error is None or run.error.code == expect["code"]
    if "output" in expect:
        assert run.output_value == expect["output"]
    steps = {str(step.path): step for step in run.steps}
    if "request" in expect:
        assert steps["executor"].input_value == expect["request"]
    found: dict[str, list[list[Any]]] = {
        "run": _told(run.evidence),
        **{path: _told(step.evidence) for path, step in steps.items()},
    }
    assert {path: told for path, told in found.items() if told} == expect["alignments"]
    assert [path for path, step in steps.items() if step.is_quarantined] == expect.get("quarantined", [])
    for path, count in expect.get("attempts", {}).items():
        assert len(steps[path].attempts) == count


@pytest.mark.parametrize("case", _cases("replay.yaml"))
async def test_a_replay_marks_what_the_case_expects_and_nothing_else(case: dict[str, Any], tmp_path: Path) -> None:
    expect = case["expect"]
    async with _load(case, tmp_path) as workflow:
        run = await workflow.run(case["input"])
        again = await workflow.replay(run, outputs=case["outputs"])
    assert run.status == expect.get("recorded", "ok"), run.error
    assert again.status == expect.get("status", "ok"), again.error
    assert sorted(step.path for step in again.steps if step.simulated) == sorted(expect["simulated"])
    assert not any(step.simulated for step in run.steps)
