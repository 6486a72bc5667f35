"""`stretto fallback`: rules checked and served from the command line."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli
from tests.unit.components.rules.building import fields, single, table, write

RISK = fields(risk={"enum": ["low", "high"]})


@pytest.fixture
def rules(folder: Path) -> Path:
    rows = [{"risk": '"low"', "product": '"bond"'}, {"product": '"fund"'}]
    return write(folder, single(table(rows, ["risk"], ["product"]), RISK))


def test_check_tells_of_each_table_whether_it_answers_everything(rules: Path, cli: Cli) -> None:
    told = cli("fallback", "check", "rules.json")
    assert told.code == 0
    assert "Table  2 rows by 1 column, answers every input" in told.out
    assert told.out.endswith("ok: 1 table, 1 file\n")


def test_check_tells_the_same_as_json(rules: Path, cli: Cli) -> None:
    document = cli("fallback", "check", "rules.json", "--json").document
    (told,) = document["tables"]
    assert told == {"name": "Table", "rows": 2, "columns": 1, "exact": True, "always_answers": True}
    assert document["notes"] == []


def test_check_tells_notes_with_their_places(folder: Path, cli: Cli) -> None:
    write(folder, single(table([{"a": "len($) > 1", "o": "1"}, {"o": "2"}])))
    told = cli("fallback", "check", "rules.json")
    assert told.code == 0
    assert "rules.json:31:12: the table 'Table' is not fully analysed" in told.out
    assert "not fully analysed" in cli("fallback", "check", "rules.json", "--json").document["notes"][0]["text"]


def test_check_fails_on_a_gap_and_shows_where(folder: Path, cli: Cli) -> None:
    write(folder, single(table([{"risk": '"low"', "product": '"bond"'}], ["risk"], ["product"]), RISK))
    told = cli("fallback", "check", "rules.json")
    assert (told.code, told.out) == (1, "")
    assert "no row of the table 'Table' answers `risk` is \"high\"" in told.err
    problems = json.loads(cli("fallback", "check", "rules.json", "--json").out)["error"]["problems"]
    assert [problem["code"] for problem in problems] == ["rules.gap"]


def test_a_file_that_is_not_there_is_wrong_usage(cli: Cli) -> None:
    told = cli("fallback", "check", "ruels.json")
    assert told.code == 2
    assert "expected: the path of a file of rules" in told.err
    assert cli("fallback", "serve", "ruels.json").code == 2


def test_serve_refuses_a_place_that_cannot_be_had(rules: Path, cli: Cli) -> None:
    told = cli("fallback", "serve", "rules.json", "--host", "192.0.2.1")
    assert told.code == 2
    assert "cannot listen at 192.0.2.1:8321" in told.err


def test_serve_names_the_extra_that_it_needs(rules: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.cli.fallback.serve.find_spec", lambda _: None)
    told = cli("fallback", "serve", "rules.json")
    assert told.code == 2
    assert "[serve]'" in told.err


@pytest.mark.parametrize(
    ("verb", "told"),
    [
        ("serve", ["--host HOST Where to listen. [default: 127.0.0.1]", "[default: 8321]", "[default: 262144]"]),
        ("test", ["FILE --expectations FILE [options]", "What answers must satisfy: a YAML list. [required]"]),
    ],
)
def test_help_tells_what_must_be_given_and_what_holds_when_it_is_not(cli: Cli, verb: str, told: list[str]) -> None:
    shown = " ".join(cli("fallback", verb, "--help").out.split())
    assert [part for part in told if part not in shown] == []


EXPECTATIONS = """
- {name: a_product_always, holds: "answer.product != ''"}
- {name: nothing_risky_for_low, when: "input.risk == 'low'", holds: "answer.product == 'bond'"}
"""


def test_answers_as_expected_are_well_for_an_input_of_each_row(rules: Path, cli: Cli) -> None:
    Path("expectations.yaml").write_text(EXPECTATIONS)
    told = cli("fallback", "test", "rules.json", "--expectations", "expectations.yaml")
    assert (told.code, told.out) == (0, "ok: 2 inputs, 2 expectations\n")


def test_an_answer_that_is_not_as_expected_is_told_with_its_row(rules: Path, cli: Cli) -> None:
    Path("expectations.yaml").write_text("- {name: bonds_only, holds: \"answer.product == 'bond'\"}")
    Path("inputs.jsonl").write_text('{"risk": "low"}\n\n{"risk": "high"}\n')
    told = cli("fallback", "test", "rules.json", "--expectations", "expectations.yaml", "--inputs", "inputs.jsonl")
    assert told.code == 1
    assert 'bonds_only: {"risk":"high"} was answered {"product":"fund"} by row 2 of Table' in told.out
    (broken,) = cli(
        *("fallback", "test", "rules.json", "--expectations", "expectations.yaml", "--inputs", "inputs.jsonl", "--json")
    ).document["broken"]
    assert broken["input"] == {"risk": "high"}
    assert broken["rows"] == [{"table": "Table", "row": 2, "id": "r2"}]


def test_an_expectation_that_applies_to_nothing_fails(rules: Path, cli: Cli) -> None:
    Path("expectations.yaml").write_text(EXPECTATIONS)
    Path("inputs.jsonl").write_text('{"risk": "high"}')
    told = cli("fallback", "test", "rules.json", "--expectations", "expectations.yaml", "--inputs", "inputs.jsonl")
    assert told.code == 1
    assert "nothing_risky_for_low: applied to no answer" in told.out


def test_an_input_that_the_rules_refuse_fails(rules: Path, cli: Cli) -> None:
    Path("expectations.yaml").write_text(EXPECTATIONS)
    Path("inputs.jsonl").write_text('{"risk": "low"}\n{"risk": "medium"}')
    told = cli("fallback", "test", "rules.json", "--expectations", "expectations.yaml", "--inputs", "inputs.jsonl")
    assert told.code == 1
    assert "cannot answer at the node" in told.out


def test_inputs_may_begin_as_some_editors_begin_a_file(rules: Path, cli: Cli) -> None:
    Path("expectations.yaml").write_text(EXPECTATIONS)
    Path("inputs.jsonl").write_text('{"risk": "low"}\n\n', encoding="utf-8-sig")
    told = cli("fallback", "test", "rules.json", "--expectations", "expectations.yaml", "--inputs", "inputs.jsonl")
    assert (told.code, told.out) == (0, "ok: 1 input, 2 expectations\n")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "inputs.jsonl:1 is not JSON"),
        ("[]", "inputs.jsonl:1 is no JSON object"),
        ('{"risk": "low", "risk": "high"}', "inputs.jsonl:1"),
    ],
)
def test_inputs_that_are_no_objects_are_wrong_usage(rules: Path, cli: Cli, line: str, says: str) -> None:
    Path("expectations.yaml").write_text(EXPECTATIONS)
    Path("inputs.jsonl").write_text(line)
    told = cli("fallback", "test", "rules.json", "--expectations", "expectations.yaml", "--inputs", "inputs.jsonl")
    assert told.code == 2
    assert says in told.err


def test_expectations_about_fields_that_the_rules_do_not_have_are_told(rules: Path, cli: Cli) -> None:
    Path("expectations.yaml").write_text('- {name: one, when: "input.rsik == \'low\'", holds: "answer.x == 1"}')
    told = cli("fallback", "test", "rules.json", "--expectations", "expectations.yaml")
    assert told.code == 2
    assert "rsik" in told.err
