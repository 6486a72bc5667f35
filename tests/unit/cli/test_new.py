"""`stretto new`: the questions, the drawing, the files."""

import errno
import os
from pathlib import Path

import pytest

from stretto.cli.diagram import contract_text
from stretto.cli.drawing import ASCII, Arrow, Box, draw
from stretto.cli.new.scaffold import FILES
from stretto.cli.new.whiteboard import QUESTIONS, Question, Whiteboard, read_answers
from stretto.types.errors import UsageError
from tests.unit.cli.conftest import Cli


def answered(**given: str) -> Whiteboard:
    def answer(question: Question) -> str:
        return given.get(question.name, "")

    return read_answers(answer)


def test_four_questions_are_asked() -> None:
    assert [question.name for question in QUESTIONS] == ["planner", "systems", "memory", "measures"]


def test_no_answer_takes_the_default() -> None:
    board = answered()
    assert [(each.name, each.writes) for each in board.systems] == [("orders", False), ("refunds", True)]
    assert [(each.name, each.weight) for each in board.measures] == [("solved", 1.0), ("effort", -0.1)]


def test_names_become_names_of_python_code() -> None:
    assert [each.name for each in answered(systems="SAP orders*, e-mail").systems] == ["sap_orders", "e_mail"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"systems": ",,"}, "names nothing"),
        ({"systems": "class"}, "cannot be a name"),
        ({"systems": "42"}, "cannot be a name"),
        ({"systems": "memory"}, "system 'memory' is taken: .*; try memory_system"),
        ({"systems": "orders, Dict"}, "system 'dict' is taken"),
        ({"systems": "pretend"}, "is taken"),
        ({"measures": "str"}, "measure 'str' is taken"),
        ({"systems": "a, A"}, "system 'a' is named twice"),
        ({"measures": "-a, a"}, "measure 'a' is named twice"),
        ({"systems": "sales", "measures": "sales"}, "both a system and a measure"),
    ],
)
def test_an_answer_that_cannot_be_used_is_refused(given: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        answered(**given)


def test_the_files_and_the_drawing_come_from_the_answers(cli: Cli, folder: Path) -> None:
    told = cli("new", "desk", "--yes", "--systems", "ledger*, mail", "--measures", "margin, -complaints")
    assert told.code == 0
    for part in ("planner", "memory", "judge", "ledger | mail | nothing", "memory.recent", "cd desk"):
        assert part in told.out
    assert sorted(path.name for path in (folder / "desk").iterdir()) == sorted(FILES)
    assert "complaints: -0.1" in (folder / "desk" / "contract.yaml").read_text()
    assert '"ledger": "write"' in (folder / "desk" / "components.py").read_text()
    assert "ledger (writes), mail (reads)" in (folder / "desk" / "README.md").read_text()


def test_words_with_quotes_line_breaks_and_dollars_do_no_harm(cli: Cli) -> None:
    words = 'who says "no"\nor # $pays: {x}'
    assert cli("new", "desk", "--yes", "--planner", words, "--memory", words).code == 0
    assert cli("check", "desk/workflow.yaml").code == 0


def test_without_anybody_to_answer_the_remedy_is_told(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "nothing").touch()
    with (folder / "nothing").open() as empty:
        monkeypatch.setattr("sys.stdin", empty)
        told = cli("new", "desk")
    assert told.code == 2
    assert "--yes takes the defaults" in told.err
    assert not (folder / "desk").exists()


def test_answers_are_read_from_stdin_and_asked_for_on_stderr(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "answers").write_text("who to ask\nledger\n\nmargin\n")
    with (folder / "answers").open() as answers:
        monkeypatch.setattr("sys.stdin", answers)
        told = cli("new", "desk", "--json")
    assert told.document["files"] == list(FILES)
    assert all(question.text in told.err for question in QUESTIONS)


@pytest.mark.parametrize("name", ["a b", "", "-x", "é", "x" * 65])
def test_a_name_that_cannot_be_a_workflows_is_refused(cli: Cli, name: str) -> None:
    assert cli("new", "--yes", "--", name).code == 2


def test_a_folder_with_something_in_it_is_refused_and_left_alone(cli: Cli, folder: Path) -> None:
    (folder / "desk").mkdir()
    assert cli("new", "desk", "--yes").code == 0
    (folder / "desk" / "workflow.yaml").write_text("mine")
    told = cli("new", "desk", "--yes")
    assert told.code == 2
    assert "is there already and not empty" in told.err
    assert (folder / "desk" / "workflow.yaml").read_text() == "mine"


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("written", [0, 3, 5])
def test_a_disk_that_gets_full_leaves_nothing_that_blocks_the_next_try(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, written: int, there: bool
) -> None:
    if there:
        (folder / "desks" / "desk").mkdir(parents=True)
    write_text, count = Path.write_text, iter(range(99))

    def full(path: Path, text: str) -> int:
        write_text(path, text[:10])
        if next(count) >= written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return write_text(path, text)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        told = cli("new", "desks/desk", "--yes")
    assert told.code == 2
    assert "cannot be written: No space left on device; nothing was made" in told.err
    assert (folder / "desks").exists() is there
    assert cli("new", "desks/desk", "--yes").code == 0


def test_boxes_stand_under_the_arrows_that_lead_to_them() -> None:
    boxes = [Box("input", "a: string", ()), Box("plan", "python, pure", (Arrow("a", "string", "input.a"),))]
    assert draw(boxes, ASCII).plain.splitlines() == [
        "+---------+",
        "|  input  |  a: string",
        "+----+----+",
        "     |  a  string  <- input.a",
        "     v",
        "+---------+",
        "|  plan   |  python, pure",
        "+---------+",
    ]


def test_steps_that_do_not_wait_for_each_other_stand_beside_the_line() -> None:
    boxes = [
        Box("in", "", ()),
        Box("a", "x", (Arrow("f", "int", "s.f"),), beside=True),
        Box("b", "y", (), beside=True),
        Box("out", "", ()),
    ]
    assert draw(boxes, ASCII).plain.splitlines() == [
        "+-------+",
        "|  in   |",
        "+---+---+",
        "    |",
        "    +-----+  f  int  <- s.f",
        "    |     v",
        "    |  +-------+",
        "    |  |   a   |  x",
        "    |  +-------+",
        "    |",
        "    +-----+",
        "    |     v",
        "    |  +-------+",
        "    |  |   b   |  y",
        "    |  +-------+",
        "    |",
        "    |",
        "    v",
        "+-------+",
        "|  out  |",
        "+-------+",
    ]


def test_what_does_not_fit_stands_below_and_keeps_its_column() -> None:
    boxes = [
        Box("in", "one two three four five", ()),
        Box("a", "x", (Arrow("field", "string", "steps.planner.system"),)),
    ]
    assert draw(boxes, ASCII, 26).plain.splitlines() == [
        "+------+",
        "|  in  |  one two three",
        "+---+--+  four five",
        "    |  field  string",
        "    |         <-",
        "    |           steps.planner.system",
        "    v",
        "+------+",
        "|  a   |  x",
        "+------+",
    ]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_new_workflow_is_drawn_as_it_runs_within_the_terminal(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = cli("new", "desk", "--yes").out.partition("desk/")[0].splitlines()
    assert all(len(line) <= width for line in lines)
    assert sum("├" in line for line in lines) == 2  # memory and judge, which do not wait for each other


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({}, "any"),
        (True, "any"),
        ({"type": "string"}, "string"),
        ({"type": "string", "minLength": 1, "maxLength": 20}, "string[1,20]"),
        ({"type": "integer", "minimum": 0}, "integer[0,]"),
        ({"enum": ["a", "b"]}, "a | b"),
        ({"type": "array", "items": {"type": "object"}}, "array[object]"),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, "boolean?"),
        ({"type": ["string", "array", "null"]}, "string | array | null"),
    ],
)
def test_a_contract_is_written_in_a_few_characters(schema: object, text: str) -> None:
    assert contract_text(schema) == text
