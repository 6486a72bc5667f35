"""`stretto config ...`: what is typed, and what is told."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli

KEY = "steps.planner.timeout"


@pytest.fixture(autouse=True)
def _who(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ada")


def test_a_change_is_told_with_what_holds_and_kept_with_who(cli: Cli) -> None:
    told = cli("config", "set", "workflow.yaml", KEY, "800ms", "--reason", "slow")
    assert (told.code, told.out) == (0, f"{KEY} is 800ms from the next call on (revision 1)\n")
    (change,) = cli("config", "history", "workflow.yaml", "--json").document["changes"]
    assert (change["by"], change["reason"], change["value"]) == ("ada", "slow", "800ms")


def test_by_names_somebody_else(cli: Cli) -> None:
    told = cli("config", "set", "workflow.yaml", KEY, "800ms", "--by", "night shift", "--json").document
    assert told["setting"]["by"] == "night shift"


def test_taking_back_says_what_holds_again(cli: Cli) -> None:
    cli("config", "set", "workflow.yaml", KEY, "800ms")
    told = cli("config", "unset", "workflow.yaml", KEY, "--reason", "well again")
    assert (told.code, told.out) == (0, f"{KEY} is nothing again, as the file says (revision 2)\n")
    out = cli("config", "history", "workflow.yaml").out
    assert "taken back" in out
    assert "by ada: well again" in out
    assert cli("config", "unset", "workflow.yaml", KEY).code == 2


def test_the_list_says_where_each_value_comes_from(cli: Cli) -> None:
    cli("config", "set", "workflow.yaml", KEY, "800ms", "--reason", "slow")
    lines = cli("config", "list", "workflow.yaml").out.splitlines()
    assert lines[0].split()[:4] == [KEY, "800ms", "revision", "1"]
    assert lines[0].endswith("by ada: slow")
    assert lines[1].split() == ["steps.planner.priority", "0", "default"]
    (changed,) = cli("config", "list", "workflow.yaml", "--changed").out.splitlines()
    assert changed.split() == lines[0].split()
    settings = cli("config", "list", "workflow.yaml", "--json").document["settings"]
    assert settings[0]["origin"] == "setting"


def test_a_workflow_of_which_nothing_was_changed_says_so(cli: Cli) -> None:
    assert "nothing of workflow 'trip' was changed" in cli("config", "list", "workflow.yaml", "--changed").err
    assert "nothing of workflow 'trip' was changed" in cli("config", "history", "workflow.yaml").err


def test_a_wrong_key_and_a_wrong_value_exit_with_2_and_the_remedy(cli: Cli) -> None:
    key = cli("config", "set", "workflow.yaml", "steps.planer.timeout", "1s")
    assert (key.code, f"did you mean '{KEY}'?" in key.err) == (2, True)
    value = cli("config", "set", "workflow.yaml", KEY, "800")
    assert (value.code, "try: 800ms or 800s" in value.err) == (2, True)


def test_one_that_the_file_has_outgrown_is_told(cli: Cli, folder: Path) -> None:
    cli("config", "set", "workflow.yaml", KEY, "800ms")
    text = (folder / "workflow.yaml").read_text()
    (folder / "workflow.yaml").write_text(
        text.replace("planner", "thinker").replace("component: thinker", "component: planner")
    )
    out = cli("config", "list", "workflow.yaml", "--changed").out
    assert "800ms is passed over" in out


def test_reasons_are_no_towers_of_words_on_a_narrow_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "the planner is slow while its index is built anew, which takes until the evening"
    cli("config", "set", "workflow.yaml", KEY, "800ms", "--reason", reason)
    monkeypatch.setenv("COLUMNS", "80")
    for verb in (("list", "workflow.yaml", "--changed"), ("history", "workflow.yaml")):
        lines = cli("config", *verb).out.splitlines()
        assert len(lines) <= 4, lines
        assert reason in " ".join(" ".join(lines).split())
