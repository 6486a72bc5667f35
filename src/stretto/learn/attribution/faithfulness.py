"""How far an attribution may be believed: its units taken away, or put in, by rank, against random orders."""

from collections.abc import Collection, Sequence
from typing import Final

import torch
from torch import Tensor

from stretto.learn.attribution.rows import Row, Score, by_unit, flat, hold_pair, scores, units_of
from stretto.learn.faith import Faithfulness

ORDERS: Final = 32
"""Random ones that it is held against."""


POINTS: Final = 64
"""Of a curve, at most."""


def faithfulness(
    score: Score,
    row: Row,
    baseline: Row,
    values: Row,
    *,
    whole: Collection[str] = (),
    orders: int = ORDERS,
    points: int = POINTS,
    seed: int = 0,
) -> Faithfulness:
    """Hold an attribution of the row against random orders of its units, which are as in `units_of`.

    Petsiuk, Das and Saenko 2018, "RISE", arXiv:1806.07421, section 4.2: areas under the deletion and the insertion
    curve, with the score scaled so that the row has 1 and the baseline 0. Units count in the direction in which the
    row's score lies from the baseline's. A curve has `points` or fewer: with more units than that, several go at once.
    """
    parts_U = by_unit(flat(values), units_of(row, whole))
    (told,) = faithfulness_of(score, row, baseline, [parts_U], whole=whole, orders=orders, points=points, seed=seed)
    return told


def faithfulness_of(
    score: Score,
    row: Row,
    baseline: Row,
    rankings: Sequence[Tensor],
    *,
    whole: Collection[str] = (),
    orders: int = ORDERS,
    points: int = POINTS,
    seed: int = 0,
) -> list[Faithfulness]:
    """The same for several attributions at once, each of one number a unit, [U]: random orders are tried once."""
    hold_pair("faithfulness", row, baseline)
    whole_F, nothing_F, units_F = flat(row), flat(baseline), units_of(row, whole)
    top, bottom = scores(score, torch.stack([whole_F, nothing_F]), row).tolist()
    towards, height = (1.0 if top >= bottom else -1.0), (top - bottom) or 1.0
    source = torch.Generator().manual_seed(seed)
    tried = [(parts_U * towards).argsort(descending=True, stable=True) for parts_U in rankings]
    tried += [torch.randperm(len(rankings[0]), generator=source) for _ in range(orders)]
    areas = torch.tensor(
        [
            [
                (_area(score, row, units_F, order_U, points, *ends) - bottom) / height
                for ends in ((whole_F, nothing_F), (nothing_F, whole_F))
            ]
            for order_U in tried
        ]
    )
    ranked, others = areas[: len(rankings)].tolist(), areas[len(rankings) :]
    return [
        Faithfulness(
            deletion=deletion,
            insertion=insertion,
            random=float(others[:, 0].mean()),
            beaten=float(((others[:, 0] > deletion) & (others[:, 1] < insertion)).float().mean()),
        )
        for deletion, insertion in ranked
    ]


def _area(
    score: Score, row: Row, units_F: Tensor, order_U: Tensor, points: int, start_F: Tensor, end_F: Tensor
) -> float:
    """Mean score on the way from one vector of elements to the other, one unit after the other in this order."""
    units = len(order_U)
    gone_P = torch.linspace(0, units, min(units, points) + 1).round()
    rank_F = order_U.argsort()[units_F]
    return float(scores(score, torch.where(rank_F < gone_P[:, None], end_F, start_F), row).mean())
