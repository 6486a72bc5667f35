"""`stretto new`: the questions, the drawing, the files."""

import errno
import os
import re
from pathlib import Path

import pytest

from stretto.cli.diagram import contract_text
from stretto.cli.drawing import ASCII, Arrow, Box, draw
from stretto.cli.new.folder import Write, new_folder
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
    ("given", "writes"),
    [
        ("claims (reads), payouts (writes)", [False, True]),
        ("claims (read), payouts (write)", [False, True]),
        ("claims(Reads), payouts(WRITES)", [False, True]),
        ("claims, payouts*", [False, True]),
        ("claims, payouts *", [False, True]),
        ("claims*, payouts* (writes)", [True, True]),
    ],
)
def test_what_a_system_does_is_read_as_the_scaffold_writes_it(given: str, writes: list[bool]) -> None:
    systems = answered(systems=given).systems
    assert [(each.name, each.writes) for each in systems] == list(zip(["claims", "payouts"], writes, strict=True))


def test_the_systems_line_of_a_readme_answers_the_question(cli: Cli, folder: Path) -> None:
    assert cli("new", "first", "--yes", "--systems", "claims, payouts*").code == 0
    readme = (folder / "first" / "README.md").read_text()
    line = readme.partition("The executor calls ")[2].partition(".\n")[0]
    assert answered(systems=line) == answered(systems="claims, payouts*")


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
        ({"systems": "a b c d/e"}, r"system 'a b c d/e' cannot be a name .*; for example: orders, refunds\*"),
        ({"systems": "claims, payouts (changes)"}, r"system 'payouts \(changes\)' cannot be a name"),
        ({"systems": "claims (reads, writes)"}, r"system 'claims \(reads' cannot be a name"),
        ({"systems": "payouts (writes)."}, r"system 'payouts \(writes\)\.' cannot be a name"),
        ({"systems": "payouts: writes"}, "system 'payouts: writes' cannot be a name"),
        ({"systems": "(writes)"}, r"system '\(writes\)' cannot be a name"),
        ({"systems": "*payouts"}, r"system '\*payouts' cannot be a name"),
        ({"systems": "-payouts"}, "system '-payouts' cannot be a name"),
        ({"systems": "payouts writes"}, r"system 'payouts writes' .*; expected payouts \(writes\) or payouts_writes"),
        ({"systems": "payouts* (reads)"}, r"system 'payouts\* \(reads\)' writes by its \* and reads by"),
        ({"measures": "margin (cost)"}, r"measure 'margin \(cost\)' cannot be a name .*; for example: solved, -effort"),
        ({"measures": "\N{MINUS SIGN}effort"}, "measure '\N{MINUS SIGN}effort' cannot be a name"),
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
    assert "error: nobody answers; --yes takes the defaults" in told.err.splitlines()
    assert not (folder / "desk").exists()


def test_a_closed_keyboard_is_nobody_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    told = cli("new", "desk")
    assert (told.code, told.err.splitlines()[0]) == (2, "error: nobody answers; --yes takes the defaults")


def test_answers_are_read_from_stdin_and_asked_for_on_stderr(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "answers").write_text("who to ask\nledger\n\nmargin\n")
    with (folder / "answers").open() as answers:
        monkeypatch.setattr("sys.stdin", answers)
        told = cli("new", "desk", "--json")
    assert told.document["files"] == list(FILES)
    assert [line for line in told.err.splitlines() if not line.startswith("  [")] == [each.text for each in QUESTIONS]


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

    def full(path: Path, text: str, encoding: str) -> int:
        write_text(path, text[:10], encoding)
        if next(count) >= written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return write_text(path, text, encoding)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        told = cli("new", "desks/desk", "--yes")
    assert told.code == 2
    assert "cannot be written: No space left on device; nothing was made" in told.err
    assert (folder / "desks").exists() is there
    assert cli("new", "desks/desk", "--yes").code == 0


@pytest.mark.parametrize(("link", "name"), [("keep", "keep/agent"), ("keep", "keep/deep/agent"), ("agent", "agent")])
def test_a_link_that_leads_nowhere_is_named_and_left_alone(cli: Cli, folder: Path, link: str, name: str) -> None:
    (folder / link).symlink_to("/nowhere/backup")
    told = cli("new", name, "--yes")
    assert told.code == 2
    assert f"{link} is a link to /nowhere/backup, which is not there; make that folder first" in told.err
    assert (folder / link).is_symlink()


def test_a_link_to_an_empty_folder_is_written_through(cli: Cli, folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "desk").symlink_to("real")
    assert cli("new", "desk", "--yes").code == 0
    assert sorted(path.name for path in (folder / "real").iterdir()) == sorted(FILES)
    assert 'name: "desk"' in (folder / "real" / "workflow.yaml").read_text()


@pytest.mark.parametrize("there", [False, True])
def test_what_others_put_into_the_folder_meanwhile_stays(folder: Path, there: bool) -> None:
    if there:
        (folder / "desk").mkdir()

    def stopped(write: Write) -> None:
        write("mine", "x")
        (folder / "desk" / "theirs").write_text("kept")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), new_folder(folder / "desk") as write:
        stopped(write)
    assert [path.name for path in (folder / "desk").iterdir()] == ["theirs"]


def test_a_file_that_came_meanwhile_is_not_written_over(folder: Path) -> None:
    def overtaken(write: Write) -> None:
        (folder / "desk" / "mine").write_text("kept")
        write("mine", "x")

    with pytest.raises(UsageError, match="mine cannot be written: File exists"), new_folder(folder / "desk") as write:
        overtaken(write)
    assert (folder / "desk" / "mine").read_text() == "kept"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("workflow.yaml/desk", "workflow.yaml cannot be written: File exists; nothing was made; that is no folder"),
        ("workflow.yaml/a/desk", "workflow.yaml cannot be written: File exists; nothing was made; that is no folder"),
        (f"{'x' * 300}/desk", "cannot be written: File name too long; nothing was made; choose a shorter name"),
        ("y/" * 3000 + "desk", "cannot be written: File name too long; nothing was made; choose a shorter name"),
        ("/proc/desk", "/proc/desk cannot be written: No such file or directory; nothing was made; choose a folder"),
    ],
)
def test_a_folder_that_cannot_be_made_is_named_with_what_to_do(cli: Cli, folder: Path, name: str, says: str) -> None:
    before = sorted(folder.rglob("*"))
    told = cli("new", name, "--yes")
    assert told.code == 2
    assert says in " ".join(told.err.split())
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("name", ["123", "null", "true", "1.0", "1e5", "0x10", "yes", "2020-01-01"])
def test_a_name_that_yaml_would_read_as_something_else_is_a_name(cli: Cli, name: str) -> None:
    assert cli("new", name, "--yes").code == 0
    assert cli("check", f"{name}/workflow.yaml", "--json").document["workflow"] == name


@pytest.mark.parametrize("given", [".", "./", "../desk"])
def test_the_working_folder_gives_its_own_name(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    (folder / "desk").mkdir()
    monkeypatch.chdir(folder / "desk")
    assert cli("new", given, "--yes").code == 0
    assert 'name: "desk"' in (folder / "desk" / "workflow.yaml").read_text()


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("desk", "cd desk"),
        ("o dd/desk", "cd 'o dd/desk'"),
        ("it's/desk", "cd 'it'\"'\"'s/desk'"),
        ("-x/desk", "cd ./-x/desk"),
    ],
)
def test_the_way_to_the_folder_can_be_pasted(cli: Cli, name: str, way: str) -> None:
    lines = cli("new", "--yes", "--", name).out.splitlines()
    assert f"  {way}" in lines


def test_where_one_stands_already_no_way_is_told(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "desk").mkdir()
    monkeypatch.chdir(folder / "desk")
    assert "  cd " not in cli("new", ".", "--yes").out


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
    ("systems", "flow"),
    [
        ("claims, ledger*", ["input", "planner", "executor", "├ memory", "├ judge", "output"]),
        ("claims, ledger", ["input", "├ memory", "planner", "executor", "├ judge", "output"]),
    ],
)
def test_a_branch_leaves_the_line_where_it_begins_and_the_answer_comes_down_the_line(
    cli: Cli, systems: str, flow: list[str]
) -> None:
    drawing = cli("new", "desk", "--yes", "--systems", systems).out.partition("desk/")[0]
    named = re.findall(r"^( *│  )?│ +(\w+) +│", drawing, re.MULTILINE)
    assert [f"{'├ ' if branch else ''}{name}" for branch, name in named] == flow


@pytest.mark.parametrize(
    ("measures", "unwritten"),
    [("solved, -effort", []), ("solved, -happiness", ["happiness"]), ("settled, happiness", ["settled", "happiness"])],
)
def test_before_the_training_comes_where_measures_of_ones_own_have_to_be_written(
    cli: Cli, folder: Path, measures: str, unwritten: list[str]
) -> None:
    said = cli("new", "desk", "--yes", "--measures", measures).out.partition("type next:")[2]
    components = (folder / "desk" / "components.py").read_text().splitlines()
    before, _, _ = said.partition("stretto train")
    readme, _, _ = (folder / "desk" / "README.md").read_text().partition("stretto train")
    assert ("not measured yet" in before, "not measured yet" in readme) == (bool(unwritten), bool(unwritten))
    for name in unwritten:
        line = 1 + next(number for number, text in enumerate(components) if text.startswith(f"def {name}("))
        assert f"{name} (components.py:{line})" in before
        assert f"`{name}`" in readme


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
