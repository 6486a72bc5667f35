"""Trains an aligner: a first one from labelled texts, a next one from a parent and what was labelled since."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import numpy as np

from stretto.components.aligner.confidence import Ints, confidence
from stretto.components.aligner.grams import Grams, counted
from stretto.components.aligner.labels import Labels
from stretto.components.aligner.meta import NONE_OF_THEM, AlignerMeta, Lineage, Measured, values_digest
from stretto.components.aligner.model import AlignerModel, Floats32, Vocabulary
from stretto.learn.semantics.fit import (
    FIRST_PASSES,
    NEXT_PASSES,
    STUBBORN_PASSES,
    Weights,
    corrected_weights,
    first_weights,
    grown,
    vocabulary_of,
)
from stretto.learn.semantics.folds import FOLDS, held_out
from stretto.learn.semantics.samples import LABEL_MORE, Sample, check_enough, check_values, settled, telling
from stretto.learn.semantics.threshold import MOST_WRONG, Bools, calibrate, choose_threshold
from stretto.types.errors import LearningError

FIRST_TRAINING_PASSES: Final = FIRST_PASSES * (FOLDS + 1)
NEXT_TRAINING_PASSES: Final = NEXT_PASSES + STUBBORN_PASSES
"""How often `on_pass` is called."""


def _silent() -> None:
    """Nobody wants to know of a pass."""


def train_first(
    domain: str,
    values: Sequence[str],
    samples: Sequence[Sample],
    *,
    trained_at: str,
    source: Sequence[str] = (),
    most_wrong: float = MOST_WRONG,
    label_more: str = LABEL_MORE,
    on_pass: Callable[[], None] = _silent,
) -> AlignerModel:
    """A first aligner of a domain, calibrated and given its threshold on folds of the samples.

    Raises UsageError for a label that is no value of the domain, LearningError when there is nothing to tell apart,
    which `label_more`, a command, mends.
    """
    ordered, grams = tuple(sorted(values)), Grams()
    samples = settled(samples)
    check_values(samples, values, domain)
    labels = Labels.of_texts(_columns(samples, ordered))
    samples = telling(samples, grams)
    check_enough(samples, values, domain, label_more=label_more)
    counts = [counted(grams, sample.text) for sample in samples]
    labels_B = _labels(samples, ordered)
    best_B, evidence_BE = held_out(grams, counts, labels_B, len(ordered) + 1, on_pass)
    right_B = best_B == labels_B
    calibration = calibrate(evidence_BE, right_B)
    sure_B = confidence(evidence_BE, calibration)
    threshold = choose_threshold(sure_B, right_B, most_wrong)
    vocabulary = vocabulary_of(grams, counts)
    weights = first_weights(vocabulary, counts, labels_B, len(ordered) + 1, on_pass)
    meta = AlignerMeta(
        domain=domain,
        values=ordered,
        values_digest=values_digest(ordered),
        threshold=threshold,
        calibration=calibration,
        unseen_idf=vocabulary.unseen_idf,
        steps=weights.steps,
        grams=grams,
        lineage=Lineage(samples=len(labels.texts_L), source=tuple(source), trained_at=trained_at),
        measured=_measured(labels_B, len(ordered), right_B, sure_B >= threshold),
    )
    return _model(meta, vocabulary, weights, labels)


def train_next(
    parent: AlignerModel,
    samples: Sequence[Sample],
    *,
    trained_at: str,
    source: Sequence[str] = (),
    on_pass: Callable[[], None] = _silent,
) -> AlignerModel:
    """The parent moved by what is new to it; its calibration and threshold stay, and what was measured of it does not.

    Raises UsageError for a label that is no value of the domain, LearningError when nothing is new.
    """
    meta = parent.meta
    samples = new_to(parent, samples)
    if not samples:
        raise LearningError(
            f"there is nothing new to learn of the domain '{meta.domain}': no labelled text that "
            f"{meta.domain}-aligner {meta.lineage.version} was not taught already"
        )
    labels = parent.labels.with_texts(_columns(samples, meta.values))
    vocabulary, weights = _moved(parent, telling(samples, meta.grams), on_pass)
    lineage = Lineage(
        version=meta.lineage.version + 1,
        parent=parent.digest,
        samples=len(labels.texts_L),
        source=tuple(source),
        trained_at=trained_at,
    )
    changed = msgspec.structs.replace(meta, steps=weights.steps, lineage=lineage, measured=Measured())
    return _model(changed, vocabulary, weights, labels)


def new_to(aligner: AlignerModel, samples: Sequence[Sample]) -> list[Sample]:
    """The samples that it was not taught, or taught otherwise; raises UsageError for a label that is no value."""
    samples, meta = settled(samples), aligner.meta
    check_values(samples, meta.values, meta.domain)
    columns = _columns(samples, meta.values)
    return [sample for sample in samples if aligner.labels.of(sample.text) != columns[sample.text]]


def _moved(parent: AlignerModel, samples: Sequence[Sample], on_pass: Callable[[], None]) -> tuple[Vocabulary, Weights]:
    """The parent's weights moved by samples; as they are where there is none."""
    meta = parent.meta
    start = Weights(weights_NC=parent.weights_NC, intercepts_C=parent.intercepts_C, steps=meta.steps)
    if not samples:
        return parent.vocabulary, start
    counts = [counted(meta.grams, sample.text) for sample in samples]
    vocabulary = grown(parent.vocabulary, counts)
    start = msgspec.structs.replace(start, weights_NC=_spread(parent, vocabulary))
    return vocabulary, corrected_weights(vocabulary, start, counts, _labels(samples, meta.values), on_pass)


def measure(model: AlignerModel, samples: Sequence[Sample]) -> Measured:
    """How well an aligner aligns labelled texts, at its own threshold."""
    if not samples:
        return Measured()
    labels_B = _labels(samples, model.meta.values)
    best_B, sure_B = model.guesses([sample.text for sample in samples])
    return _measured(labels_B, len(model.meta.values), best_B == labels_B, sure_B >= model.meta.threshold)


def _measured(labels_B: Ints, none: int, right_B: Bools, aligned_B: Bools) -> Measured:
    """A text that means no value counts only where it was aligned, which is wrong."""
    of_value_B = labels_B != none
    return Measured(
        texts=len(labels_B),
        accuracy=_share(right_B[of_value_B]),
        coverage=_share(aligned_B[of_value_B]),
        error=_share(~right_B[aligned_B]),
    )


def _share(which: Bools) -> float:
    return round(float(which.mean()), 6) if len(which) else 0.0


def _labels(samples: Sequence[Sample], values: Sequence[str]) -> Ints:
    columns = {value: column for column, value in enumerate(values)} | {NONE_OF_THEM: len(values)}
    return np.array([columns[sample.value] for sample in samples], np.int64)


def _columns(samples: Sequence[Sample], values: Sequence[str]) -> dict[str, int]:
    """Text → column of what it means."""
    return dict(zip((sample.text for sample in samples), _labels(samples, values).tolist(), strict=True))


def _spread(parent: AlignerModel, vocabulary: Vocabulary) -> Floats32:
    """The parent's weights at their rows of a larger vocabulary; zero for what is new."""
    weights_NC = np.zeros((len(vocabulary.hashes_N), len(parent.intercepts_C)), np.float32)
    weights_NC[np.searchsorted(vocabulary.hashes_N, parent.vocabulary.hashes_N)] = parent.weights_NC
    return weights_NC


def _model(meta: AlignerMeta, vocabulary: Vocabulary, weights: Weights, labels: Labels) -> AlignerModel:
    return AlignerModel(meta, vocabulary.hashes_N, vocabulary.idf_N, weights.weights_NC, weights.intercepts_C, labels)
