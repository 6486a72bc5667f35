"""The Gumbel trick: a choice as the largest of noisy log-probabilities; and its relaxation, which is biased."""

import torch
from torch import Tensor
from torch.nn.functional import one_hot, softmax

from stretto.learn.estimators.shapes import hold_to_matrix, hold_to_shape, hold_to_temperature
from stretto.learn.estimators.straight_through import hardened


def gumbel_noise(uniform_BA: Tensor) -> Tensor:
    """Standard Gumbel noise [B, A] of uniform draws in [0, 1): -log(-log u)."""
    return -torch.log(_exponential(uniform_BA))


def gumbel_given(logprobs_BA: Tensor, chosen_B: Tensor, uniform_BA: Tensor) -> Tensor:
    """Noisy log-probabilities [B, A] as they are *given that* `chosen_B` is the largest, with their gradient.

    Truncated Gumbels (Maddison, Tarlow and Minka 2014, "A* sampling"), in the form of Tucker et al. 2017, REBAR,
    arXiv:1703.07370, appendix C: the largest is a Gumbel at log Σ p = 0, every other its own Gumbel cut off there.
    What has log-probability -inf keeps it.
    """
    hold_to_matrix("gumbel_given", "logprobs_BA", logprobs_BA)
    hold_to_shape("gumbel_given", logprobs_BA.shape, {"uniform_BA": uniform_BA})
    hold_to_shape("gumbel_given", logprobs_BA.shape[:1], {"chosen_B": chosen_B})
    exponential_BA = _exponential(uniform_BA)
    is_chosen_BA = one_hot(chosen_B, logprobs_BA.shape[1]).bool()
    is_never_BA = torch.isneginf(logprobs_BA)
    finite_BA = logprobs_BA.masked_fill(is_never_BA, 0.0)  # exp(inf) has no gradient, not even one that is left out
    largest_B = exponential_BA.gather(1, chosen_B[:, None])  # [B, 1]
    others_BA = -torch.log(exponential_BA * torch.exp(-finite_BA) + largest_B)
    return torch.where(is_chosen_BA, -torch.log(largest_B), others_BA).masked_fill(is_never_BA, -torch.inf)


def gumbel_softmax(logprobs_BA: Tensor, noise_BA: Tensor, temperature: float, *, hard: bool = True) -> Tensor:
    """A relaxed choice [B, A]: softmax((log p + noise) / temperature); one-hot forwards when `hard`.

    Jang, Gu and Poole 2017, arXiv:1611.01144, eq. 2, and section 2.2 for `hard`; Maddison, Mnih and Teh 2017,
    arXiv:1611.00712. Biased: a lower temperature has less bias and more variance.
    """
    hold_to_matrix("gumbel_softmax", "logprobs_BA", logprobs_BA)
    hold_to_shape("gumbel_softmax", logprobs_BA.shape, {"noise_BA": noise_BA})
    hold_to_temperature("gumbel_softmax", temperature)
    soft_BA = softmax((logprobs_BA + noise_BA) / temperature, dim=1)
    return hardened(soft_BA, soft_BA.argmax(1)) if hard else soft_BA


def _exponential(uniform_BA: Tensor) -> Tensor:
    """Standard exponential noise: -log(1 - u), above 0, since a draw of exactly 0 has no Gumbel."""
    return (-torch.log1p(-uniform_BA)).clamp_min(torch.finfo(uniform_BA.dtype).tiny)
