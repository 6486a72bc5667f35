"""`stretto fallback`: whether what answers in a workflow's place is well, told before it is needed."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import stretto
from stretto.record.model import Annotation
from stretto.runtime.exercising import ANNOTATION, NS
from tests.unit.cli.conftest import Cli

COMPONENTS = """
from stretto import component

@component(effects="pure", inline=True)
def planner(n: int) -> dict[str, int]:
    if n < 0:
        raise ValueError("no")
    return {"n": n}

@component(effects="pure", inline=True)
def rules(n: int) -> dict[str, int]:
    return {"n": 100 if n == 13 else 0}
"""

BANK = """
stretto: 1
name: bank
contract: {input: {n: int}, output: {n: int}}
fallback:
  component: rules
  exercise: {every: 30d, share: 1}
  expectations:
    - {name: small, holds: "answer.n < 10"}
    - {name: after_thirteen, when: "input.n > 13", holds: "answer.n == 0"}
steps: [{name: planner, component: planner, input_mapping: {n: "input.n"}}]
output: {n: "steps.planner.n"}
"""


@pytest.fixture
def bank(cli: Cli, tmp_path: Path) -> Cli:
    (Path.cwd() / "components.py").write_text(COMPONENTS)
    (Path.cwd() / "bank.yaml").write_text(BANK)
    return cli


def run(cli: Cli, n: int, code: int = 0) -> None:
    assert cli("run", "bank.yaml", "--input", f'{{"n": {n}}}').code == code


def age_exercise(*, seconds: int) -> None:
    """Let the only exercise have begun so long before its run."""
    with stretto.Store(".stretto/runs.db") as store:
        ((_, annotation),) = store.annotated(ANNOTATION)
    kept = annotation.value
    assert isinstance(kept, dict)
    with closing(sqlite3.connect(".stretto/runs.db")) as database, database:
        database.execute("DELETE FROM annotations")
    with stretto.Store(".stretto/runs.db") as store:
        old = next(iter(store.runs()))
        began = old.started_at_ns - seconds * NS
        store.annotate(Annotation(run_id=old.id, name=ANNOTATION, value={**kept, "began_at_ns": began}, at_ns=began))


def test_a_run_that_its_fallback_answered_prints_the_answer_and_succeeds(bank: Cli) -> None:
    told = bank("run", "bank.yaml", "--input", '{"n": -1}')
    assert told.code == 0
    assert told.out == '{"n":0}\n'
    assert "business_fallback (error)" in told.err


def test_check_tells_what_answers(bank: Cli) -> None:
    told = bank("check", "bank.yaml")
    assert "rules answers for a run that fails; after 3 failures in a row without trying, for 1m" in told.out
    assert bank("check", "bank.yaml", "--json").document["fallback"] == {
        "component": "rules",
        "after": 3,
        "retry_after_s": 60.0,
        "exercise": {"every_s": 2_592_000.0, "share": 1.0},
        "expectations": ["small", "after_thirteen"],
    }


def test_one_that_was_never_exercised_is_wrong_before_it_is_needed(bank: Cli) -> None:
    told = bank("fallback", "status", "bank.yaml")
    assert told.code == 1
    assert "it was never exercised" in told.out


def test_one_that_was_exercised_by_its_traffic_is_well(bank: Cli) -> None:
    run(bank, 1)
    run(bank, -1)
    told = bank("fallback", "status", "bank.yaml", "--json")
    assert told.code == 0
    document = told.document
    assert document["ok"]
    assert document["last_exercise"]["runs"] == 1
    assert document["business_fallback_triggered_count"] == 1
    assert document["reasons"] == {"error": 1}
    assert "all as expected" in bank("doctor").out


def test_the_next_is_due_after_the_period_that_was_set_while_it_ran(bank: Cli) -> None:
    run(bank, 1)
    assert bank("config", "set", "bank.yaml", "fallback.exercise.every", "1m").code == 0
    age_exercise(seconds=90)
    told = bank("fallback", "status", "bank.yaml")
    assert (told.code, "its next exercise is overdue" in told.out) == (1, True)
    bank("config", "unset", "bank.yaml", "fallback.exercise.every")
    assert bank("fallback", "status", "bank.yaml").code == 0


def test_one_that_went_wrong_is_an_alert_in_both_places(bank: Cli) -> None:
    run(bank, 13)
    told = bank("fallback", "status", "bank.yaml")
    assert told.code == 1
    assert '1 went wrong: not as expected: small, of the answer {"n":100}' in " ".join(told.out.split())
    doctor = bank("doctor")
    assert doctor.code == 1
    assert "not as expected: small" in doctor.out
    assert "FILE" not in doctor.out
    assert "on the file of workflow 'bank'" in " ".join(doctor.out.split())


def test_a_stale_one_is_an_alert_in_both_places(bank: Cli) -> None:
    run(bank, 1)
    age_exercise(seconds=40 * 86_400)
    assert "its next exercise is overdue" in bank("fallback", "status", "bank.yaml").out
    assert "and not since, though it is to be every 30 days" in bank("doctor").out


def test_recorded_runs_exercise_it_by_hand(bank: Cli) -> None:
    for n in (1, 14, -1):
        run(bank, n)
    told = bank("fallback", "exercise", "bank.yaml")
    assert told.code == 0
    assert "3 answers, all as expected" in told.out
    assert bank("fallback", "status", "bank.yaml").code == 0


def test_what_goes_wrong_in_one_way_is_told_once(bank: Cli) -> None:
    for n in (13, 13, 14):
        run(bank, n)
    assert bank("fallback", "exercise", "bank.yaml").code == 1
    told = " ".join(bank("fallback", "status", "bank.yaml").out.split())
    assert '2 went wrong: not as expected: small, of the answer {"n":100} (2 times)' in told


def test_what_does_not_hold_is_told_with_the_run(bank: Cli) -> None:
    for n in (13, 14):
        run(bank, n)
    told = bank("fallback", "exercise", "bank.yaml")
    assert told.code == 1
    assert "not as expected: small" in told.out
    assert "1 of 2 answers went wrong" in told.out
    document = bank("fallback", "exercise", "bank.yaml", "--json").document
    assert {each["held"]: each.get("answer") for each in document["runs"]} == {True: None, False: '{"n":100}'}
    assert document["expectations"] == {
        "small": {"applied": 2, "held": 1},
        "after_thirteen": {"applied": 1, "held": 1},
    }


def test_an_expectation_that_checked_nothing_fails(bank: Cli) -> None:
    run(bank, 1)
    told = bank("fallback", "exercise", "bank.yaml")
    assert told.code == 1
    assert "of these runs none was checked by: after_thirteen" in told.out


def test_without_runs_there_is_nothing_to_exercise_it_with(bank: Cli) -> None:
    assert bank("fallback", "exercise", "bank.yaml").code == 2
    Path("other.yaml").write_text('steps: [{name: a, component: planner, input_mapping: {n: "input.n"}}]')
    assert bank("run", "other.yaml", "--input", '{"n": 1}').code == 0
    told = bank("fallback", "exercise", "bank.yaml")
    assert told.code == 2
    assert "has no run of workflow 'bank' with an input that it takes now" in told.err


@pytest.mark.parametrize("verb", ["status", "exercise"])
def test_a_workflow_without_a_fallback_is_refused(bank: Cli, verb: str) -> None:
    run(bank, 1)
    Path("bare.yaml").write_text('steps: [{name: a, component: planner, input_mapping: {n: "input.n"}}]')
    told = bank("fallback", verb, "bare.yaml")
    assert told.code == 2
    assert "has no fallback" in told.err
