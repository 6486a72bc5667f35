"""The score function: unbiased whatever follows a choice, since nothing after it is differentiated."""

from torch import Tensor

from stretto.learn.estimators.shapes import hold_to_matrix, hold_to_shape
from stretto.types.errors import UsageError


def score(logprob_B: Tensor, reward_B: Tensor, baseline_B: Tensor | None = None) -> Tensor:
    """Objective [B]: log p(chosen) · (reward - baseline), with those two held fixed. Unbiased.

    Williams 1992, "Simple statistical gradient-following algorithms for connectionist reinforcement learning", eq. 6.
    In a stochastic computation graph (Schulman et al. 2015, arXiv:1506.05254, theorem 1) `reward_B` is the sum of what
    lies downstream of the choice only, and `baseline_B` may depend on whatever is no descendant of it.
    """
    hold_to_shape("score", logprob_B.shape, {"reward_B": reward_B, "baseline_B": baseline_B})
    advantage_B = reward_B if baseline_B is None else reward_B - baseline_B
    return logprob_B * advantage_B.detach()


def chosen_logprob(logprobs_BA: Tensor, chosen_B: Tensor) -> Tensor:
    """Log-probability [B] of what was chosen of each item."""
    hold_to_shape("chosen_logprob", logprobs_BA.shape[:1], {"chosen_B": chosen_B})
    return logprobs_BA.gather(1, chosen_B[:, None])[:, 0]


def leave_one_out(reward_BK: Tensor) -> Tensor:
    """A baseline [B, K] for each of K draws of an item: the mean reward of the other draws. Keeps `score` unbiased.

    Kool, van Hoof and Welling 2019, "Buy 4 REINFORCE samples, get a baseline for free!", eq. 8. Raises UsageError for
    fewer than two draws.
    """
    hold_to_matrix("leave_one_out", "reward_BK", reward_BK)
    others = reward_BK.shape[1] - 1
    if others < 1:
        raise UsageError("leave_one_out compares the draws of an item, and was given one of each; draw at least 2")
    reward_BK = reward_BK.detach()
    return (reward_BK.sum(1, keepdim=True) - reward_BK) / others
