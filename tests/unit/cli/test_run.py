"""`stretto run`: the output on stdout, everything else on stderr."""

import json
from pathlib import Path

import pytest

from stretto.testing import VirtualLoop
from tests.unit.cli.conftest import Cli

OSLO = '{"query": "oslo"}'


def test_the_output_is_all_that_stands_on_stdout(cli: Cli) -> None:
    told = cli("run", "workflow.yaml", "--input", OSLO)
    assert told.code == 0
    assert told.document == {"booked": "OSLO"}
    assert "components may print" in told.err


def test_one_line_says_what_became_of_it_and_what_to_type_next(cli: Cli, folder: Path) -> None:
    last = cli("run", "workflow.yaml", "--input", OSLO).err.splitlines()[-1]
    assert last.startswith("ok in ")
    assert "kept in .stretto/runs.db; look at it: stretto runs show " in last
    assert (folder / ".stretto" / "runs.db").exists()


def test_json_is_the_run_as_the_published_schema_has_it(cli: Cli) -> None:
    told = cli("run", "workflow.yaml", "--json", "--input", OSLO, "--label", "task=7", "--seed", "3", "--tenant", "me")
    run = told.document["run"]
    assert (run["format"], run["status"], run["labels"], run["seed"], run["tenant"]) == (
        "stretto.run/1", "ok", {"task": "7"}, 3, "me",
    )  # fmt: skip


def test_a_run_that_failed_exits_with_1_and_says_where_and_why(cli: Cli) -> None:
    told = cli("run", "workflow.yaml", "--input", '{"query": "doubt"}')
    assert (told.code, told.out) == (1, "")
    assert "the line went dead" in told.err or "was sent and not answered" in told.err
    assert "parked (in doubt)" in told.err
    assert "stretto runs resume " in told.err
    assert "--workflow workflow.yaml --happened OUTPUT or --did-not-happen" in told.err


@pytest.mark.parametrize("debug", ["", "1"])
def test_debug_shows_the_traceback_of_what_a_component_raised(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, debug: str
) -> None:
    monkeypatch.setenv("STRETTO_DEBUG", debug)
    told = cli("run", "workflow.yaml", "--input", '{"query": "fail"}')
    assert "no seats left" in told.err
    assert ('raise ValueError("no seats left")' in told.err) == bool(debug)
    assert "Traceback" not in cli("runs", "list").err


def test_an_input_that_breaks_the_contract_runs_nothing(cli: Cli, folder: Path) -> None:
    told = cli("run", "workflow.yaml", "--input", '{"query": ""}')
    assert told.code == 2
    assert "/query: " in told.err
    assert "no such run" in cli("runs", "list").err or not (folder / ".stretto" / "runs.db").exists()


def test_an_input_that_lacks_something_shows_one_that_does_not(cli: Cli) -> None:
    told = cli("run", "workflow.yaml")
    assert told.code == 2
    assert '"query" is a required property\n  try: --input \'{"query":"..."}\'\n' in told.err
    document = cli("run", "workflow.yaml", "--json", "--input", '{"query": 5}').document
    assert document["error"]["suggestion"] == '--input \'{"query":"..."}\''


def test_json_of_a_wrong_input_has_its_pointers(cli: Cli) -> None:
    told = cli("run", "workflow.yaml", "--json", "--input", '{"query": 5}')
    assert told.code == 2
    assert told.document["error"]["code"] == "input"
    assert [each["pointer"] for each in told.document["error"]["violations"]] == ["/query"]


def test_input_comes_from_a_file_or_from_stdin(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "input.json").write_text(OSLO)
    assert cli("run", "workflow.yaml", "--input", "@input.json").code == 0
    with (folder / "input.json").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert cli("run", "workflow.yaml", "--input", "-").document == {"booked": "OSLO"}


def test_a_byte_order_mark_before_an_input_is_passed_over(cli: Cli, folder: Path) -> None:
    (folder / "input.json").write_text(OSLO, encoding="utf-8-sig")
    assert cli("run", "workflow.yaml", "--input", "@input.json").document == {"booked": "OSLO"}


def test_another_store_is_named_in_what_to_type_next(cli: Cli, folder: Path) -> None:
    told = cli("run", "workflow.yaml", "--input", OSLO, "--store", "other place/runs.db")
    assert told.err.rstrip().endswith("--store 'other place/runs.db'")
    assert (folder / "other place" / "runs.db").exists()
    assert not (folder / ".stretto" / "runs.db").exists()


def test_the_environment_names_the_store(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_STORE", str(folder / "env.db"))
    cli("run", "workflow.yaml", "--input", OSLO)
    assert (folder / "env.db").exists()


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--input", "{query: 1}"], "is not JSON"),
        (["--input", '{"query": "a", "query": "b"}'], "--input has the key 'query' twice in one object"),
        (["--input", "@twice.json"], "--input (twice.json) has the key 'query' twice in one object"),
        (["--reference", '{"a": {"b": 1, "b": 1}}'], "--reference has the key 'b' twice in one object"),
        (["--resource", 'db:={"a": 1, "a": 2}'], "--resource db:= has the key 'a' twice in one object"),
        (["--resource", "db=1", "--resource", "db:=2"], "--resource db is given twice"),
        (["--input", "[1]"], "--input is a list; expected a JSON object"),
        (["--input", "@nope.json"], "nope.json cannot be read"),
        (["--label", "task"], "--label 'task' is no pair; expected --label name=value"),
        (["--label", "a=1", "--label", "a=2"], "--label a is given twice"),
        (["--resource", "db:=oops"], "--resource db:= is not JSON"),
        (["--seed", "x"], "--seed"),
        (["--inptu", "{}"], "--inptu"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what_was_expected(
    cli: Cli, folder: Path, flags: list[str], says: str
) -> None:
    (folder / "twice.json").write_text('{"query": "a", "query": "b"}')
    told = cli("run", "workflow.yaml", *flags)
    assert (told.code, told.out) == (2, "")
    assert says in told.err
    assert cli("run", "workflow.yaml", "--json", *flags).document["error"]["code"] == "usage"


def test_resources_and_a_reference_reach_the_run(cli: Cli) -> None:
    told = cli(
        "run", "workflow.yaml", "--json", "--input", OSLO,
        "--resource", "db=42", "--resource", "limit:=42", "--reference", '{"gold": 1}',
    )  # fmt: skip
    run = told.document["run"]
    assert (run["resources"], run["reference"]) == ({"db": "42", "limit": 42}, {"gold": 1})


def test_an_error_without_json_leaves_stdout_empty(cli: Cli) -> None:
    told = cli("run", "nope.yaml", "--input", json.dumps({}))
    assert (told.code, told.out) == (2, "")


CLOSING = """
import asyncio
import stretto

@stretto.component(effects="pure")
class Planner:
    async def __call__(self, query: str) -> dict:
        if query == "cancel":
            asyncio.current_task().cancel()
            await asyncio.sleep(60)
        return {"plan": query}

    async def close(self) -> None:
        raise ValueError("the lid is stuck")
"""

ONE_STEP = """
steps:
  - name: plan
    component: Planner
    input_mapping: {query: "input.query"}
"""


@pytest.fixture
def stuck(folder: Path) -> Path:
    (folder / "components.py").write_text(CLOSING)
    (folder / "workflow.yaml").write_text(ONE_STEP)
    return folder


@pytest.mark.usefixtures("stuck")
def test_a_component_that_does_not_close_costs_nobody_the_answer(cli: Cli) -> None:
    told = cli("run", "workflow.yaml", "--input", OSLO)
    assert (told.code, told.document) == (0, {"plan": {"plan": "oslo"}})


@pytest.mark.usefixtures("stuck")
def test_a_component_that_cancels_its_task_leaves_one_document_of_a_cancelled_run(cli: Cli) -> None:
    told = cli("run", "workflow.yaml", "--json", "--input", '{"query": "cancel"}')
    assert (told.code, told.document["run"]["status"]) == (1, "cancelled")


EXITING = """
import asyncio
import sys
import stretto

@stretto.component(effects="pure")
async def Planner(query: str) -> dict:
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(60))
        group.create_task(exiting())
    return {}

async def exiting():
    sys.exit(0)
"""


def test_a_component_that_exits_in_a_task_of_its_own_does_not_pass_for_success(cli: Cli, folder: Path) -> None:
    (folder / "components.py").write_text(EXITING)
    (folder / "workflow.yaml").write_text(ONE_STEP)
    told = cli("run", "workflow.yaml", "--input", OSLO)
    assert (told.code, told.out) == (1, "")
    assert "component 'Planner' raised SystemExit: 0" in told.err


HOOKS = """
import asyncio
import stretto

@stretto.component(effects="pure")
class Planner:
    async def __call__(self, query: str) -> dict:
        return {{"plan": query}}

    async def {hook}(self) -> None:
        {body}
"""

HANG_ON = """
        while True:
            try: await asyncio.sleep(1)
            except asyncio.CancelledError: pass
"""


@pytest.mark.parametrize("body", ["await asyncio.Event().wait()", HANG_ON, "raise SystemExit(3)", "raise KeyError"])
def test_a_component_whose_close_hangs_or_raises_is_left_behind(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    (folder / "components.py").write_text(HOOKS.format(hook="close", body=body))
    (folder / "workflow.yaml").write_text(ONE_STEP)
    monkeypatch.setattr("asyncio.events.new_event_loop", VirtualLoop)
    told = cli("run", "workflow.yaml", "--input", OSLO)
    assert (told.code, told.document) == (0, {"plan": {"plan": "oslo"}})
    assert cli("runs", "list", "--json").document["runs"][0]["status"] == "ok"


@pytest.mark.parametrize("error", ["ValueError('no key')", "OSError('no port')", "SystemExit(0)", "GeneratorExit"])
def test_a_component_that_does_not_open_is_named_and_no_run_is_made(cli: Cli, folder: Path, error: str) -> None:
    (folder / "components.py").write_text(HOOKS.format(hook="open", body=f"raise {error}"))
    (folder / "workflow.yaml").write_text(ONE_STEP)
    told = cli("run", "workflow.yaml", "--input", OSLO, "--json")
    assert (told.code, told.document["error"]["code"], told.err) == (1, "component", "")
    assert "component 'Planner' " in told.document["error"]["message"]
    assert f"raised {error.partition('(')[0]}: " in told.document["error"]["message"]
    assert not (folder / ".stretto" / "runs.db").exists()


def test_an_input_that_is_no_json_of_the_record_is_wrong_usage(cli: Cli) -> None:
    told = cli("run", "workflow.yaml", "--json", "--input", '{"query": 9223372036854775808}')
    assert (told.code, told.document["error"]["code"]) == (2, "input")
