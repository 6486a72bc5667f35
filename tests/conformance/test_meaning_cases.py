"""Runs the data of `meaning/`: an aligner trained on it aligns what people say, or abstains (meaning/README.md)."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from stretto.components.aligner.component import LearnedAligner
from stretto.learn.semantics.samples import Sample
from stretto.learn.semantics.train import train_first
from stretto.types.meaning import AlignedBy

ORDERS = YAML(typ="safe", pure=True).load(Path(__file__).parent / "meaning" / "orders.yaml")
ASKED = [pytest.param(each, id=f"{each['how']}-{each['text']}") for each in ORDERS["ask"]]


SHARED = Path(__file__).parents[3] / "shared" / "data"
CANTONESE = SHARED / "cantonese_ctcpc" / "sentences.txt"
MANDARIN = SHARED / "crosswoz" / "dialogues.jsonl"


@cache
def _aligner() -> LearnedAligner:
    samples = [
        Sample(text=text, value="" if value == "none" else value)
        for value, texts in ORDERS["train"].items()
        for text in texts
    ]
    return LearnedAligner(train_first(ORDERS["domain"], ORDERS["values"], samples, trained_at="2026-11-30"))


@pytest.mark.parametrize("each", ASKED)
def test_what_is_said_ends_at_what_it_means_or_nowhere(each: dict[str, Any]) -> None:
    found = _aligner().align(each["text"])
    if found is not None and found.by is AlignedBy.LEARNED:
        assert found.value == each["means"]


def test_no_text_of_the_questions_was_learnt_from() -> None:
    learnt = {text for texts in ORDERS["train"].values() for text in texts}
    assert learnt.isdisjoint(each["text"] for each in ORDERS["ask"])


def test_where_has_my_parcel_got_to_is_understood_in_six_ways_of_speaking() -> None:
    aligner = _aligner()
    asked = [each for each in ORDERS["ask"] if each["means"] == "ORDER_STATUS_QUERY"]
    found = {each["how"] for each in asked if (answer := aligner.align(each["text"])) and answer.by == "learned"}
    assert found == {"Mandarin", "Cantonese", "Sichuanese", "Shanghainese", "Hokkien", "English"}


def test_most_of_what_means_a_value_is_aligned() -> None:
    aligner = _aligner()
    asked = [each for each in ORDERS["ask"] if each["means"] != "none"]
    aligned = [each for each in asked if (answer := aligner.align(each["text"])) and answer.by == "learned"]
    assert len(aligned) >= 0.7 * len(asked)


@pytest.mark.skipif(not CANTONESE.is_file(), reason="the shared Cantonese sentences are not beside this checkout")
def test_cantonese_on_other_matters_is_refused() -> None:
    said = [line for line in CANTONESE.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert _share_aligned(said) <= 0.03


@pytest.mark.skipif(not MANDARIN.is_file(), reason="the shared CrossWOZ dialogues are not beside this checkout")
def test_mandarin_on_hotels_and_sights_is_refused() -> None:
    dialogues = map(json.loads, MANDARIN.read_text(encoding="utf-8").splitlines())
    said = [message["content"] for dialogue in dialogues for message in dialogue["messages"]]
    assert _share_aligned(said) <= 0.03


def _share_aligned(texts: list[str]) -> float:
    found = map(_aligner().align, texts)
    return sum(answer is not None and answer.by is AlignedBy.LEARNED for answer in found) / len(texts)
