"""`stretto runs ...` and `stretto replay` on recorded runs."""

import asyncio
import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path

import pytest

from stretto.store.sqlite import Store
from stretto.types.enums import Durability
from tests.unit.cli.conftest import COMPONENTS, Cli
from tests.unit.record.generated import an_effect, an_open_run

Ran = Callable[..., str]


def test_show_tells_identity_pins_reward_steps_and_writes(cli: Cli, ran: Ran) -> None:
    run_id = ran()
    told = cli("runs", "show", run_id)
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith(f"run {run_id}  ok in ")
    for part in ("trip 1.2.0", "2 * margin 1  sold", "tool = look p=0.80", "write", "done"):
        assert part in told.out


def test_an_unknown_term_is_told_as_unknown_with_its_reason(cli: Cli, ran: Ran) -> None:
    ran("later")
    out = cli("runs", "show", "last").out
    assert "2 * margin unknown  not known yet" in out
    assert "reward           unknown" in out


def test_a_run_is_found_by_last_by_its_beginning_and_by_its_long_name(cli: Cli, ran: Ran) -> None:
    run_id = ran()
    long_name = cli("runs", "show", "last", "--json").document["run"]["workflow_run_id"]
    for wanted in (run_id, run_id[:13], long_name):
        assert cli("runs", "show", wanted, "--json").document["run"]["id"] == run_id


def test_io_shows_what_went_in_and_came_out(cli: Cli, ran: Ran) -> None:
    ran()
    assert '{"plan":"OSLO"}' not in cli("runs", "show", "last").out
    assert '{"plan": "OSLO"}' in cli("runs", "show", "last", "--io").out


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_nothing_that_stands_in_one_piece_is_broken(
    cli: Cli, ran: Ran, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    ran("a query of some words for a plan of as many again")
    monkeypatch.setenv("COLUMNS", str(width))
    out = cli("runs", "show", "last", "--io").out
    assert all(len(line) <= width for line in out.splitlines())
    long_name = cli("runs", "show", "last", "--json").document["run"]["workflow_run_id"]
    pieces = ["planner", "book", "margin", "QUERY", '"booked":', "p=0.80", "trip 1.2.0"]
    for piece in [*pieces, *([long_name] if width >= len(long_name) + 2 else [])]:
        assert piece in out
    for path in ("planner", "book", "margin"):
        assert any(line.startswith(f"  {path} ") for line in out.splitlines())


def test_one_step_is_shown_in_full(cli: Cli, ran: Ran) -> None:
    ran()
    out = cli("runs", "show", "last", "--step", "planner").out
    assert '"plan": "OSLO"' in out
    assert "look with probability 0.8" in out
    assert "among look end" in out


def test_a_step_that_is_not_there_is_wrong_usage_with_json_too(cli: Cli, ran: Ran) -> None:
    ran()
    told = cli("runs", "show", "last", "--step", "planer", "--json")
    assert (told.code, json.loads(told.out)["error"]["code"]) == (2, "usage")


def test_a_step_that_is_not_there_gets_the_nearest(cli: Cli, ran: Ran) -> None:
    ran()
    told = cli("runs", "show", "last", "--step", "planer")
    assert told.code == 2
    assert "did you mean 'planner'?" in told.err


EACH = """
stretto: 1
components: components.py
durability: step
steps:
  - {name: all, for_each: "input.plans", as: plan, max_parallel: 1, component: book, input_mapping: {plan: plan}}
"""


def test_a_map_that_failed_with_an_item_is_shown_as_failed(cli: Cli, folder: Path) -> None:
    (folder / "each.yaml").write_text(EACH.replace("book", "planner").replace("{plan: plan}", "{query: plan}"))
    cli("run", "each.yaml", "--input", '{"plans": ["oslo", 3]}')
    out = cli("runs", "show", "last").out
    assert "not ended" not in out
    told = cli("runs", "show", "last", "--step", "all")
    assert (told.code, told.out.splitlines()[0].startswith("all  failed ")) == (0, True)
    assert "/query: 3 is not of type" in told.out


def test_a_map_that_has_not_ended_names_the_steps_inside_it(cli: Cli, folder: Path) -> None:
    (folder / "each.yaml").write_text(EACH)
    cli("run", "each.yaml", "--input", '{"plans": ["OSLO", "DOUBT"]}')
    told = cli("runs", "show", "last", "--step", "all")
    assert told.code == 2
    assert "step 'all' of run" in told.err
    assert "did not end, so it has no record of its own; the steps inside it have: all[0], all[1]" in told.err


ITEMS = """
stretto: 1
components: components.py
steps:
  - name: all
    for_each: "input.plans"
    as: plan
    steps: [{name: plan, component: planner, input_mapping: {query: plan}}]
"""


def test_an_item_that_ended_is_not_said_not_to_have_ended(cli: Cli, folder: Path) -> None:
    (folder / "items.yaml").write_text(ITEMS)
    cli("run", "items.yaml", "--input", '{"plans": ["oslo"]}')
    told = cli("replay", "last", "--workflow", "items.yaml", "--output", "all[0]={}")
    assert told.code == 2
    assert "step 'all[0]' of run" in told.err
    assert "is one item or round, so it has no record of its own; the steps inside it have: all[0]/plan" in told.err


def test_json_of_show_holds_writes_and_annotations(cli: Cli, ran: Ran) -> None:
    ran()
    document = cli("runs", "show", "last", "--json").document
    assert set(document) == {"run", "effects", "annotations", "store"}
    assert [effect["path"] for effect in document["effects"]] == ["book"]


def test_list_is_newest_first_and_filtered(cli: Cli, ran: Ran) -> None:
    first, second = ran(), ran("doubt")
    listed = cli("runs", "list", "--json").document["runs"]
    assert [run["id"] for run in listed] == [second, first]
    assert [run["in_doubt"] for run in listed] == [True, False]
    assert [run["id"] for run in cli("runs", "list", "--status", "ok", "--json").document["runs"]] == [first]
    assert cli("runs", "list", "--workflow", "other", "--json").document["runs"] == []
    assert len(cli("runs", "list", "--since", "1h", "--limit", "1", "--json").document["runs"]) == 1


def test_list_marks_parked_runs_and_says_when_there_are_more(cli: Cli, ran: Ran) -> None:
    ran(), ran("doubt")
    told = cli("runs", "list", "--limit", "1")
    assert "parked (in doubt)" in told.out
    assert told.err == "the newest 1 run; --limit N shows more\n"
    assert cli("runs", "list", "--limit", "2").err == ""


@pytest.fixture
def listed(cli: Cli, ran: Ran, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], str]:
    """A listing so many columns wide: of a run that is ok, one in doubt, and one interrupted with a write in doubt."""
    with Store(folder / ".stretto" / "runs.db") as store:
        left = an_open_run(started_at_ns=1)

        async def leave() -> None:
            journal = await store.open(left, Durability.STEP)
            await journal.intent(an_effect(left.id))

        asyncio.run(leave())
    ran(), ran("doubt")

    def listing(columns: int) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        return cli("runs", "list").out

    return listing


@pytest.mark.parametrize("columns", [77, 80, 90, 100, 110, 120, 130, 160, 200])
def test_ids_statuses_and_times_stand_in_one_piece_at_any_width(listed: Callable[[int], str], columns: int) -> None:
    out = listed(columns)
    assert all(len(line) <= columns for line in out.splitlines())
    for word in ("interrupted, write in doubt", "parked (in doubt)", " ok"):
        assert word in out
    assert len(re.findall(r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12} ", out, re.MULTILINE)) == 3
    assert len(re.findall(r" \d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", out)) == (3 if "started" in out else 0)
    assert ("took" in out, "started" in out) == (columns >= 90, columns >= 120)


@pytest.mark.parametrize("columns", [77, 80, 90, 120])
def test_each_run_is_one_line(listed: Callable[[int], str], columns: int) -> None:
    assert len(listed(columns).splitlines()) == 4


def test_an_attempts_error_of_several_lines_keeps_them(cli: Cli, ran: Ran, folder: Path) -> None:
    raised = 'raise ValueError("no seats:\\n  /row: taken\\n  /price: too high")'
    (folder / "components.py").write_text(COMPONENTS.replace('raise ValueError("no seats left")', raised))
    (folder / "workflow.yaml").write_text(
        (folder / "workflow.yaml")
        .read_text()
        .replace("    component: book\n", "    component: book\n    resilience: {retry: {attempts: 2}}\n")
    )
    ran("fail")
    lines = [line.strip() for line in cli("runs", "show", "last", "--step", "book").out.splitlines()]
    assert "/row: taken" in lines[3:], lines


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_the_state_and_time_of_a_write_stand_in_one_piece(
    cli: Cli, ran: Ran, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    ran("doubt")
    monkeypatch.setenv("COLUMNS", str(columns))
    writes = cli("runs", "show", "last").out.partition("\nwrites\n")[2].splitlines()[0]
    assert re.search(r"IN DOUBT +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$", writes)


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--status", "okk"], "did you mean 'ok'?"),
        (["--since", "yesterday"], "--since 'yesterday' is no time"),
        (["--limit", "0"], "--limit"),
        (["--limit", str(2**63)], "--limit"),
        (["--since", "9999-12-31"], "--since '9999-12-31' is of a year that no run can be of; expected one from 1678"),
        (["--since", "0001-01-01"], "--since '0001-01-01' is of a year that no run can be of"),
    ],
)
def test_a_filter_that_is_none_is_wrong_usage(cli: Cli, ran: Ran, flags: list[str], says: str) -> None:
    ran()
    told = cli("runs", "list", *flags)
    assert told.code == 2
    assert says in told.err


def test_the_largest_limit_and_the_earliest_times_are_taken(cli: Cli, ran: Ran) -> None:
    ran()
    assert len(cli("runs", "list", "--limit", str(2**63 - 1), "--since", "1678-01-01", "--json").document["runs"]) == 1
    assert cli("runs", "list", "--since", "2261-12-31", "--json").document["runs"] == []


def test_a_line_break_in_a_label_breaks_no_table(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    cli("run", "-i", '{"query": "oslo"}', "--label", "task=one\ntwo\tthree\x1b[31m\u2028", "--tenant", "a\nb")
    for shown in (cli("runs", "list").out, cli("runs", "show", "last").out):
        assert r"task=one\ntwo\tthree\x1b[31m\u2028" in shown
    assert len(cli("runs", "list").out.splitlines()) == 2
    assert r"a\nb, " in cli("runs", "show", "last").out


def test_without_a_store_the_remedy_is_told(cli: Cli) -> None:
    for verb in (["list"], ["show", "last"], ["export", "x.jsonl"], ["delete", "last", "--yes"]):
        told = cli("runs", *verb)
        assert told.code == 2
        assert "there is no store at .stretto/runs.db; `stretto run` makes one" in told.err


def test_nothing_in_a_record_steers_the_terminal(cli: Cli, ran: Ran, folder: Path) -> None:
    ran()
    cli("runs", "export", "out.jsonl")
    run = json.loads((folder / "out.jsonl").read_text().splitlines()[0])
    del run["line_digest"]
    for holder, name in [(run, "workflow_run_id"), (run["manifest"], "workflow"), (run["steps"][0], "path")]:
        holder[name] += "\x1b[31m\x07\u202e"
    (folder / "in.jsonl").write_text(json.dumps(run))
    assert cli("runs", "import", "in.jsonl", "--store", "other.db").code == 0
    for shown in (
        cli("runs", "show", "last", "--io", "--store", "other.db"),
        cli("runs", "list", "--store", "other.db"),
    ):
        assert shown.code == 0
        assert not {"\x1b", "\x07", "\u202e"} & set(shown.out)


def test_export_and_import_carry_runs_to_another_store(cli: Cli, ran: Ran, folder: Path) -> None:
    run_id = ran()
    assert cli("runs", "export", "out.jsonl", "--json").document["runs"] == 1
    taken = cli("runs", "import", "out.jsonl", "--store", "other.db", "--json").document
    assert (taken["runs"], taken["effects"], taken["already_here"]) == (1, 1, 0)
    assert cli("runs", "show", "last", "--store", "other.db", "--json").document["run"]["id"] == run_id
    assert "2 records known already" in cli("runs", "import", "out.jsonl", "--store", "other.db").out
    cli("runs", "export", "again.jsonl", "--store", "other.db")
    assert (folder / "again.jsonl").read_bytes() == (folder / "out.jsonl").read_bytes()


def test_a_byte_order_mark_before_an_export_is_passed_over(cli: Cli, ran: Ran, folder: Path) -> None:
    ran()
    cli("runs", "export", "out.jsonl")
    (folder / "out.jsonl").write_bytes(BOM_UTF8 + (folder / "out.jsonl").read_bytes())
    assert cli("runs", "import", "out.jsonl", "--store", "other.db", "--json").document["runs"] == 1


def test_an_export_does_not_go_to_stdout_and_says_why(cli: Cli, ran: Ran, folder: Path) -> None:
    ran()
    told = cli("runs", "export", "-")
    assert (told.code, told.out) == (2, "")
    assert "a file with a folder of arrays beside it, so it does not go to stdout" in told.err
    assert not (folder / "-").exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "file.jsonl holds no records"),
        ("stretto: 1\n", "file.jsonl:1: not a record"),
        ('{"output": {"booked": "OSLO"}}', "file.jsonl:1: not a record: Object missing required field `format`"),
    ],
)
def test_importing_what_is_no_export_is_wrong_usage_and_makes_no_store(
    cli: Cli, folder: Path, content: str, says: str
) -> None:
    (folder / "file.jsonl").write_text(content)
    told = cli("runs", "import", "file.jsonl")
    assert (told.code, told.out) == (2, "")
    assert says in told.err
    assert not (folder / ".stretto").exists()


def test_an_export_in_which_one_value_was_changed_is_wrong_usage_and_nothing_is_imported(
    cli: Cli, ran: Ran, folder: Path
) -> None:
    ran(), ran("bergen")
    cli("runs", "export", "out.jsonl")
    changed = (folder / "out.jsonl").read_text().replace('{"booked":"BERGEN"}', '{"booked":"BERLIN"}')
    (folder / "out.jsonl").write_text(changed)
    told = cli("runs", "import", "out.jsonl", "--store", "other.db")
    assert told.code == 2
    assert "out.jsonl:3: something in it was changed since it was exported" in told.err
    assert not (folder / "other.db").exists()


@pytest.mark.parametrize("flags", [["--task", "none"], ["--since", "2261-12-31"]])
def test_an_export_of_no_runs_writes_nothing_and_says_so(cli: Cli, ran: Ran, folder: Path, flags: list[str]) -> None:
    ran()
    (folder / "kept.jsonl").write_text("mine")
    for file in ("out.jsonl", "kept.jsonl"):
        told = cli("runs", "export", file, "--force", *flags)
        assert (told.code, told.out) == (2, "")
        assert f"no such run has ended in .stretto/runs.db, so {file} was not written" in told.err
    assert not (folder / "out.jsonl").exists()
    assert (folder / "kept.jsonl").read_text() == "mine"


def test_export_does_not_write_over_a_file_unless_told_to(cli: Cli, ran: Ran, folder: Path) -> None:
    ran()
    (folder / "out.jsonl").write_text("mine")
    told = cli("runs", "export", "out.jsonl")
    assert told.code == 2
    assert "--force writes over it" in told.err
    assert cli("runs", "export", "out.jsonl", "--json").document["error"]["code"] == "usage"
    assert cli("runs", "export", "out.jsonl", "--force").code == 0


def test_delete_needs_a_yes(cli: Cli, ran: Ran) -> None:
    run_id = ran()
    told = cli("runs", "delete", run_id)
    assert told.code == 2
    assert "pass --yes" in told.err
    assert cli("runs", "delete", run_id, "--yes").out == "1 run deleted\n"
    assert cli("runs", "show", run_id).code == 2


def test_a_run_in_doubt_is_deleted_by_force_only(cli: Cli, ran: Ran) -> None:
    ran("doubt")
    assert cli("runs", "delete", "last", "--yes").code == 2
    assert cli("runs", "delete", "last", "--yes", "--force").code == 0


def test_a_parked_run_goes_on_by_a_persons_word_which_is_kept(
    cli: Cli, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    run_id = ran("doubt")
    told = cli("runs", "resume", run_id, "--happened", '{"booked": "by phone"}', "--reason", "called them")
    assert told.code == 0
    assert told.document == {"booked": "by phone"}
    assert "settled by ada: the write at 'book' happened" in told.err
    (note,) = cli("runs", "show", run_id, "--json").document["annotations"]
    assert (note["by"], note["reason"], note["value"], note["path"]) == (
        "ada", "called them", {"happened": True}, "book",
    )  # fmt: skip
    assert note["at_ns"] > 0
    assert "by ada  called them" in cli("runs", "show", run_id).out


def test_a_write_that_did_not_happen_is_made_again(cli: Cli, ran: Ran) -> None:
    run_id = ran("doubt")
    told = cli("runs", "resume", run_id, "--did-not-happen")
    assert told.code == 1  # the line is still dead
    assert "settled by" in told.err
    assert "parked (in doubt)" in told.err


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--happened", "{}", "--did-not-happen"], "exclude each other"),
        (["--reason", "because"], "go with --happened OUTPUT or --did-not-happen"),
        (["--happened", "oops"], "--happened is not JSON"),
        (["--did-not-happen", "--step", "other"], "no write in doubt at 'other'"),
        (["--workflow", "nope.yaml"], "there is no such file"),
    ],
)
def test_a_resume_that_makes_no_sense_is_refused(cli: Cli, ran: Ran, flags: list[str], says: str) -> None:
    run_id = ran("doubt")
    told = cli("runs", "resume", run_id, *flags)
    assert told.code == 2
    assert says in told.err
    assert cli("runs", "list", "--json").document["runs"][0]["in_doubt"] is True


def test_baggage_is_given_again_to_resume_before_anything_is_settled(cli: Cli) -> None:
    run = cli("run", "workflow.yaml", "--json", "-i", '{"query": "doubt"}', "--baggage", "key=s3cret").document["run"]
    settling = ("runs", "resume", run["id"], "--happened", '{"booked": "DOUBT"}')
    refused = cli(*settling)
    assert (refused.code, "--baggage key=..." in refused.err) == (2, True)
    told = cli(*settling, "--baggage", "key=s3cret", "--json")
    again = cli("replay", run["id"], "--baggage", "key=another", "--json")
    for ended in (told, again):
        assert (ended.code, ended.document["run"]["baggage"]) == (0, ["key"])
        assert "s3cret" not in ended.out


def test_a_run_that_has_ended_is_not_resumed(cli: Cli, ran: Ran) -> None:
    told = cli("runs", "resume", ran())
    assert told.code == 2
    assert "has ended (ok)" in told.err


def test_a_replay_takes_unchanged_steps_from_the_record(cli: Cli, ran: Ran) -> None:
    run_id = ran()
    run = cli("replay", run_id, "--json").document["run"]
    assert (run["status"], run["replay_of"]) == ("ok", run_id)
    assert [step.get("reused_from") for step in run["steps"]] == [run_id] * 3


def test_a_substitute_for_a_step_that_is_not_there_is_wrong_usage_and_gets_the_nearest(cli: Cli, ran: Ran) -> None:
    ran()
    told = cli("replay", "last", "--output", 'planer={"plan": "X"}')
    assert told.code == 2
    assert "has no step 'planer'; did you mean 'planner'? it has: planner, book, margin" in told.err


def test_a_substitute_for_a_step_that_holds_others_is_wrong_usage(cli: Cli, folder: Path) -> None:
    (folder / "each.yaml").write_text(EACH)
    cli("run", "each.yaml", "--input", '{"plans": ["OSLO"]}')
    told = cli("replay", "last", "--workflow", "each.yaml", "--output", 'all={"items": []}')
    assert told.code == 2
    assert "step 'all' calls nothing itself" in told.err


def test_a_substitute_with_a_part_of_the_output_shows_the_whole(cli: Cli, folder: Path) -> None:
    (folder / "components.py").write_text(TWO_FIELDS)
    (folder / "two.yaml").write_text("steps: [{name: plan, component: plan}]")
    cli("run", "two.yaml")
    told = cli("replay", "last", "--workflow", "two.yaml", "--output", 'plan={"system": "refunds"}')
    assert told.code == 2
    assert '"confidence" is a required property' in told.err
    assert '\n  try: {"system":"refunds","confidence":0.5}\n' in told.err
    wrong = cli("replay", "last", "--workflow", "two.yaml", "--output", 'plan={"system": 3}')
    assert "try:" not in wrong.err


TWO_FIELDS = """
from typing import TypedDict
from stretto import component

class Plan(TypedDict):
    system: str
    confidence: float

@component(effects="pure")
def plan() -> Plan:
    return {"system": "orders", "confidence": 0.5}
"""


def test_a_replay_never_writes(cli: Cli, ran: Ran) -> None:
    run_id = ran()
    told = cli("replay", run_id, "--input", '{"query": "bergen"}')
    assert told.code == 1
    assert "not replayable" in told.err
    dry = cli("replay", run_id, "--input", '{"query": "bergen"}', "--output", 'book={"booked": "X"}', "--json")
    assert (dry.code, dry.document["run"]["output"], dry.document["run"]["simulated"]) == (0, {"booked": "X"}, True)


def test_a_replay_with_changed_components_says_so_in_its_run(cli: Cli, ran: Ran, folder: Path) -> None:
    run_id = ran()
    (folder / "components.py").write_text(COMPONENTS.replace("query.upper()", "query.upper() + '!'"))
    told = cli("replay", run_id, "--dry-run", "--json")
    steps = {step["path"]: step for step in told.document["run"]["steps"]}
    assert steps["planner"]["output"] == {"plan": "OSLO!"}
    assert steps["book"]["status"] == "skipped"


def test_runs_without_a_verb_shows_the_verbs(cli: Cli) -> None:
    told = cli("runs")
    assert told.code == 2
    assert all(verb in told.out for verb in ("list", "show", "resume", "export", "samples", "import", "delete"))


def test_an_unknown_verb_gets_the_nearest(cli: Cli) -> None:
    assert "did you mean 'stretto runs show'?" in cli("runs", "shwo").err
    assert json.loads(cli("runs", "shwo", "--json").out)["error"]["code"] == "usage"
