"""`stretto semantics` on recorded runs: what was not understood is listed, labelled, learnt, and reported."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli
from tests.unit.cli.test_semantics_train import COMPONENTS, SAID, WORKFLOW

FALLBACK = "    resilience: { fallback: { output: { intent: track } } }\noutput:"


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a workflow whose planner repeats what it hears, a trained aligner, and two runs."""
    (tmp_path / "components.py").write_text(COMPONENTS)
    (tmp_path / "workflow.yaml").write_text(WORKFLOW.replace("output:", FALLBACK, 1))
    rows = [f"{text},{value}" for value, texts in SAID.items() for text in texts]
    (tmp_path / "said.csv").write_text("\n".join(["text,value", *rows]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ran(cli: Cli, orders: Path) -> list[str]:
    """Ids of a run that was understood and one that was not."""
    assert cli("semantics", "train", "--samples", "said.csv").code == 0
    text = (orders / "workflow.yaml").read_text()
    (orders / "workflow.yaml").write_text(
        text.replace("at: [planner.intent]", "at: [planner.intent]\n      aligner: intent-1.aligner")
    )
    said = ("where is my parcel please", "唔該")
    return [cli("run", "--input", json.dumps({"words": words}), "--json").document["run"]["id"] for words in said]


def test_what_the_aligner_knows_ends_at_its_value_and_what_it_does_not_in_the_fallback(
    cli: Cli, ran: list[str]
) -> None:
    shown = [cli("runs", "show", run, "--json").document["run"] for run in ran]
    notes = [run["steps"][0]["evidence"]["alignments"][0] for run in shown]
    assert [(note["by"], note["to"]) for note in notes] == [("learned", "track"), ("abstained", None)]
    assert [run["status"] for run in shown] == ["ok", "degraded"]
    assert "intent-aligner" in shown[0]["manifest"]["components"]


def test_report_tells_shares_and_what_nothing_understood(cli: Cli, ran: list[str]) -> None:
    (domain,) = cli("semantics", "report", "--json").document["domains"]
    assert domain["by"] == {"learned": 1, "abstained": 1}
    assert domain["abstained"] == [{"text": "唔該", "count": 1, "untranslated": False}]
    told = cli("semantics", "report")
    assert "50.0%" in told.out
    assert "唔該" in told.out
    assert cli("semantics", "report", "--domain", "mood").out == "no recorded run aligned anything\n"


def test_a_correction_is_kept_with_the_run_and_learnt_by_the_next_training(cli: Cli, ran: list[str]) -> None:
    listed = cli("semantics", "label", "--json").document["unclear"]
    assert [each["text"] for each in listed] == ["唔該"]
    told = cli("semantics", "label", "--run", ran[1], "--value", "cancel", "--reason", "asked her")
    assert "stretto semantics train workflow.yaml --domain intent --from intent-1.aligner" in told.err
    (note,) = cli("runs", "show", ran[1], "--json").document["annotations"]
    assert note["value"] == {"domain": "intent", "text": "唔該", "value": "cancel"}
    assert (note["name"], note["reason"], bool(note["by"])) == ("semantics.label", "asked her", True)
    assert cli("semantics", "label", "--json").document["unclear"] == []
    trained = cli("semantics", "train", "--from", "intent-1.aligner", "--json").document
    assert trained["lineage"]["source"] == ["corrections"]
    assert (trained["before"]["accuracy"], trained["after"]["accuracy"]) == (0.0, 1.0)


def test_a_correction_may_be_left_aside(cli: Cli, ran: list[str]) -> None:
    assert cli("semantics", "label", "--run", "last", "--value", "cancel").code == 0
    told = cli("semantics", "train", "--samples", "said.csv", "--no-corrections", "--json").document
    assert told["lineage"]["source"] == ["said.csv"]


def test_listing_says_what_to_type(cli: Cli, ran: list[str]) -> None:
    told = cli("semantics", "label")
    assert "唔該" in told.out
    assert "stretto semantics label workflow.yaml --domain intent --run RUN --value VALUE" in told.err


def test_on_a_terminal_each_is_asked_about(cli: Cli, ran: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    answers = iter(["trakc", "0"])
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(answers))
    told = cli("semantics", "label")
    assert (told.code, "did you mean 'track'" in told.err) == (0, True)
    (note,) = cli("runs", "show", ran[1], "--json").document["annotations"]
    assert note["value"]["value"] == ""


@pytest.mark.parametrize("answer", ["", "q"])
def test_an_answer_may_be_left_out(cli: Cli, ran: list[str], monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: answer)
    assert cli("semantics", "label").code == 0
    assert cli("runs", "show", ran[1], "--json").document["annotations"] == []


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--run", "0", "--value", "track"], "begins more than one id"),
        (["--run", "last"], "say what '唔該' means"),
        (["--run", "last", "--value", "trakc"], "did you mean 'track'"),
        (["--run", "last", "--value", "track", "--at", "executor.intent"], "aligned nothing to the domain"),
    ],
)
def test_a_label_that_cannot_be_is_refused(cli: Cli, ran: list[str], flags: list[str], told: str) -> None:
    found = cli("semantics", "label", *flags)
    assert (found.code, told in found.err) == (2, True), found.err


def test_a_domain_is_tested_with_every_stage(cli: Cli, orders: Path) -> None:
    text = (orders / "workflow.yaml").read_text()
    more = ["at: [planner.intent]", "synonyms: { cancel: [call it off] }", "rules: [{ match: money, value: refund }]"]
    (orders / "workflow.yaml").write_text(text.replace("at: [planner.intent]", "\n      ".join(more)))
    assert cli("semantics", "train", "--samples", "said.csv").code == 0
    rows = [
        "track,track",
        "Call it OFF,cancel",
        "my money,refund",
        "唔該,",
        "where is my parcel please,track",
        "money?,track",
    ]
    (orders / "asked.csv").write_text("\n".join(["text,value", *rows]))
    flags = ["--samples", "asked.csv", "--aligner", "intent-1.aligner"]
    told = cli("semantics", "test", *flags, "--json")
    assert told.code == 0
    assert told.document["by"] == {"exact": 1, "synonym": 1, "rule": 2, "abstained": 1, "learned": 1}
    assert (told.document["accuracy"], told.document["coverage"], told.document["outside_refused"]) == (0.8, 1.0, 1.0)
    shown = cli("semantics", "test", *flags, "--min-accuracy", "0.9", "--min-coverage", "1", "--max-error", "0.1")
    assert shown.code == 1
    assert "track taken for refund" in shown.out
    assert "accuracy 0.8000 is below --min-accuracy 0.9" in shown.err
    assert "error 0.2000 is above --max-error 0.1" in shown.err
    assert "coverage" not in shown.err


def test_without_an_aligner_the_declared_stages_are_tested(cli: Cli, orders: Path) -> None:
    told = cli("semantics", "test", "--samples", "said.csv", "--json").document
    assert told["by"] == {"abstained": 13}


def test_testing_needs_texts_and_an_aligner_of_the_domain(cli: Cli, orders: Path) -> None:
    assert "--samples FILE" in cli("semantics", "test").err
    told = cli("semantics", "test", "--samples", "said.csv", "--aligner", "said.csv")
    assert (told.code, "not a whole safetensors file" in told.err) == (1, True)


def test_what_nothing_understood_is_listed_newest_first_each_once(cli: Cli, orders: Path) -> None:
    for words in ("a mouse", "a cat", "a mouse", "a dog", "a cat"):
        assert cli("run", "--input", json.dumps({"words": words})).code == 0
    listed = cli("semantics", "label", "--json").document["unclear"]
    assert [each["text"] for each in listed] == ["a cat", "a dog", "a mouse"]
    assert listed[0]["run_id"] == cli("runs", "show", "last", "--json").document["run"]["id"]


def test_what_a_person_types_at_the_prompt_is_told_in_words_of_the_prompt(
    cli: Cli, ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    answers = iter(["9", "2"])
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(answers))
    told = cli("semantics", "label").err
    assert "'9' is no answer: 0 none of them, 1 track, 2 cancel, 3 refund; a number, or the value" in told
    assert "leave the value empty" not in told
    (note,) = cli("runs", "show", ran[1], "--json").document["annotations"]
    assert note["value"]["value"] == "cancel"


def test_where_a_value_is_called_none_zero_still_means_none_of_them(
    cli: Cli, orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (orders / "workflow.yaml").read_text()
    (orders / "workflow.yaml").write_text(text.replace("values: [track,", "values: [none, track,"))
    assert cli("run", "--input", '{"words": "no idea"}').code == 0
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    for answer, value in (("0", ""), ("none", "none")):
        monkeypatch.setattr("typer.prompt", lambda *_, answer=answer, **__: answer)
        assert cli("run", "--input", json.dumps({"words": f"no idea {answer}"})).code == 0
        assert cli("semantics", "label", "--limit", "1").code == 0
        (note,) = cli("runs", "show", "last", "--json").document["annotations"]
        assert note["value"]["value"] == value
    assert (
        "For a text that means none of them: --value ''"
        in cli("semantics", "label", "--text", "x", "--value", "nun").err
    )


def test_what_no_aligner_was_asked_has_no_confidence(cli: Cli, orders: Path) -> None:
    for words in ("a mouse", "a cat"):
        assert cli("run", "--input", json.dumps({"words": words})).code == 0
    (domain,) = cli("semantics", "report", "--json").document["domains"]
    assert (domain["by"], domain["drift"]) == ({"abstained": 2}, None)
    told = cli("semantics", "report").out
    assert "confidence" not in told
    assert "1 time  a mouse" in told


def test_confidence_is_told_of_what_came_to_the_aligner(cli: Cli, ran: list[str]) -> None:
    assert "of the 2 that came to the aligner: confidence" in cli("semantics", "report").out


def test_what_another_domain_does_not_translate_is_told_as_a_gap_of_the_contract(cli: Cli, orders: Path) -> None:
    text = (orders / "workflow.yaml").read_text()
    (orders / "workflow.yaml").write_text(
        text.replace(
            "at: [planner.intent]",
            "at: [planner.intent]\n"
            "    api: { values: [FIND], at: [output.intent], from: { intent: { refund: FIND } } }",
        )
    )
    assert cli("run", "--input", '{"words": "track"}', "--json").document["run"]["status"] == "failed"
    flags = ["--domain", "api"]
    assert cli("semantics", "label", *flags, "--json").document["unclear"] == []
    told = cli("semantics", "label", *flags, "--run", "last", "--value", "FIND")
    assert (told.code, "say what it means there under `from` of 'api'" in told.err) == (2, True)
    assert "1 time  track, a value that this domain does not translate" in cli("semantics", "report").out


def test_a_quarantined_run_is_told_apart(cli: Cli, orders: Path) -> None:
    text = (orders / "workflow.yaml").read_text()
    quiet = text.replace("at: [planner.intent]", "at: [planner.intent]\n      mode: quarantine")
    assert cli("run", "--input", '{"words": "a mouse"}').code == 0
    (orders / "workflow.yaml").write_text(quiet)
    told = cli("run", "--input", '{"words": "a mouse"}')
    assert "degraded (contract), quarantined in" in told.err
    listed = cli("runs", "list", "--json").document["runs"]
    assert [run["quarantined"] for run in listed] == [True, False]
    assert cli("runs", "list").out.count("degraded, quarantined") == 1
    shown = cli("runs", "show", "last").out
    assert "planner: a value meant nothing, so no training learns from this run" in shown
    assert shown.count("quarantined") == 2
    assert "quarantined" not in cli("runs", "show", listed[1]["id"]).out


def test_a_run_whose_own_output_or_long_text_was_quarantined_is_told_too(cli: Cli, orders: Path) -> None:
    text = (orders / "workflow.yaml").read_text()
    (orders / "workflow.yaml").write_text(text.replace("[planner.intent]", "[output.intent]\n      mode: quarantine"))
    assert cli("run", "--input", '{"words": "a mouse"}').code == 1
    shown = cli("runs", "show", "last").out
    assert "the run's own input or output: a value meant nothing" in " ".join(shown.split())
    long = text.replace("at: [planner.intent]", "at: [planner.intent]\n      mode: quarantine")
    (orders / "workflow.yaml").write_text(long)
    assert cli("run", "--input", json.dumps({"words": "鼠" * 3000})).code == 0
    assert [run["quarantined"] for run in cli("runs", "list", "--json").document["runs"]] == [True, True]


def test_a_label_against_a_rule_is_told_to_change_nothing(cli: Cli, orders: Path) -> None:
    text = (orders / "workflow.yaml").read_text()
    rule = "at: [planner.intent]\n      rules: [{ match: money, value: refund }]"
    (orders / "workflow.yaml").write_text(text.replace("at: [planner.intent]", rule))
    assert cli("run", "--input", '{"words": "no money for you"}').code == 0
    assert "a rule of the contract" not in cli("semantics", "label", "--run", "last", "--value", "refund").err
    told = cli("semantics", "label", "--run", "last", "--value", "cancel")
    assert "a rule of the contract says that it means refund" in told.err


def test_figures_of_what_was_taught_are_told_to_be_that(cli: Cli, ran: list[str]) -> None:
    told = cli("semantics", "test", "--samples", "said.csv")
    assert "13 texts of these the aligner was taught" in told.err


def test_only_what_is_new_is_learnt(cli: Cli, ran: list[str]) -> None:
    assert cli("semantics", "label", "--run", "last", "--value", "cancel").code == 0
    next_one = cli("semantics", "train", "--from", "intent-1.aligner", "--json").document
    assert next_one["lineage"]["samples"] == 14
    again = cli("semantics", "train", "--from", next_one["aligner"])
    assert (again.code, "nothing new to learn of the domain 'intent'" in again.err) == (1, True)
