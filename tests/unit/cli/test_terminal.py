"""What both streams do with texts and widths that are none."""

import json

import pytest

from stretto.cli.terminal import PIPED_WIDTH, json_bytes, note, notes, print_json, results
from tests.unit.cli.conftest import Cli


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("caf\u00e9", "caf\u00e9"),
        ("\udcff.db", "\ufffd.db"),
        ({"path": ["\udc80", 2**53, None, 0.5]}, {"path": ["\ufffd", 2**53, None, 0.5]}),
        ({"\udcff": '"\\'}, {"\ufffd": '"\\'}),
    ],
)
def test_json_is_valid_whatever_the_texts(capsys: pytest.CaptureFixture[str], value: object, shown: object) -> None:
    assert json.loads(json_bytes(value)) == shown  # type: ignore[arg-type]  # cases of many types
    print_json(value)  # type: ignore[arg-type]  # cases of many types
    assert json.loads(capsys.readouterr().out) == shown


def test_a_note_shows_what_is_no_text_and_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    note("kept in \udcff\x1b[31m.db")
    assert capsys.readouterr().err == "kept in \ufffd\ufffd[31m.db\n"


@pytest.mark.parametrize("columns", ["", "0", "000", "-3", "wide", "\u00b2", "1e3", "99999999999"])
def test_columns_that_are_no_width_leave_it_unknown(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", columns)
    assert (results().width, notes().width) == (PIPED_WIDTH, PIPED_WIDTH)


def test_columns_that_are_a_width_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    assert results().width == 72


@pytest.mark.parametrize("verb", [["check"], ["run", "-h"], ["doctor"]])
def test_without_a_width_everything_is_said(cli: Cli, monkeypatch: pytest.MonkeyPatch, verb: list[str]) -> None:
    wide = cli(*verb).out
    monkeypatch.setenv("COLUMNS", "0")
    assert cli(*verb).out.split() == wide.split()
