"""`stretto vagueness`: what it tells people and programs, and what it refuses."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli
from tests.unit.learn.adversity.test_measuring import COMPONENTS, TASKS, WORKFLOW

STEPS = ("--tasks", "tasks.jsonl", "--planner", "plan", "--executor", "act")


@pytest.fixture
def desk(folder: Path) -> Path:
    """A vague planner with a forgiving executor, and a policy beside them."""
    (folder / "components.py").write_text(COMPONENTS)
    (folder / "workflow.yaml").write_text(WORKFLOW.replace("PLANNER", "vague").replace("EXECUTOR", "forgiving"))
    lines = [json.dumps({"name": each.name, "input": each.input, "reference": each.reference}) for each in TASKS]
    (folder / "tasks.jsonl").write_text("\n".join(lines))
    return folder


@pytest.mark.usefixtures("desk")
def test_it_tells_the_reward_of_each_side_and_both_shares(cli: Cli) -> None:
    told = cli("vagueness", *STEPS, "--strict", "literal")
    assert told.code == 0, told.err
    lines = [line.split() for line in told.out.splitlines()]
    found = {" ".join(line[:-4]): line[-4] for line in lines if len(line) > 4 and line[-2] == "to"}
    assert found["with its own executor"] == found["with what it said of other tasks"] == "1.000"
    assert found["with literal"] == "0.333"
    assert "of its success is lost with other executors" in told.out
    assert "of its success remains whatever it says" in told.out


@pytest.mark.usefixtures("desk")
def test_json_has_the_figures_and_nothing_is_kept(cli: Cli, desk: Path) -> None:
    told = cli("vagueness", *STEPS, "--strict", "literal", "--runs", "2", "--json")
    found = json.loads(told.out)
    assert set(found) == {
        "own", "strict", "answers", "messages", "failed", "vagueness", "forgiveness", "undefined"
    }  # fmt: skip
    assert found["own"] == {"value": 1.0, "low": 1.0, "high": 1.0, "runs": 24}
    assert found["vagueness"]["low"] <= found["vagueness"]["value"] <= found["vagueness"]["high"]
    assert not (desk / ".stretto").exists()


def test_where_the_own_executor_has_no_success_it_says_so_and_fails(cli: Cli, desk: Path) -> None:
    (desk / "workflow.yaml").write_text(WORKFLOW.replace("PLANNER", "vague").replace("EXECUTOR", "literal"))
    told = cli("vagueness", *STEPS, "--strict", "forgiving")
    assert told.code == 1
    assert "vagueness is not defined: the planner's own executor does no better" in told.out.replace("\n", " ")


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "give --strict FILE, such as an earlier checkpoint"),
        (("--strict", "nobody"), "--strict nobody: no file or folder is there, and workflow"),
        (("--strict", "nobody"), "has no component 'nobody'"),
        (("--strict", "workflow.yaml"), "is of kind python, which has no weights; name another component"),
        (("--strict", "forgiving"), "'forgiving' is the executor itself"),
        (("--noise", "0.5"), "has no number that varies"),
        (("--strict", "literal", "--checkpoint", "vague=x.safetensors"), "it has no weights"),
    ],
)
def test_what_tells_nothing_is_refused(cli: Cli, arguments: tuple[str, ...], told: str) -> None:
    found = cli("vagueness", *STEPS, *arguments)
    assert found.code == 2
    assert told in found.err.replace("\n", " ")
    assert found.out == ""
