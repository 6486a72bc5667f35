"""What is to be copied is in one piece on the narrowest terminal, wherever it stands."""

import io
import shlex
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from stretto.cli.errors import problem_text
from stretto.cli.pasted import PASTED, Whole, whole_lines
from stretto.cli.section import section
from stretto.cli.terminal import Trimmed
from stretto.types.errors import Problem
from tests.unit.cli.conftest import Cli

COMMAND = 'stretto run workflow.yaml --input \'{"request": "I have a question about orders"}\''


def shown(text: Text, width: int) -> list[str]:
    return whole_lines(text, width).plain.splitlines()


@pytest.mark.parametrize(
    "text",
    [
        Text.assemble("some words before it, then: ", (COMMAND, PASTED)),
        Text(COMMAND, PASTED),
        Text(f"some words before it, then: {COMMAND}"),
        Text(f"  {COMMAND}"),
        Text(f"→ {COMMAND}"),
        Text(f"some words before it, and `{COMMAND}`, and after it"),
    ],
)
@pytest.mark.parametrize("width", [20, 40, 80])
def test_no_line_is_broken_inside_a_command(text: Text, width: int) -> None:
    assert sum(COMMAND in line for line in shown(text, width)) == 1


def test_words_around_it_are_wrapped() -> None:
    assert shown(Text.assemble("one two three four ", ("a b c d e", PASTED), " five"), 10) == [
        "one two",
        "three four",
        "a b c d e",
        "five",
    ]


def test_what_mends_a_file_is_in_one_piece_and_words_are_wrapped() -> None:
    mended = '{retry: {attempts: 2}, timeout: 300ms, fallback: {output: {text: "later"}}}'
    for suggestion, is_whole in ((mended, True), (f"write {mended} there", False)):
        text = problem_text(Problem(code="spec.x", message="wrong", suggestion=suggestion), 40)
        assert any(suggestion in line for line in shown(text, 40)) == is_whole


def test_a_report_may_run_over_the_margin_where_it_stands_indented() -> None:
    console = Console(width=30, color_system=None, file=io.StringIO())
    console.print(Trimmed(section("writes", Whole(Text(COMMAND, PASTED)))), soft_wrap=True)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().splitlines() == ["", "writes", f"  {COMMAND}"]


@pytest.mark.parametrize("columns", ["40", "80", "120"])
def test_what_new_says_to_type_is_pasted_as_it_stands(cli: Cli, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    typed = [line for line in cli("new", "desk", "--yes").out.splitlines() if line.startswith("  stretto run ")]
    assert [cli(*shlex.split(line)[1:], "--json").code for line in typed] == [2]  # in the folder that is still to enter
    monkeypatch.chdir("desk")
    assert cli(*shlex.split(typed[0])[1:]).code == 0


@pytest.mark.parametrize("columns", ["60", "80"])
def test_what_settles_a_write_in_doubt_is_in_one_piece(cli: Cli, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    store = str(Path("a folder that is long enough") / "runs.db")
    Path(store).parent.mkdir()
    run = cli("run", "-i", '{"query": "doubt"}', "--json", "--store", store).document["run"]["id"]
    typed = f"stretto runs resume {run} --workflow workflow.yaml --store '{store}' --happened OUTPUT"
    assert typed in cli("runs", "show", "last", "--store", store).out
    assert typed in cli("doctor", "--store", store).out
