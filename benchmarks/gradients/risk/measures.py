"""How good decisions are on card holders that nothing was learnt from.

Shape letters: N card holders, A decisions (approve, refer, decline).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.gradients.risk.cards import Cards, Floats, Places

COVERAGES: Final = (0.5, 0.7, 0.9, 1.0)

APPROVE: Final = 0
DECLINE: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Of one decider on one part of the table."""

    utility: float
    """Mean, of what it prefers, after the rules."""
    accuracy: Mapping[float, float]
    """Coverage → share of right calls. A call is approve or decline, whichever is preferred of the two, and right where
    who is approved pays and who is declined defaults. The coverage is the share of card holders that are called, those
    of whom the two preferences are farthest apart; the others would be referred."""
    auc: float | None
    """Of its risk; None of one that tells none."""


def measured(cards: Cards, part: Places, preference_NA: Floats, risk_N: Floats | None = None) -> Measured:
    """`preference_NA` are log-probabilities or expected utilities of a part's card holders: the highest is decided."""
    worth_NA, defaulted_N = cards.worth_NA[part], cards.defaulted_N[part]
    decided_N = preference_NA.argmax(1)
    margin_N = preference_NA[:, APPROVE] - preference_NA[:, DECLINE]
    right_N = (margin_N < 0) == defaulted_N
    surest_first = np.argsort(-np.abs(margin_N), kind="stable")
    return Measured(
        utility=float(worth_NA[np.arange(len(part)), decided_N].mean()),
        accuracy={each: float(right_N[surest_first[: round(each * len(part))]].mean()) for each in COVERAGES},
        auc=None if risk_N is None else float(roc_auc_score(defaulted_N, risk_N)),
    )
