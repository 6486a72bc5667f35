"""What a score loses when one unit is taken away: no gradient, so a check on those that use them."""

from collections.abc import Collection

import torch
from torch import Tensor

from stretto.learn.attribution.rows import ROWS, Row, Score, flat, hold_pair, scores, units_of


def occlusion(score: Score, row: Row, baseline: Row, *, whole: Collection[str] = ()) -> Tensor:
    """The score's fall, [U], for each unit by itself, when its baseline stands in its place; units as in `units_of`.

    Zeiler and Fergus 2014, arXiv:1311.2901, section 4.2, one unit at a time.
    """
    hold_pair("occlusion", row, baseline)
    whole_F, nothing_F, units_F = flat(row), flat(baseline), units_of(row, whole)
    top = scores(score, whole_F[None], row)
    fallen = [
        top - scores(score, torch.where(units_F == chosen_U[:, None], nothing_F, whole_F), row)
        for chosen_U in torch.split(torch.arange(int(units_F.max()) + 1), ROWS)
    ]
    return torch.cat(fallen)
