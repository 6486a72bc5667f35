"""`stretto train`: a policy of a workflow learns from the workflow's own runs."""

import json
import re
import shlex
from pathlib import Path

import pytest

from stretto.cli.new.scaffold import scaffold
from stretto.cli.new.whiteboard import read_answers
from stretto.cli.train_options import TRAIN_OPTIONS, read_options
from stretto.learn.options import TrainOptions
from stretto.learn.rollouts import Rollouts
from tests.unit.cli.conftest import Cli, Told

SMALL = ["--set", "updates=2", "--set", "tasks_per_update=6"]
PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "cli.md").read_text()


@pytest.fixture
def desk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The scaffold's folder, which has a policy, a measured reward, and tasks."""
    place = folder / "desk"
    place.mkdir()
    for name, text in scaffold("desk", read_answers(lambda _: "")).items():
        (place / name).write_text(text)
    monkeypatch.chdir(place)
    return place


def test_the_reward_rises_and_the_weights_are_kept(cli: Cli, desk: Path) -> None:
    told = cli("train", "workflow.yaml", "--tasks", "tasks.jsonl", "--json")
    assert told.code == 0, told.err
    rewards = [update["reward_mean"] for update in told.document["updates"]]
    assert len(rewards) == 10
    assert sum(rewards[-3:]) / 3 > rewards[0] + 0.15
    assert Path(told.document["checkpoint"]).is_file()
    assert len(cli("runs", "list", "--purpose", "train", "--limit", "999", "--json").document["runs"]) == 480


def test_each_update_is_told_on_stderr_and_what_to_do_with_the_weights(cli: Cli, desk: Path) -> None:
    told = cli("train", "workflow.yaml", "--tasks", "tasks.jsonl", "--set", "updates=2", "--set", "tasks_per_update=6")
    assert told.err.count("\nupdate ") + told.err.startswith("update ") == 2
    assert "serve them: stretto run workflow.yaml --checkpoint planner=" in told.err
    assert "for good: give the policy 'planner' checkpoint=" in told.err
    assert told.out.startswith("reward ")


FIRST = ("train", "workflow.yaml", "--tasks", "tasks.jsonl", "--set", "tasks_per_update=6")


def typed(cli: Cli, command: str) -> Told:
    """Type a command that was printed."""
    _, *words = shlex.split(command)
    return cli(*words, "--json")


def test_a_folder_that_holds_a_training_is_refused_with_the_commands_that_go_on(cli: Cli, desk: Path) -> None:
    assert cli(*FIRST, "--set", "updates=1").code == 0
    told = cli(*FIRST, "--set", "updates=1")
    assert told.code == 2
    assert ".stretto/training/planner holds a training already, 1 update long" in told.err
    commands = dict(re.findall(r"^  (go on with it|train anew): (.*)$", told.err, re.MULTILINE))
    assert len(typed(cli, commands["go on with it"]).document["updates"]) == 2
    anew = typed(cli, commands["train anew"]).document
    assert (len(anew["updates"]), Path(anew["checkpoint"]).parts[-3]) == (1, "planner-2")
    assert "--folder .stretto/training/planner-3" in cli(*FIRST).err


def test_a_training_with_nothing_left_to_do_says_how_to_go_on(cli: Cli, desk: Path) -> None:
    cli(*FIRST, "--set", "updates=2")
    told = cli(*FIRST, "--set", "updates=2", "--resume")
    assert told.code == 0
    assert "nothing is left to do: the training in .stretto/training/planner has made 2 updates of 2" in told.err
    [command] = re.findall(r"^go on with it: (.*)$", told.err, re.MULTILINE)
    assert "updates=4" in command
    assert len(typed(cli, command).document["updates"]) == 4
    assert "nothing is left" not in cli(*FIRST, "--set", "updates=5", "--resume").err


def test_ctrl_c_tells_of_all_updates_that_the_folder_holds(
    cli: Cli, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    assert cli(*FIRST, "--set", "updates=1").code == 0
    monkeypatch.setattr(Rollouts, "make", stopped)
    told = cli(*FIRST, "--set", "updates=2", "--resume")
    assert told.code == 130
    assert "stopped by Ctrl-C with 1 update made; --resume goes on with the training in .stretto" in told.err
    told = cli(*FIRST, "--set", "updates=2", "--resume", "--json")
    assert (told.code, told.document["error"]["code"]) == (130, "cancelled")


def test_a_training_that_is_not_the_same_is_refused_with_what_differs(cli: Cli, desk: Path) -> None:
    cli(*FIRST, "--set", "updates=1")
    changed = ("--resume", "--set", "advantage=std", "--set", "clip_low=0.1", "--set", "updates=2")
    told = cli(*FIRST, *changed)
    assert told.code == 2
    what = "advantage was batch and is now std, clip_low was not set and is now 0.1. Give the same"
    assert f"cannot be resumed: {what}" in told.err


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"helper.py": "N = 2\n"}, "the code in helper.py is another. Give"),
        ({"helper.py": None}, "the code in helper.py is no longer there, or not imported. Give"),
        ({"notes.txt": "otherwise"}, None),
        ({}, None),
    ],
)
def test_a_training_goes_on_with_the_code_that_it_began_with(
    cli: Cli, desk: Path, changes: dict[str, str | None], expected: str | None
) -> None:
    components = desk / "components.py"
    optional = "try:\n    import helper\nexcept ImportError:\n    pass\n"
    components.write_text(components.read_text() + optional)
    (desk / "helper.py").write_text("N = 1\n")
    cli(*FIRST, "--set", "updates=1")
    for name, text in changes.items():
        if text is None:
            (desk / name).unlink()
        else:
            (desk / name).write_text(text)
    told = cli(*FIRST, "--resume", "--set", "updates=2")
    assert (told.code, "cannot be resumed" in told.err) == ((0, False) if expected is None else (2, True)), told.err
    assert expected is None or f"cannot be resumed: {expected}" in told.err


def test_a_training_that_a_bug_stopped_goes_on_once_that_is_mended(cli: Cli, desk: Path) -> None:
    components = desk / "components.py"
    right = "return 1.0 if found else 0.0"
    bug = 'import pathlib\n    if pathlib.Path("odd").exists():\n        raise ValueError("a bug")\n    '
    components.write_text(components.read_text().replace(right, bug + right))
    assert cli(*FIRST, "--set", "updates=1").code == 0
    (desk / "odd").touch()
    on = (*FIRST, "--set", "updates=3", "--resume")
    assert "update 2 has no decision to learn from (reward_unknown: 24)" in cli(*on).err
    components.write_text(components.read_text().replace('raise ValueError("a bug")', "pass"))
    remedy = (
        "Give the same, go on with the other code by --changed-code (changed_code=True), or train in another folder"
    )
    assert f"cannot be resumed: the code in components.py is another. {remedy}" in cli(*on).err
    told = cli(*on, "--changed-code", "--json")
    [first, second] = [line for line in told.err.splitlines() if line.startswith("update ")]
    assert first.endswith("24 decisions  with the changed code")
    assert second.endswith("24 decisions")
    changed = [each["changed_code"] for each in told.document["updates"]]
    assert changed == [[], ["the code in components.py is another"], []]
    assert cli(*FIRST, "--set", "updates=4", "--resume").code == 0


def test_changed_code_is_typed_with_what_goes_on_with_a_training(cli: Cli, desk: Path) -> None:
    says = "--changed-code has no effect without --resume: a training that begins holds the code that is there; leave"
    told = cli(*FIRST, "--changed-code")
    assert (told.code, says in told.err) == (2, True)
    cli(*FIRST, "--set", "updates=1")
    told = cli(*FIRST, "--set", "updates=2", "--resume", "--changed-code")
    assert "has no effect: no code has changed that the training in .stretto/training/planner holds" in told.err
    components = desk / "components.py"
    components.write_text(components.read_text() + "# a remark\n")
    told = cli(*FIRST, "--set", "updates=1", "--resume", "--changed-code")
    [command] = re.findall(r"^go on with it: (.*)$", told.err, re.MULTILINE)
    assert len(typed(cli, command).document["updates"]) == 2


def test_an_unknown_reward_teaches_nothing_and_says_so(cli: Cli, desk: Path) -> None:
    components = desk / "components.py"
    components.write_text(components.read_text().replace("return 1.0 if found else 0.0", "return None"))
    told = cli("train", "workflow.yaml", "--tasks", "tasks.jsonl", *SMALL)
    assert told.code == 1
    assert "reward_unknown: 24" in told.err


def test_a_byte_order_mark_before_the_tasks_is_passed_over(cli: Cli, desk: Path) -> None:
    tasks = desk / "tasks.jsonl"
    tasks.write_text(tasks.read_text(), encoding="utf-8-sig")
    assert cli(*FIRST, "--set", "updates=1").code == 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"name": "a"}', "tasks.jsonl:1 is no task: Object missing required field `input`"),
        ('{"name": "a", "input": {}, "refrence": 1}', "a task has no field 'refrence'; did you mean 'reference'?"),
        ("[]", "tasks.jsonl:1 is no task"),
        ('{"name": "a", "name": "b", "input": {}}', "tasks.jsonl:1 has the key 'name' twice in one object"),
        ('{"name": "a", "input": {"x": 1, "x": 1}}', "tasks.jsonl:1 has the key 'x' twice in one object"),
        ('{"name": "a", "input": {"x": 99999999999999999999}}', "1: 99999999999999999999 lies outside [-2^63, 2^63)"),
        ('{"name": "a", "input": {}, "reference": -9223372036854775809}', "lies outside [-2^63, 2^63); write it as a"),
        ("", "tasks.jsonl holds no tasks"),
        ('{"name": "a", "input": {"request": "x"}}', "tasks_per_update is 6, but there is 1 task; give more tasks"),
        ('{"name": "a", "input": {}}', "the input of task 'a' does not fit its schema"),
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
        (["--set", "updates=lots"], "--set updates=lots: expected an integer, such as 10"),
        (["--set", "updates=1.5"], "--set updates=1.5: expected an integer, such as 10"),
        (["--set", "kl="], "--set kl=: expected a number, such as 0.001"),
        (["--set", "kl=null"], "--set kl=null: expected a number, such as 0.001"),
        (["--set", "clip-low=no"], "--set clip_low=no: expected a number, such as 0.2, or null"),
        (["--set", "advantage=bath"], "did you mean 'batch'? expected one of std, batch, none"),
        (["--set", "seed=-1"], "seed is -1; expected an integer from 0"),
        (["--set", "updates"], "is no pair"),
        (["--set", "tasks-per-update=1", "--set", "tasks_per_update=2"], "--set tasks_per_update is given twice"),
        (["--set", "updates=0"], "updates is 0; expected 1 or more"),
        (["--set", "updates=99999999999"], "updates is 99999999999; expected 100,000 or less"),
        (["--concurrency", "99999999999"], "Invalid value for '--concurrency'"),
        (["--component", "judge"], "'judge' is no policy of it; it has: planner"),
        (["--resume"], "planner holds no training to go on with; leave out `resume` to begin one there"),
        (["--resume", "--folder", "plannr"], "plannr holds no training to go on with"),
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


def test_every_option_of_a_training_is_documented_as_its_type_declares_it() -> None:
    section = PAGE.partition("## `stretto train`")[2].partition("\n## ")[0]
    for option in TRAIN_OPTIONS.values():
        choices = f": {', '.join(f'`{choice}`' for choice in option.choices)}" if option.choices else ""
        assert f"| `{option.name}` | `{option.default}` | {option.means}{choices} |\n" in section
    assert list(TRAIN_OPTIONS) == list(TrainOptions.__struct_fields__)


def test_the_help_tells_every_option_with_its_default_and_its_choices(cli: Cli) -> None:
    told = " ".join(cli("train", "--help").out.split())
    for option in TRAIN_OPTIONS.values():
        assert f"{option.name}={option.default} {option.means}" in told
    assert "(std, batch, none)" in told


@pytest.mark.parametrize("name", TRAIN_OPTIONS)
def test_an_options_default_may_be_typed(name: str) -> None:
    default = TRAIN_OPTIONS[name].default
    assert getattr(read_options([f"{name}={default}"]), name) == default


def test_no_bound_is_typed_as_null() -> None:
    assert read_options(["clip-low=null"]).clip_low is None
