"""What learners say of labelled texts that they have not seen, so that it can be told what their word is worth.

Shape letters: B texts, C classes, E numbers of evidence.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from stretto.components.aligner.confidence import Floats, Ints, best_values, evidence
from stretto.components.aligner.grams import Grams
from stretto.components.aligner.meta import EVIDENCE
from stretto.learn.semantics.fit import Counts, first_weights, vocabulary_of

FOLDS: Final = 5
"""Each text is judged by an aligner that was trained on the four other fifths."""


def held_out(
    grams: Grams, counts: Sequence[Counts], labels_B: Ints, classes: int, on_pass: Callable[[], None]
) -> tuple[Ints, Floats]:
    """Each text's best value and its evidence, by weights, and a vocabulary, that have not seen it."""
    best_B = np.zeros(len(counts), np.int64)
    evidence_BE = np.zeros((len(counts), EVIDENCE))
    folds_B = _folds(labels_B)
    for fold in range(FOLDS):
        judged, learnt = np.flatnonzero(folds_B == fold).tolist(), np.flatnonzero(folds_B != fold).tolist()
        if not judged:
            continue
        vocabulary = vocabulary_of(grams, [counts[text] for text in learnt])
        weights = first_weights(vocabulary, [counts[text] for text in learnt], labels_B[learnt], classes, on_pass)
        parts = [vocabulary.parts(counts[text], weights.weights_NC) for text in judged]
        letters_BC, words_BC = (np.array(part) for part in zip(*parts, strict=True))
        best_B[judged] = best_values(letters_BC + words_BC + weights.intercepts_C)
        evidence_BE[judged] = evidence(letters_BC, words_BC, weights.intercepts_C)
    return best_B, evidence_BE


def _folds(labels_B: Ints) -> Ints:
    """A fold for each text: the texts of each class, in a drawn order, are dealt out in turn."""
    draw = np.random.default_rng(0)
    order = draw.permutation(len(labels_B))
    by_class = order[np.argsort(labels_B[order], kind="stable")]
    folds_B = np.empty(len(labels_B), np.int64)
    folds_B[by_class] = np.arange(len(labels_B)) % FOLDS
    return folds_B
