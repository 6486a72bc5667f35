"""What an aligner's scores are worth, from texts that it was not trained on. Pure functions of arrays.

Shape letters: B texts, E numbers of evidence.
"""

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from stretto.components.aligner.confidence import Floats

Bools = npt.NDArray[np.bool_]

MOST_WRONG: Final = 0.01
"""Of the texts that are aligned, so many may be aligned wrongly: what the mission asks of a default."""

LEAST_SURE: Final = 0.5
"""An answer is never given that is likelier wrong than right, however few mistakes a handful of texts has shown."""

_SOFTNESS: Final = 10.0
"""Inverse ridge of the calibration. It has six numbers; the ridge matters where only tens of texts are."""


def calibrate(evidence_BE: Floats, right_B: Bools) -> tuple[float, ...]:
    """E weights and a constant by which the evidence tells the probability of being right.

    With Platt's targets (1999, section 2.2): as if one more text had been right and one more wrong, so that texts
    that are all right leave a doubt too.
    """
    targets_B = np.where(right_B, (right_B.sum() + 1) / (right_B.sum() + 2), 1 / ((~right_B).sum() + 2))
    both = np.concatenate([np.ones(len(right_B)), np.zeros(len(right_B))])
    weights = np.concatenate([targets_B, 1 - targets_B])
    fitted = LogisticRegression(C=_SOFTNESS, max_iter=5000).fit(np.vstack([evidence_BE, evidence_BE]), both, weights)
    return (*map(float, fitted.coef_[0]), float(fitted.intercept_[0]))


def choose_threshold(sure_B: Floats, right_B: Bools, most_wrong: float = MOST_WRONG) -> float:
    """The lowest confidence from which at most so large a share is wrong, one standard error counted in.

    1.0 where no confidence is enough: then nothing is aligned. Ties stand together on one side.
    """
    order = np.argsort(-sure_B, kind="stable")
    sure, taken = sure_B[order], np.arange(1, len(order) + 1)
    share = np.cumsum(~right_B[order]) / taken
    above = share + np.sqrt(share * (1 - share) / taken)
    last_of_tie = np.append(sure[1:] < sure[:-1], True)
    enough = np.flatnonzero((above <= most_wrong) & last_of_tie)
    if not len(enough):
        return 1.0
    return max(LEAST_SURE, _just_below(float(sure[enough[-1]])))


def _just_below(sure: float) -> float:
    """Rounded down to four digits, which people can read and write."""
    return math.floor(sure * 1e4) / 1e4
