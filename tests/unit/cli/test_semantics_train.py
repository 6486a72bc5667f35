"""`stretto semantics train`: an aligner from a file of labelled texts, and the next one from it."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli

WORKFLOW = """
stretto: 1
name: orders
version: 0.1.0
contract:
  semantics:
    intent:
      values: [track, cancel, refund]
      at: [planner.intent]
components: components.py
steps:
  - name: planner
    component: planner
    input_mapping: { words: "input.words" }
output: { intent: "steps.planner.intent" }
"""
COMPONENTS = """
import stretto

@stretto.component("planner", "1.0.0", effects="pure")
async def plan(words: str) -> dict:
    return {"intent": words}
"""
SAID = {
    "track": ["where is my parcel", "track my order", "where has my package got to", "my parcel is late"],
    "cancel": ["cancel my order", "stop the order please", "i do not want the order", "cancel it now"],
    "refund": ["i want my money back", "refund me please", "give me a refund", "pay the money back"],
    "": ["how is the weather"],
}


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a workflow that has a domain, and labelled texts."""
    (tmp_path / "workflow.yaml").write_text(WORKFLOW)
    (tmp_path / "components.py").write_text(COMPONENTS)
    rows = [f"{text},{value}" for value, texts in SAID.items() for text in texts]
    (tmp_path / "said.csv").write_text("\n".join(["text,value", *rows]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_first_aligner_is_written_and_told_how_to_use(cli: Cli, orders: Path) -> None:
    told = cli("semantics", "train", "--samples", "said.csv")
    assert told.code == 0, told.err
    assert (orders / "intent-1.aligner").is_file()
    assert "right when forced" in told.out
    assert "--aligner intent-1.aligner" in told.err
    assert "aligner: intent-1.aligner" in told.err


def test_it_is_named_as_the_contract_finds_it(cli: Cli, orders: Path) -> None:
    told = cli("semantics", "train", "--samples", "said.csv", "--out", "made/my own.aligner")
    assert "give the domain 'intent' aligner: 'made/my own.aligner'" in told.err


@pytest.mark.parametrize("name", ["it's mine.aligner", "@home.aligner", "# 1.aligner", "意图-1.aligner"])
def test_what_is_to_be_written_into_the_contract_is_yaml(cli: Cli, orders: Path, name: str) -> None:
    told = cli("semantics", "train", "--samples", "said.csv", "--out", name)
    (line,) = (line for line in told.err.splitlines() if line.startswith("for good"))
    entry = line.partition("give the domain 'intent' ")[2]
    text = (orders / "workflow.yaml").read_text()
    named = text.replace("at: [planner.intent]", f"at: [planner.intent]\n      {entry}")
    (orders / "workflow.yaml").write_text(named)
    assert cli("check").code == 0


def test_none_is_ever_written_over(cli: Cli, orders: Path) -> None:
    first = cli("semantics", "train", "--samples", "said.csv", "--json").document["aligner"]
    assert cli("semantics", "train", "--samples", "said.csv", "--json").document["aligner"] != first
    told = cli("semantics", "train", "--samples", "said.csv", "--out", first)
    assert told.code == 2
    assert "never written over" in told.err


def test_the_next_one_names_its_parent_and_tells_before_and_after(cli: Cli, orders: Path) -> None:
    parent = cli("semantics", "train", "--samples", "said.csv", "--json").document
    more = [{"text": f"parcel number {n} is lost", "value": "track"} for n in range(10)]
    (orders / "more.jsonl").write_text("\n".join(map(json.dumps, more)))
    child = cli("semantics", "train", "--from", parent["aligner"], "--samples", "more.jsonl", "--json").document
    assert child["lineage"]["parent"] == parent["digest"]
    assert child["lineage"]["version"] == 2
    assert child["before"]["texts"] == child["after"]["texts"] == 2


def test_a_text_that_is_labelled_by_hand_is_added_to_a_file_that_training_reads(cli: Cli, orders: Path) -> None:
    for value in ("refund", "none"):
        assert cli("semantics", "label", "--text", "send\nit back", "--value", value, "--reason", "call").code == 0
    lines = [json.loads(line) for line in (orders / "intent.labels.jsonl").read_text().splitlines()]
    assert [line["value"] for line in lines] == ["refund", ""]
    assert {(line["text"], line["reason"]) for line in lines} == {("send\nit back", "call")}
    told = cli("semantics", "train", "--samples", "said.csv", "--samples", "intent.labels.jsonl", "--json").document
    assert told["lineage"]["samples"] == 14


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.csv", b"text,value\n", "holds no labelled text"),
        ("other.csv", b"words,value\nx,track\n", "empty.csv:2 has no 'text'"),
        ("quote.csv", b'text,value\n"x,track\n', "is no CSV"),
        ("bad.jsonl", b"{\n", "bad.jsonl:1 is no labelled text"),
        ("number.jsonl", b'{"text": 1, "value": "track"}\n', "number.jsonl:1 has no 'text'"),
        ("lacks.jsonl", b'{"text": "x"}\n', "lacks.jsonl:1 has no 'value'"),
        ("latin.csv", "text,value\nr\xfcck,refund\n".encode("latin-1"), "is not UTF-8"),
        ("wrong.csv", b"text,value\nx,cancle\n", "did you mean 'cancel'"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_its_line(
    cli: Cli, orders: Path, name: str, content: bytes, told: str
) -> None:
    (orders / name).write_bytes(content)
    found = cli("semantics", "train", "--samples", name)
    assert found.code == 2
    assert told.replace("empty.csv", name) in found.err if name == "other.csv" else told in found.err


@pytest.mark.parametrize(
    ("flags", "code", "told"),
    [
        (["train"], 1, "there is nothing to learn"),
        (["train", "--samples", "none.csv"], 2, "cannot be read"),
        (["train", "--samples", "said.csv", "--domain", "intnet"], 2, "did you mean 'intent'"),
        (["train", "--samples", "said.csv", "--from", "none.aligner"], 2, "no file at"),
        (["train", "--samples", "said.csv", "--from", "said.csv"], 1, "not a whole safetensors file"),
        (["label", "--text", "x"], 2, "say what 'x' means"),
        (["label", "--value", "track"], 2, "no text was given"),
        (["label", "--text", " ", "--value", "track"], 2, "a blank text is refused before"),
        (["label", "--text", "x", "--run", "last", "--value", "track"], 2, "give one of the two"),
        (["label", "--at", "planner.intent"], 2, "give --run RUN too"),
        (["label", "--run", "last", "--value", "track", "--to", "x.jsonl"], 2, "--to says where --text goes"),
        (["label", "--text", "x", "--value", "trakc"], 2, "did you mean 'track'"),
        (["label", "--text", "x", "--value", "trakc"], 2, "For a text that means none of them: --value none"),
        (["train"], 1, "stretto semantics label workflow.yaml --domain intent"),
    ],
)
def test_what_is_wrong_is_told(cli: Cli, orders: Path, flags: list[str], code: int, told: str) -> None:
    found = cli("semantics", *flags)
    assert (found.code, told in found.err) == (code, True), found.err


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (["a parcel,track"], "the only text given means 'track'"),
        (["a parcel,track", "a box,track"], "all 2 texts mean 'track'"),
        (["a mouse,", "a cat,"], "all 2 texts mean none of its values"),
        (["?,track"], "no text is given"),
    ],
)
def test_too_few_labels_are_told_with_what_is_there_and_a_command_that_works(
    cli: Cli, orders: Path, rows: list[str], told: str
) -> None:
    (orders / "few.csv").write_text("\n".join(["text,value", *rows]))
    found = cli("semantics", "train", "--samples", "few.csv")
    assert found.code == 1
    assert f"too few labels to train an aligner of the domain 'intent': {told}; expected texts of two" in found.err
    assert "Label more: stretto semantics label workflow.yaml --domain intent" in found.err


def test_labels_of_one_text_that_differ_are_told(cli: Cli, orders: Path) -> None:
    more = ["refund me please,", "refund me please,track", "refund me please,track", "cancel it now,cancel"]
    with (orders / "said.csv").open("a") as file:
        file.write("\n" + "\n".join(more))
    told = cli("semantics", "train", "--samples", "said.csv")
    said = "which the last counts: 'refund me please' (refund, then none of them, then track)"
    assert (told.code, said in told.err) == (0, True), told.err
    assert told.err.count("labelled in different ways") == 1


def test_many_labels_that_differ_are_told_in_part(cli: Cli, orders: Path) -> None:
    with (orders / "said.csv").open("a") as file:
        file.write("".join(f"\nparcel {n},track\nparcel {n},cancel" for n in range(7)))
    told = cli("semantics", "train", "--samples", "said.csv")
    assert told.err.count("labelled in different ways") == 5
    assert "and 2 texts more" in told.err


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("track", "on the 1 text learnt from, too few to hold any out"),
        ("none", "too few to hold any out: none of these means a value of the domain"),
    ],
)
def test_a_further_training_says_of_how_many_texts_its_figures_are(
    cli: Cli, orders: Path, value: str, told: str
) -> None:
    assert cli("semantics", "train", "--samples", "said.csv").code == 0
    assert cli("semantics", "label", "--text", "it got lost", "--value", value).code == 0
    found = cli("semantics", "train", "--from", "intent-1.aligner", "--samples", "intent.labels.jsonl")
    assert told in found.out.replace("\n", " ")


def test_an_aligner_somewhere_else_is_named_by_the_way_there(cli: Cli, orders: Path) -> None:
    there = orders.parent / "elsewhere.aligner"
    told = cli("semantics", "train", "--samples", "said.csv", "--out", str(there))
    assert "give the domain 'intent' aligner: ../elsewhere.aligner" in told.err
    text = (orders / "workflow.yaml").read_text()
    named = text.replace("at: [planner.intent]", "at: [planner.intent]\n      aligner: ../elsewhere.aligner")
    (orders / "workflow.yaml").write_text(named)
    assert cli("check").code == 0


def test_a_workflow_without_domains_is_refused(cli: Cli, orders: Path) -> None:
    head, _, rest = WORKFLOW.partition("contract:")
    (orders / "bare.yaml").write_text(head + rest[rest.index("components:") :])
    told = cli("semantics", "train", "bare.yaml", "--samples", "said.csv")
    assert (told.code, "declare one under `semantics`" in told.err) == (2, True)
