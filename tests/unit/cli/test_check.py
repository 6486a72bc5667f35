"""`stretto check`: what it says of a good file and of a bad one."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import WORKFLOW, Cli


def test_a_good_file_is_told_with_steps_components_and_ok_last(cli: Cli) -> None:
    told = cli("check", "workflow.yaml")
    assert (told.code, told.err) == (0, "")
    lines = told.out.splitlines()
    assert lines[0].startswith("trip 1.2.0")
    assert "durability step" in lines[1]
    assert lines[-1] == "ok: 3 steps, 3 components"
    assert any(line.split()[:4] == ["2", "book", "book", "write"] for line in lines)


def test_lines_end_without_spaces(cli: Cli) -> None:
    assert all(line == line.rstrip() for line in cli("check", "workflow.yaml").out.splitlines())


def test_effects_are_told_whole_where_no_step_has_a_rule(cli: Cli, folder: Path) -> None:
    (folder / "workflow.yaml").write_text("steps: [{name: book, component: book, input_mapping: {plan: input.plan}}]")
    assert "1  book  book  write" in cli("check", "workflow.yaml").out


def test_problems_go_to_stderr_with_place_and_caret(cli: Cli, folder: Path) -> None:
    (folder / "workflow.yaml").write_text(WORKFLOW.replace("input_mapping: {plan", "inputmapping: {plan"))
    told = cli("check", "workflow.yaml")
    assert (told.code, told.out) == (1, "")
    assert "workflow.yaml:17:5: " in told.err
    assert "\n      |     ^^^^^^^^^^^^\n" in told.err
    assert "try: input_mapping" in told.err
    assert told.err.rstrip().endswith("1 problem in workflow.yaml; nothing was run")


def test_json_holds_every_problem(cli: Cli, folder: Path) -> None:
    (folder / "workflow.yaml").write_text(WORKFLOW.replace("component: book", "component: bok"))
    told = cli("check", "workflow.yaml", "--json")
    assert (told.code, told.err) == (1, "")
    error = told.document["error"]
    assert error["code"] == "spec"
    assert [problem["line"] for problem in error["problems"]] == [16]


def test_json_of_a_good_file_is_the_plan(cli: Cli) -> None:
    document = cli("check", "workflow.yaml", "--json").document
    assert document["ok"] is True
    assert [step["path"] for step in document["steps"]] == ["planner", "book", "margin"]
    assert {component["name"] for component in document["components"]} == {"planner", "book", "margin"}


def test_nothing_is_left_on_disk_and_nothing_else_on_stdout(cli: Cli, folder: Path) -> None:
    with (folder / "components.py").open("a") as file:
        file.write('print("imported")')
    told = cli("check", "workflow.yaml", "--json")
    assert told.document["ok"] is True
    assert told.err == "imported\n"
    assert not (folder / ".stretto").exists()


def test_a_file_that_is_not_there_is_wrong_usage(cli: Cli) -> None:
    told = cli("check", "nope.yaml")
    assert told.code == 2
    assert "there is no such file" in told.err


def test_verbose_says_where_a_type_is_known_only_at_run_time(cli: Cli) -> None:
    assert "is dyn" not in cli("check", "workflow.yaml").out
    assert "workflow.yaml:17:28: `" in cli("check", "-v", "workflow.yaml").out
    assert "` is dyn: " in cli("check", "-v", "workflow.yaml").out


@pytest.mark.parametrize("width", [60, 80, 140])
def test_no_line_is_wider_than_the_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert max(map(len, cli("check", "-v", "workflow.yaml").out.splitlines())) <= width
