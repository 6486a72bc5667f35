"""What a score loses when one element is taken away: no gradient, so a check on those that use them."""

import torch
from torch import Tensor

from stretto.learn.attribution.rows import Row, Score, flat, hold_pair, scores, unflat


def occlusion(score: Score, row: Row, baseline: Row) -> dict[str, Tensor]:
    """The score's fall, for each element by itself, when its baseline stands in its place. Shaped as the row.

    Zeiler and Fergus 2014, arXiv:1311.2901, section 4.2, one element at a time.
    """
    hold_pair("occlusion", row, baseline)
    whole_F, nothing_F = flat(row), flat(baseline)
    without_FF = torch.where(torch.eye(len(whole_F), dtype=torch.bool), nothing_F, whole_F)
    fallen_F = scores(score, whole_F[None], row) - scores(score, without_FF, row)
    return unflat(fallen_F[None], row)
