"""A surrogate as control variate: unbiased whatever it is worth, which only the variance tells.

A control is an objective whose gradient has mean 0, and is close to that of the plain score function where the
surrogate foretells the reward: `score - coefficient · control` is then as good as the surrogate is, and never wrong. It
has two forms: the surrogate is asked for each alternative, and its own noise is integrated out; or the choice is
relaxed, as the papers do. A surrogate with an output for each alternative is better asked for all of them, however
many (docs/decisions/0022), which is what a step's `relax` does; the other form is what it is measured against.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from torch import Tensor
from torch.nn.functional import softmax

from stretto.learn.estimators.enumerate import expected
from stretto.learn.estimators.gumbel import gumbel_given, gumbel_noise
from stretto.learn.estimators.score import chosen_logprob, score
from stretto.learn.estimators.shapes import hold_to_matrix, hold_to_shape, hold_to_temperature

Surrogate: TypeAlias = Callable[[Tensor], Tensor]
"""Foretells the reward [B] of a relaxed choice [B, A], differentiably."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxed:
    """One choice of each item, relaxed twice over with the same outcome."""

    logprobs_BA: Tensor
    chosen_B: Tensor
    before_BA: Tensor
    """softmax(z / temperature), where z = log p + the Gumbel noise that chose."""
    after_BA: Tensor
    """softmax(z~ / temperature), where z~ was drawn anew given what was chosen."""


def relaxed(logprobs_BA: Tensor, uniform_BA: Tensor, again_BA: Tensor, temperature: float) -> Relaxed:
    """Choose for each item, by two independent uniform draws [B, A] in [0, 1)."""
    hold_to_matrix("relaxed", "logprobs_BA", logprobs_BA)
    hold_to_shape("relaxed", logprobs_BA.shape, {"uniform_BA": uniform_BA, "again_BA": again_BA})
    hold_to_temperature("relaxed", temperature)
    noisy_BA = logprobs_BA + gumbel_noise(uniform_BA)
    chosen_B = noisy_BA.detach().argmax(1)
    return Relaxed(
        logprobs_BA=logprobs_BA,
        chosen_B=chosen_B,
        before_BA=softmax(noisy_BA / temperature, dim=1),
        after_BA=softmax(gumbel_given(logprobs_BA, chosen_B, again_BA) / temperature, dim=1),
    )


def control_by_relaxing(choice: Relaxed, surrogate: Surrogate) -> Tensor:
    """Control [B]: c(z~) · log p(chosen) - c(z) + c(z~), the first c held fixed.

    Grathwohl et al. 2018, "Backpropagation through the void", RELAX, arXiv:1711.00123, eq. 7, less its score term.
    Its gradient reaches the surrogate's own weights: hold them fixed here, and fit them apart, on other draws.
    """
    before_B, after_B = surrogate(choice.before_BA), surrogate(choice.after_BA)
    return score(chosen_logprob(choice.logprobs_BA, choice.chosen_B), after_B) - before_B + after_B


def control_by_trying(logprobs_BA: Tensor, chosen_B: Tensor, foretold_BA: Tensor) -> Tensor:
    """Control [B]: c(chosen) · log p(chosen) - Σ p(a) · c(a), every c held fixed.

    The same with the surrogate's own noise integrated out, which has less variance (Rao-Blackwell): Gu et al. 2017,
    "Q-Prop", arXiv:1611.02247, eq. 7, for a discrete choice. It vanishes from the sum where c is the reward itself.
    """
    hold_to_matrix("control_by_trying", "logprobs_BA", logprobs_BA)
    hold_to_shape("control_by_trying", logprobs_BA.shape, {"foretold_BA": foretold_BA})
    foretold_BA = foretold_BA.detach()
    logprob_B = chosen_logprob(logprobs_BA, chosen_B)
    foretold_B = foretold_BA.gather(1, chosen_B[:, None])[:, 0]
    return score(logprob_B, foretold_B) - expected(logprobs_BA.exp(), foretold_BA)
