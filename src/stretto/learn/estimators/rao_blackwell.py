"""Straight-through Gumbel with less variance and no more calls of what follows. Biased as that is."""

from typing import Final

import torch
from torch import Tensor
from torch.nn.functional import softmax

from stretto.learn.estimators.gumbel import gumbel_given
from stretto.learn.estimators.shapes import hold_to_temperature
from stretto.learn.estimators.straight_through import hardened
from stretto.types.errors import UsageError

_DIMS: Final = 3


def rao_blackwell(logprobs_BA: Tensor, chosen_B: Tensor, uniform_KBA: Tensor, temperature: float) -> Tensor:
    """The choice [B, A], one-hot, with the gradient of `gumbel_softmax` averaged over K draws that choose the same.

    Paulus, Maddison and Krause 2021, "Rao-Blackwellizing the straight-through Gumbel-softmax gradient estimator",
    arXiv:2010.04838, section 3 (GR-MC): the noise of each draw is held fixed, as the plain estimator holds its own.
    """
    hold_to_temperature("rao_blackwell", temperature)
    if uniform_KBA.dim() != _DIMS or not len(uniform_KBA):
        raise UsageError(
            f"rao_blackwell was given uniform_KBA of shape {list(uniform_KBA.shape)}; expected draws, items and "
            "alternatives, of at least one draw"
        )
    soft = [_soft(logprobs_BA, chosen_B, uniform_BA, temperature) for uniform_BA in uniform_KBA]
    return hardened(torch.stack(soft).mean(0), chosen_B)


def _soft(logprobs_BA: Tensor, chosen_B: Tensor, uniform_BA: Tensor, temperature: float) -> Tensor:
    fixed_BA = logprobs_BA.detach()
    noisy_BA = gumbel_given(fixed_BA, chosen_B, uniform_BA)
    # what is never chosen stays there: -inf less -inf is no number
    noise_BA = (noisy_BA - fixed_BA).masked_fill(noisy_BA.isneginf(), 0.0)
    return softmax((logprobs_BA + noise_BA) / temperature, dim=1)
