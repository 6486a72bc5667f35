"""How sure an aligner may be: a logistic function of what its scores tell. Pure functions of arrays.

Shape letters: B texts, C classes (the last is *none of them*), E numbers of evidence.

A score is a margin of one value against all others. The softmax of scores is well ordered and badly scaled, so a
logistic regression on texts that were not learnt from says what it is worth (Platt 1999, "Probabilistic outputs for
support vector machines", on nine numbers in place of one: the best score, its lead over the next two, the share that
it takes of the whole at two temperatures, and what letters and words each say of it. On folds of BANKING77 that lets
in a quarter fewer errors than the lead alone: docs/log.md).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SHARPER = 2.0
"""Of the second softmax: at 1 many weak rivals count most, at 2 the one that is near."""


def best_values(scores_BC: Floats) -> Ints:
    """For each text the value with the highest score, *none of them* left aside."""
    return np.asarray(scores_BC[:, :-1].argmax(axis=1), dtype=np.int64)


def evidence(letters_BC: Floats, words_BC: Floats, intercepts_C: npt.NDArray[np.floating]) -> Floats:
    """Shape B by E: of the best value its log share of the softmax at 1 and at 2, its score, its leads over the next
    and the one after; then its score and lead by the letters alone, and by the words alone.

    A lead is negative where another class scores higher. C is 3 at least.
    """
    scores_BC = letters_BC + words_BC + intercepts_C
    best_B = best_values(scores_BC)
    top_B, first_B, second_B = _leads(scores_BC, best_B)
    shares = (_log_share(scores_BC, top_B, 1.0), _log_share(scores_BC, top_B, SHARPER))
    parts = (*_leads(letters_BC, best_B)[:2], *_leads(words_BC, best_B)[:2])
    return np.stack([*shares, top_B, first_B, second_B, *parts], axis=1)


def confidence(evidence_BE: Floats, calibration: Sequence[float]) -> Floats:
    """Probability that the best value is the right one, each in [0, 1]; calibration is E weights and a constant."""
    weights_E = np.asarray(calibration[:-1])
    logits_B = np.clip(evidence_BE @ weights_E + calibration[-1], -50.0, 50.0)  # exp overflows at 710
    return np.asarray(1.0 / (1.0 + np.exp(-logits_B)), dtype=np.float64)


def _leads(scores_BC: Floats, chosen_B: Ints) -> tuple[Floats, Floats, Floats]:
    """The chosen class's score, and its leads over the best of the others and over the second best."""
    rows_B = np.arange(len(scores_BC))
    chosen = scores_BC[rows_B, chosen_B]
    others_BC = scores_BC.copy()
    others_BC[rows_B, chosen_B] = -np.inf
    first, second = np.sort(others_BC, axis=1)[:, [-1, -2]].T
    return chosen, chosen - first, chosen - second


def _log_share(scores_BC: Floats, top_B: Floats, sharpness: float) -> Floats:
    highest_B = scores_BC.max(axis=1)
    whole_B = np.log(np.exp(sharpness * (scores_BC - highest_B[:, None])).sum(axis=1))
    return np.asarray(sharpness * (top_B - highest_B) - whole_B, dtype=np.float64)
