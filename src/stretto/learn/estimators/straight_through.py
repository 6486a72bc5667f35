"""Straight-through: forwards the choice, backwards its probabilities. Biased."""

from torch import Tensor
from torch.nn.functional import one_hot

from stretto.learn.estimators.shapes import hold_to_matrix, hold_to_shape


def straight_through(probs_BA: Tensor, chosen_B: Tensor) -> Tensor:
    """The choice [B, A], one-hot, with the gradient of its probabilities.

    Bengio, Léonard and Courville 2013, "Estimating or propagating gradients through stochastic neurons for conditional
    computation", arXiv:1308.3432, section 4. Right only where what follows is linear in the choice, else biased.
    """
    hold_to_matrix("straight_through", "probs_BA", probs_BA)
    hold_to_shape("straight_through", probs_BA.shape[:1], {"chosen_B": chosen_B})
    return hardened(probs_BA, chosen_B)


def hardened(soft_BA: Tensor, chosen_B: Tensor) -> Tensor:
    """One-hot forwards, to the bit; the gradient is that of `soft_BA`."""
    hard_BA = one_hot(chosen_B, soft_BA.shape[1]).to(soft_BA.dtype)
    return hard_BA + (soft_BA - soft_BA.detach())
