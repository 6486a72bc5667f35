"""What an update of a discrete policy minimises, and its gradient in closed form.

Shape letters: B decisions, A alternatives. Logits are those of the softmax that acts, temperature included;
alternatives that were not available have probability 0 and gradient 0.
"""

from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.types.errors import UsageError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MAX_LOG_RATIO: Final = 20.0
"""Log-ratios are cut here before the exponential, so that one far-off decision cannot overflow; as verl does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Decisions as they were made, and what became of them."""

    available_BA: Bools
    chosen_B: Ints
    behaviour_B: Floats
    """Log-probability of the choice under the policy that made it, as recorded."""
    advantages_B: Floats
    start_BA: Floats
    """Log-probabilities under the policy that training started from; -inf where not available."""

    def __post_init__(self) -> None:
        b, a = self.available_BA.shape
        shapes = (self.chosen_B.shape, self.behaviour_B.shape, self.advantages_B.shape, self.start_BA.shape)
        if shapes != ((b,), (b,), (b,), (b, a)):
            raise UsageError(f"choices of {b} decisions among {a} alternatives have arrays of shapes {shapes}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """An objective's value, its gradient, and the terms it was made of; means over decisions."""

    loss: float
    grad_BA: Floats
    """Of the loss, by logit."""
    surrogate: float
    entropy: float
    """Nats."""
    kl_start: float
    """KL(policy ‖ start), nats."""
    kl_behaviour: float
    """Estimate of KL(behaviour ‖ policy): how far the update has moved from the policy that acted, nats."""
    clip_fraction: float
    """Share of decisions whose gradient the clip cut off."""


class Objective(msgspec.Struct, frozen=True, kw_only=True):
    """L = -mean(surrogate + entropy · H - kl · KL(policy ‖ start)), composed once and then only evaluated."""

    clip_low: float | None = 0.2
    """The ratio is held above 1 - clip_low; None for no bound. 0.2 is PPO's."""
    clip_high: float | None = 0.2
    """The ratio is held below 1 + clip_high; above clip_low it is DAPO's clip-higher (arXiv:2503.14476, eq. 10)."""
    entropy: float = 0.0
    """Weight of the entropy bonus (Williams and Peng 1991; PPO eq. 9)."""
    kl: float = 0.0
    """Weight of the pull towards the start (GRPO eq. 3)."""

    def __call__(self, logits_BA: Floats, choices: Choices) -> Value:
        """Evaluate at these logits.

        The mean is over decisions, each weighing the same, as in DAPO eq. 8: a mean within each run first would
        favour short failures over long ones (Dr. GRPO, section 3.1).
        """
        if logits_BA.shape != choices.available_BA.shape:
            raise UsageError(f"logits {logits_BA.shape} do not fit choices of shape {choices.available_BA.shape}")
        decisions = len(logits_BA)
        logprobs_BA = log_softmax(logits_BA, choices.available_BA)
        probs_BA = np.exp(logprobs_BA)
        logprobs_B = logprobs_BA[np.arange(decisions), choices.chosen_B]
        surrogate_B, slope_B, clipped_B = clipped_surrogate(
            logprobs_B, choices.behaviour_B, choices.advantages_B, self.clip_low, self.clip_high
        )
        entropy_B, entropy_grad_BA = entropy(logprobs_BA)
        kl_B, kl_grad_BA = kl_divergence(logprobs_BA, choices.start_BA)
        gain_BA = -slope_B[:, None] * probs_BA
        gain_BA[np.arange(decisions), choices.chosen_B] += slope_B
        gain_BA += self.entropy * entropy_grad_BA - self.kl * kl_grad_BA
        return Value(
            loss=-float(np.mean(surrogate_B + self.entropy * entropy_B - self.kl * kl_B)),
            grad_BA=-gain_BA / decisions,
            surrogate=float(surrogate_B.mean()),
            entropy=float(entropy_B.mean()),
            kl_start=float(kl_B.mean()),
            kl_behaviour=float(kl_k3(choices.behaviour_B, logprobs_B).mean()),
            clip_fraction=float(clipped_B.mean()),
        )


def log_softmax(logits_BA: Floats, available_BA: Bools) -> Floats:
    """Log-probabilities over the available alternatives; -inf elsewhere. Each row needs at least one."""
    masked_BA = np.where(available_BA, logits_BA, -np.inf)
    shifted_BA = masked_BA - masked_BA.max(axis=1, keepdims=True)
    log_probs_BA: Floats = shifted_BA - np.log(np.exp(shifted_BA).sum(axis=1, keepdims=True))
    return log_probs_BA


def clipped_surrogate(
    logprobs_B: Floats, behaviour_B: Floats, advantages_B: Floats, low: float | None, high: float | None
) -> tuple[Floats, Floats, Bools]:
    """min(rA, clip(r, 1 - low, 1 + high) A) with ratio r = π/π_old: PPO (Schulman et al. 2017, arXiv:1707.06347) eq. 7.

    Returns its value, its derivative by the new log-probability (rA, or 0 where a bound holds), and where one holds.
    """
    log_ratio_B = logprobs_B - behaviour_B
    ratio_B = np.exp(np.clip(log_ratio_B, -MAX_LOG_RATIO, MAX_LOG_RATIO))
    floor = -np.inf if low is None else 1.0 - low
    ceiling = np.inf if high is None else 1.0 + high
    clipped_B = np.where(advantages_B > 0.0, ratio_B > ceiling, (advantages_B < 0.0) & (ratio_B < floor))
    values_B = advantages_B * np.where(clipped_B, np.clip(ratio_B, floor, ceiling), ratio_B)
    slopes_B = np.where(clipped_B | (np.abs(log_ratio_B) > MAX_LOG_RATIO), 0.0, advantages_B * ratio_B)
    return values_B, slopes_B, clipped_B


def entropy(logprobs_BA: Floats) -> tuple[Floats, Floats]:
    """H = -Σ p log p, nats, and its gradient by logit: -p (log p + H)."""
    probs_BA = np.exp(logprobs_BA)
    finite_BA = np.where(probs_BA > 0.0, logprobs_BA, 0.0)
    entropy_B = -(probs_BA * finite_BA).sum(axis=1)
    return entropy_B, -probs_BA * (finite_BA + entropy_B[:, None])


def kl_divergence(logprobs_BA: Floats, start_BA: Floats) -> tuple[Floats, Floats]:
    """KL = Σ p (log p - log s), nats, and its gradient by logit: p (log p - log s - KL).

    Exact, not one of the sampled estimators k1, k2, k3: with a few alternatives the whole sum costs as much as one
    of its terms, and it has no variance and no bias in its gradient.
    """
    probs_BA = np.exp(logprobs_BA)
    log_ratio_BA = np.zeros_like(logprobs_BA)
    np.subtract(logprobs_BA, start_BA, out=log_ratio_BA, where=probs_BA > 0.0)
    kl_B = (probs_BA * log_ratio_BA).sum(axis=1)
    return kl_B, probs_BA * (log_ratio_BA - kl_B[:, None])


def kl_k3(sampled_B: Floats, other_B: Floats) -> Floats:
    """Estimate of KL(sampled ‖ other) from choices of the first: r - 1 - log r, with r = other/sampled; never negative.

    Schulman 2020, "Approximating KL Divergence" (joschu.net/blog/kl-approx.html). Used where only the chosen
    alternative's log-probability was recorded.
    """
    log_ratio_B = np.clip(other_B - sampled_B, -MAX_LOG_RATIO, MAX_LOG_RATIO)
    estimates_B: Floats = np.expm1(log_ratio_B) - log_ratio_B
    return estimates_B
