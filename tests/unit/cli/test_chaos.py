"""`stretto chaos`: the exit code, the report, and what is refused."""

import json
import shlex
from pathlib import Path

import pytest

from stretto.cli.chaos import _Progress
from stretto.store.sqlite import Store
from tests.unit.cli.conftest import Cli

PLAN = """
stretto: 1
seed: 3
inputs: [{query: oslo}, {query: rome}]
mutants: 5
faults:
  - {component: book, fault: reset, rate: 0.5, when: before}
  - {component: planner, fault: jitter, delay: 50ms, rate: 0.5}
"""


@pytest.fixture(autouse=True)
def plan(folder: Path) -> Path:
    (folder / "chaos.yaml").write_text(PLAN)
    return folder / "chaos.yaml"


def test_the_report_says_what_became_of_the_runs(cli: Cli, folder: Path) -> None:
    told = cli("chaos", "--runs", "30")
    assert told.code == 0, told.err
    for shown in ("trip: 30 runs under faults, seed 3", "answered in time", "parked", "amplification", "lost runs"):
        assert shown in told.out
    assert "reset (when: before)  component book" in told.out
    assert "stretto runs show" in told.out
    assert "max_duplicated_effects  ≤ 0  0: met" in told.out
    assert not (folder / ".stretto").exists(), "runs of chaos do not belong among those of serving"


def test_the_command_that_the_report_tells_shows_the_run(cli: Cli) -> None:
    told = cli("chaos", "--runs", "10", "--json", "--store", "chaos.db")
    broke = told.document["broke"]
    assert {run["status"] for run in broke} == {"parked"}
    shown = cli("runs", "show", broke[0]["run"], "--store", "chaos.db")
    assert shown.code == 0
    assert "the connection was reset" in shown.out


def test_json_is_the_whole_report(cli: Cli) -> None:
    document = cli("chaos", "--runs", "20", "--json", "--store", "chaos.db").document
    assert document["runs"] == 20 == sum(document["statuses"].values())
    assert document["store"] == "chaos.db"
    assert document["met"] is True
    assert document["mutation"].keys() >= {"score", "mutants", "caught", "by", "survivors"}
    assert [row["fault"] for row in document["faults"]] == ["reset", "jitter"]
    assert set(document["latency_ms"]) == {"p50", "p95", "p99"}
    with Store(Path("chaos.db")) as store:
        assert len(list(store.runs(purpose="chaos"))) == 20


def test_it_exits_with_1_when_an_expectation_is_not_met(cli: Cli, plan: Path) -> None:
    plan.write_text(PLAN + "expect: {min_answered_rate: 0.99}\n")
    told = cli("chaos", "--runs", "20")
    assert told.code == 1
    assert "not met" in told.out


def test_the_same_seed_tells_the_same_and_another_does_not(cli: Cli) -> None:
    one, two = (cli("chaos", "--runs", "20", "--json").document["faults"] for _ in range(2))
    other = cli("chaos", "--runs", "20", "--seed", "4", "--json").document["faults"]
    assert one == two != other


def test_one_run_can_be_made_again(cli: Cli) -> None:
    broke = cli("chaos", "--runs", "20", "--json").document["broke"][0]
    again = cli("chaos", "--runs", "20", "--only", str(broke["index"]), "--json").document
    assert (again["runs"], again["mutation"]) == (1, None)
    assert again["broke"][0]["struck_by"] == broke["struck_by"]


def test_inputs_come_from_flags_before_the_plan(cli: Cli, folder: Path) -> None:
    (folder / "inputs.jsonl").write_text('{"query": "bergen"}\n\n{"query": "narvik"}\n')
    (folder / "given.jsonl").write_text('{"name": "one", "input": {"query": "voss"}, "labels": {"split": "x"}}\n')
    for flags, queries in (
        (["--input", '{"query": "hamar"}'], {"hamar"}),
        (["--inputs", "inputs.jsonl"], {"bergen", "narvik"}),
        (["--tasks", "given.jsonl"], {"voss"}),
        ([], {"oslo", "rome"}),
    ):
        store = f"{len(flags)}{'-'.join(sorted(queries))}.db"
        assert cli("chaos", "--runs", "4", *flags, "--store", store).code == 0
        with Store(folder / store) as kept:
            assert {run.input_value["query"] for run in kept.runs(purpose="chaos")} == queries


def test_tasks_beside_the_workflow_are_taken_when_nobody_says_anything(cli: Cli, folder: Path, plan: Path) -> None:
    plan.write_text(PLAN.replace("inputs: [{query: oslo}, {query: rome}]\n", ""))
    refused = cli("chaos", "--runs", "2")
    assert refused.code == 2
    assert "there is nothing to give to the runs" in refused.err
    (folder / "tasks.jsonl").write_text('{"name": "one", "input": {"query": "voss"}}\n')
    assert cli("chaos", "--runs", "2").code == 0


def test_a_python_file_may_give_tasks(cli: Cli, folder: Path, plan: Path) -> None:
    plan.write_text(PLAN.replace("inputs: [{query: oslo}, {query: rome}]", "tasks: given.py"))
    lines = (
        "from stretto.learn.tasks import Task",
        "def tasks(split):",
        "    return [Task(name=split, input={'query': split})]",
    )
    (folder / "given.py").write_text("\n".join(lines))
    assert cli("chaos", "--runs", "2", "--store", "chaos.db").code == 0
    with Store(folder / "chaos.db") as kept:
        assert {run.labels["task"] for run in kept.runs(purpose="chaos")} == {"train"}
    (folder / "given.py").write_text("")
    refused = cli("chaos", "--runs", "2")
    assert refused.code == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--input", "[]"], "expected a JSON object"),
        (["--input", '{"query": ""}'], "does not fit its schema"),
        (["--input", "{}", "--inputs", "inputs.jsonl"], "--input and --inputs all say what the runs are given"),
        (["--inputs", "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
        (["--inputs", "lines.jsonl"], "lines.jsonl:2 is no input"),
        (["--inputs", "empty.jsonl"], "empty.jsonl holds no inputs"),
        (["--only", "100"], "there is no run 100 among 100"),
        (["--plan", "nowhere.yaml"], "there is no such file"),
        (["--plan", "wrong.yaml"], "no component 'boook'"),
        (["--runs", "0"], "Invalid value for '--runs'"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_run(arguments: list[str], told: str, cli: Cli, folder: Path) -> None:
    (folder / "lines.jsonl").write_text('{"query": "oslo"}\n[1]\n')
    (folder / "empty.jsonl").write_text("\n")
    (folder / "wrong.yaml").write_text(PLAN.replace("component: book,", "component: boook,"))
    refused = cli("chaos", *arguments, "--store", "chaos.db")
    assert refused.code == 2
    assert told in refused.err
    with Store(folder / "chaos.db") as kept:
        assert list(kept.runs()) == []


def test_progress_goes_on_to_the_mutants_when_the_runs_are_done() -> None:
    progress = _Progress(2)
    (task,) = progress._bar.tasks
    shown = []
    for _ in range(4):
        progress.advance()
        shown.append((task.description, task.completed))
    assert shown == [
        ("runs under faults", 1),
        ("runs under faults", 2),
        ("runs with a wrong value", 3),
        ("runs with a wrong value", 4),
    ]


def test_the_schema_of_a_plan_is_published(cli: Cli) -> None:
    document = json.loads(cli("schema", "chaos").out)
    assert document["$id"] == "urn:stretto:schema:chaos:1"


@pytest.mark.parametrize("columns", ["80", "100"])
def test_its_commands_are_in_one_piece_and_make_the_very_run_again(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    one = '{"query": "a city, so long a name that it is on no line"}'
    store = "a-folder-whose-name-is-rather-long-too.db"
    lines = cli("chaos", "--runs", "12", "--seed", "5", "--input", one, "--store", store).out.splitlines()
    show = next(line for line in lines if "stretto runs show" in line)
    assert cli(*shlex.split(show)[1:]).code == 0
    words = shlex.split(next(line for line in lines if "stretto chaos workflow.yaml" in line).partition("stretto ")[2])
    (broke,) = cli(*words, "--json").document["broke"]
    assert broke["index"] == int(words[-1])


def test_without_a_plan_it_says_how_to_write_one(cli: Cli, plan: Path) -> None:
    plan.unlink()
    told = cli("chaos")
    assert told.code == 2
    assert "there is no chaos.yaml beside workflow.yaml, and no --plan FILE was given" in told.err
    assert "`stretto schema chaos`" in told.err
    plan.write_text("".join(f"{line.strip()}\n" for line in told.err.splitlines()[1:3]) + "inputs: [{query: oslo}]\n")
    assert cli("chaos", "--runs", "3").code == 0


def test_how_runs_ended_is_told_apart_for_those_that_another_fault_struck_too(cli: Cli) -> None:
    told = cli("chaos", "--runs", "30", "--json").document["faults"]
    jitter = next(row for row in told if row["fault"] == "jitter")
    assert set(jitter["outcomes_alone"]) == {"ok"}, "a jitter parks nothing"
    assert "parked" in jitter["outcomes"]
    shown = cli("chaos", "--runs", "30").out
    parked, ok = (jitter["outcomes"].get(name, 0) for name in ("parked", "ok"))
    assert ok == jitter["outcomes_alone"]["ok"]
    assert f"{ok} ok; struck by others too: {parked} parked" in shown
