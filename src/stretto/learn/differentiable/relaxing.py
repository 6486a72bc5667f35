"""What modules are given in place of a choice's one-hot, by the estimators that let a gradient pass through it."""

from typing import Final

import torch
from torch import Tensor

from stretto.learn.estimators import rao_blackwell, straight_through
from stretto.types.enums import Estimator

TEMPERATURE: Final = 1.0
"""Of relaxed samples: 1 is the softmax of the noisy logits as they are. Lower has less bias and more variance."""

DRAWS: Final = {Estimator.GUMBEL: 1, Estimator.RAO_BLACKWELL: 16}
"""Relaxed samples that choose the same; of one, the plain straight-through Gumbel estimator."""

RELAXING: Final = frozenset({Estimator.STRAIGHT_THROUGH, *DRAWS})


def relaxed(estimator: Estimator, log_p_BA: Tensor, chosen_B: Tensor) -> Tensor | None:
    """The choice [B, A], one-hot to the bit, with the estimator's gradient; None for one that passes none."""
    if estimator is Estimator.STRAIGHT_THROUGH:
        return straight_through(log_p_BA.exp().float(), chosen_B)
    if estimator in DRAWS:
        uniform_KBA = torch.rand(DRAWS[estimator], *log_p_BA.shape, dtype=log_p_BA.dtype)
        return rao_blackwell(log_p_BA, chosen_B, uniform_KBA, TEMPERATURE).float()
    return None
