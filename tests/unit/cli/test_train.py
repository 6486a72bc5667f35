"""`stretto train`: a policy of a workflow learns from the workflow's own runs."""

import json
from pathlib import Path

import pytest

from stretto.cli.new.scaffold import write_scaffold
from stretto.cli.new.whiteboard import read_answers
from stretto.learn.options import TrainOptions
from tests.unit.cli.conftest import Cli

SMALL = ["--set", "updates=2", "--set", "tasks_per_update=6"]
PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "cli.md").read_text()


@pytest.fixture
def desk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The scaffold's folder, which has a policy, a measured reward, and tasks."""
    place = folder / "desk"
    place.mkdir()
    write_scaffold(place, read_answers(lambda _: ""))
    monkeypatch.chdir(place)
    return place


def test_the_reward_rises_and_the_weights_are_kept(cli: Cli, desk: Path) -> None:
    told = cli("train", "workflow.yaml", "--tasks", "tasks.jsonl", "--json")
    assert told.code == 0, told.err
    rewards = [update["reward_mean"] for update in told.document["updates"]]
    assert len(rewards) == 10
    assert sum(rewards[-3:]) / 3 > rewards[0] + 0.15  # 0.24 to 0.50 or more, whatever the memory holds
    assert Path(told.document["checkpoint"]).is_file()
    assert len(cli("runs", "list", "--purpose", "train", "--limit", "999", "--json").document["runs"]) == 480


def test_each_update_is_told_on_stderr_and_what_to_do_with_the_weights(cli: Cli, desk: Path) -> None:
    told = cli("train", "workflow.yaml", "--tasks", "tasks.jsonl", "--set", "updates=2", "--set", "tasks_per_update=6")
    assert told.err.count("\nupdate ") + told.err.startswith("update ") == 2
    assert "serve them: stretto run workflow.yaml --checkpoint planner=" in told.err
    assert "for good: give the policy 'planner' checkpoint=" in told.err
    assert told.out.startswith("reward ")


def test_a_training_is_resumed_only_when_asked_to(cli: Cli, desk: Path) -> None:
    first = ("train", "workflow.yaml", "--tasks", "tasks.jsonl", "--set", "tasks_per_update=6", "--json")
    assert cli(*first, "--set", "updates=1").code == 0
    assert "holds a training already" in cli(*first, "--set", "updates=2").document["error"]["message"]
    assert len(cli(*first, "--set", "updates=2", "--resume").document["updates"]) == 2


def test_an_unknown_reward_teaches_nothing_and_says_so(cli: Cli, desk: Path) -> None:
    components = desk / "components.py"
    components.write_text(components.read_text().replace("return 1.0 if found else 0.0", "return None"))
    told = cli("train", "workflow.yaml", "--tasks", "tasks.jsonl", *SMALL)
    assert told.code == 1
    assert "reward_unknown: 24" in told.err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"name": "a"}', "tasks.jsonl:1 is no task: Object missing required field `input`"),
        ('{"name": "a", "input": {}, "refrence": 1}', "a task has no field 'refrence'; did you mean 'reference'?"),
        ("[]", "tasks.jsonl:1 is no task"),
        ('{"name": "a", "name": "b", "input": {}}', "tasks.jsonl:1 has the key 'name' twice in one object"),
        ('{"name": "a", "input": {"x": 1, "x": 1}}', "tasks.jsonl:1 has the key 'x' twice in one object"),
        ("", "tasks.jsonl holds no tasks"),
        ('{"name": "a", "input": {}}', "tasks_per_update is 6, but there are 1 tasks"),
    ],
)
def test_a_task_that_is_none_is_told_with_its_line(cli: Cli, desk: Path, line: str, says: str) -> None:
    (desk / "tasks.jsonl").write_text(f"{line}\n")
    told = cli("train", "workflow.yaml", "--tasks", "tasks.jsonl", *SMALL)
    assert told.code == 2
    assert says in told.err


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--set", "updtes=3"], "did you mean 'updates'?"),
        (["--set", "updates=x"], "--set: Expected `int`, got `str`"),
        (["--set", "updates"], "is no pair"),
        (["--set", "tasks-per-update=1", "--set", "tasks_per_update=2"], "--set tasks_per_update: is given twice"),
        (["--set", "updates=0"], "updates is 0; expected 1 or more"),
        (["--component", "judge"], "'judge' is no policy of it; it has: planner"),
        (["--tasks", "nope.jsonl"], "nope.jsonl cannot be read"),
    ],
)
def test_wrong_usage_trains_nothing(cli: Cli, desk: Path, flags: list[str], says: str) -> None:
    told = cli("train", "workflow.yaml", "--tasks", "tasks.jsonl", *flags)
    assert told.code == 2
    assert says in told.err
    assert not (desk / ".stretto" / "training").exists()


def test_a_workflow_without_a_policy_cannot_be_trained(cli: Cli, folder: Path) -> None:
    (folder / "tasks.jsonl").write_text(json.dumps({"name": "a", "input": {"query": "x"}}))
    told = cli("train", "workflow.yaml", "--tasks", "tasks.jsonl")
    assert told.code == 2
    assert "it has none; make one with stretto.SoftmaxPolicy" in told.err


def test_every_option_of_a_training_is_documented() -> None:
    section = PAGE.partition("## `stretto train`")[2].partition("\n## ")[0]
    for name in TrainOptions.__struct_fields__:
        assert f"`{name}`" in section
