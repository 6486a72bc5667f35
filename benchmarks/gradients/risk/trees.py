"""scikit-learn's gradient-boosted trees, which are told who defaulted, on the same figures.

They decide by what the bank may expect of each decision at their risk, as the router does; the rules then overrule.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.gradients.risk.cards import Cards, Floats, Places
from benchmarks.gradients.risk.measures import Measured, measured
from benchmarks.gradients.risk.points import Point, told
from examples.risk.components import DECISIONS, UTILITY

SETTINGS: Final[tuple[Mapping[str, Any], ...]] = (
    {},
    {"learning_rate": 0.05, "max_leaf_nodes": 8},
    {"learning_rate": 0.03, "max_iter": 300, "l2_regularization": 1.0},
)
"""The library's own, and two that learn more slowly; which is best is decided on validation."""

LEARNER: Final = "boosted trees"


def trees(cards: Cards, seeds: Sequence[int]) -> list[Point]:
    """Fit all settings to the train part; of each seed the one with the highest AUC on validation."""
    return [told(max((_fitted(cards, seed, each) for each in SETTINGS), key=_auc)) for seed in seeds]


def _fitted(cards: Cards, seed: int, settings: Mapping[str, Any]) -> Point:
    model = HistGradientBoostingClassifier(random_state=seed, **settings)
    model.fit(cards.seen_ND[cards.train], cards.defaulted_N[cards.train])

    def of(part: Places) -> Measured:
        risk_N = model.predict_proba(cards.seen_ND[part])[:, 1]
        return measured(cards, part, expected(risk_N), risk_N)

    return Point(
        learner=LEARNER,
        seed=seed,
        runs=len(cards.train),
        updates=model.n_iter_,
        test=of(cards.test),
        validation=of(cards.validation),
    )


def _auc(point: Point) -> float:
    assert point.validation is not None
    assert point.validation.auc is not None
    return point.validation.auc


def expected(risk_N: Floats) -> Floats:
    """What the bank may expect of each decision: [N, A]."""
    worth = np.array([[UTILITY[each][bad] for each in DECISIONS] for bad in (False, True)], dtype=np.float32)
    found: Floats = (1.0 - risk_N)[:, None] * worth[0] + risk_N[:, None] * worth[1]
    return found
