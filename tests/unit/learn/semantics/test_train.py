"""Training of aligners: what is learnt, what is refused, and that a correction moves the model at once."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from stretto.components.aligner.component import LearnedAligner
from stretto.components.aligner.model import AlignerModel
from stretto.learn.semantics.samples import Sample
from stretto.learn.semantics.train import FIRST_TRAINING_PASSES, NEXT_TRAINING_PASSES, measure, train_first, train_next
from stretto.types.errors import LearningError, UsageError

VALUES = ["track", "cancel", "refund"]
SAID = {
    "track": ["where is my parcel", "track my order", "where has my package got to", "my parcel is late"],
    "cancel": ["cancel my order", "stop the order please", "i do not want the order", "cancel it now"],
    "refund": ["i want my money back", "refund me please", "give me a refund", "pay the money back"],
    "": ["how is the weather", "tell me a joke"],
}
SAMPLES = [Sample(text=text, value=value) for value, texts in SAID.items() for text in texts]
AT = "2026-11-30T00:00:00+00:00"


@cache
def taught() -> AlignerModel:
    """What the samples teach, once for all tests: none changes it."""
    return train_first("intent", VALUES, SAMPLES, trained_at=AT)


def test_the_same_samples_give_the_same_aligner() -> None:
    one, other = (train_first("intent", VALUES, SAMPLES, trained_at=AT) for _ in range(2))
    assert one.digest == other.digest
    assert np.array_equal(one.weights_NC, other.weights_NC)


def test_it_knows_what_it_was_told() -> None:
    model = train_first("intent", VALUES, SAMPLES, trained_at=AT, source=["said.csv"])
    best_B, _ = model.guesses([sample.text for sample in SAMPLES if sample.value])
    assert [model.meta.values[best] for best in best_B] == [sample.value for sample in SAMPLES if sample.value]
    assert model.meta.lineage.samples == len(SAMPLES)
    assert (model.meta.lineage.version, model.meta.lineage.parent) == (1, "")


def test_a_correction_moves_the_model_at_once_and_is_one_version_more() -> None:
    parent = taught()
    correction = Sample(text="abort mission 包裹", value="cancel")
    child = train_next(parent, [correction], trained_at=AT)
    assert measure(parent, [correction]).accuracy == 0.0 or parent.digest != child.digest
    assert measure(child, [correction]).accuracy == 1.0
    assert measure(child, SAMPLES).accuracy >= 0.9
    assert (child.meta.lineage.version, child.meta.lineage.parent) == (2, parent.digest)
    assert child.meta.lineage.samples == len(SAMPLES) + 1


@pytest.mark.parametrize("text", ["where is my parcel", "WHERE is  my parcel", "👍", "?!", "唔該"])
@pytest.mark.parametrize("value", ["refund", ""])
def test_one_correction_is_the_answer_to_that_text_from_then_on(text: str, value: str) -> None:
    correction = Sample(text=text, value=value)
    parent = taught()
    anew = train_first("intent", VALUES, [*SAMPLES, correction], trained_at=AT)
    for model in (anew, train_next(parent, [correction], trained_at=AT)):
        found = LearnedAligner(model).align(text)
        assert (found.value, found.by, found.confidence) == (value, "learned", 1.0) if found else not value
        (_,), (sure,) = model.guesses([text])
        assert sure == bool(value)


def test_a_correction_may_be_corrected() -> None:
    model = taught()
    for value in ("cancel", "", "track"):
        model = train_next(model, [Sample(text="make it so", value=value)], trained_at=AT)
    found = LearnedAligner(model).align("Make it so")
    assert found is not None
    assert found.value == "track"


def test_what_people_wrote_is_not_in_the_file(tmp_path: Path) -> None:
    taught().save(tmp_path / "file")
    content = (tmp_path / "file").read_bytes()
    assert not [sample for sample in SAMPLES if sample.text.encode() in content]


def test_what_was_said_last_counts() -> None:
    samples = [Sample(text="cancel my order", value="track"), *SAMPLES]
    assert train_first("intent", VALUES, samples, trained_at=AT).meta.lineage.samples == len(SAMPLES)


def test_a_text_without_a_word_teaches_nothing_of_others() -> None:
    model = train_first("intent", VALUES, [*SAMPLES, Sample(text="?!", value="track")], trained_at=AT)
    without = taught()
    assert np.array_equal(model.weights_NC, without.weights_NC)
    assert model.meta.lineage.samples == len(SAMPLES) + 1


def test_a_blank_text_is_no_sample() -> None:
    model = train_first("intent", VALUES, [*SAMPLES, Sample(text=" \n", value="track")], trained_at=AT)
    assert model.meta.lineage.samples == len(SAMPLES)


def test_passes_are_told_to_the_end() -> None:
    told: list[None] = []
    model = train_first("intent", VALUES, SAMPLES, trained_at=AT, on_pass=lambda: told.append(None))
    assert len(told) == FIRST_TRAINING_PASSES
    told.clear()
    train_next(model, [Sample(text="lost it", value="track")], trained_at=AT, on_pass=lambda: told.append(None))
    assert len(told) == NEXT_TRAINING_PASSES


def test_a_label_that_is_no_value_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'cancel'"):
        train_first("intent", VALUES, [*SAMPLES, Sample(text="x", value="cancle")], trained_at=AT)


@pytest.mark.parametrize("samples", [[], SAMPLES[:4]], ids=["none", "one value"])
def test_too_little_to_tell_apart_is_refused(samples: list[Sample]) -> None:
    with pytest.raises(LearningError, match="Label more"):
        train_first("intent", VALUES, samples, trained_at=AT)


def test_a_domain_of_one_value_is_refused() -> None:
    with pytest.raises(LearningError, match="two or more apart"):
        train_first("intent", ["track"], SAMPLES[:1], trained_at=AT)


@pytest.mark.parametrize("samples", [[], SAMPLES], ids=["nothing", "what it was taught"])
def test_nothing_new_is_refused(samples: list[Sample]) -> None:
    parent = taught()
    with pytest.raises(LearningError, match="nothing new"):
        train_next(parent, samples, trained_at=AT)


def test_a_value_with_no_text_is_never_answered() -> None:
    model = train_first("intent", [*VALUES, "exchange"], SAMPLES, trained_at=AT)
    best_B, _ = model.guesses([sample.text for sample in SAMPLES])
    assert "exchange" not in {model.meta.values[best] for best in best_B}


@settings(max_examples=25)  # each trains six learners
@given(
    st.lists(
        st.tuples(st.text(max_size=12).map("a{}".format), st.sampled_from([*VALUES, ""])),
        min_size=2,
        max_size=12,
        unique_by=lambda t: t[0],
    ).filter(lambda pairs: len({value for _, value in pairs}) > 1)
)
def test_whatever_is_labelled_gives_finite_weights_and_a_threshold(pairs: list[tuple[str, str]]) -> None:
    model = train_first("d", VALUES, [Sample(text=text, value=value) for text, value in pairs], trained_at=AT)
    assert np.isfinite(model.weights_NC).all()
    assert 0.5 <= model.meta.threshold <= 1
    assert np.isfinite(model.guesses([text for text, _ in pairs])[1]).all()
