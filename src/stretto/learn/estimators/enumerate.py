"""Every alternative tried: exact, at the price of as many calls of what follows."""

from torch import Tensor

from stretto.learn.estimators.shapes import hold_to_matrix, hold_to_shape


def expected(probs_BA: Tensor, reward_BA: Tensor) -> Tensor:
    """Objective [B]: Σ p(a) · reward(a), exact; the gradient of the rewards themselves counts too.

    The policy gradient with all actions: Sutton et al. 2000, "Policy gradient methods for reinforcement learning with
    function approximation", eq. 2, inner sum. What cannot be chosen counts nothing, whatever its reward, unknown
    included.
    """
    hold_to_matrix("expected", "probs_BA", probs_BA)
    hold_to_shape("expected", probs_BA.shape, {"reward_BA": reward_BA})
    return (probs_BA * reward_BA.masked_fill(probs_BA == 0.0, 0.0)).sum(1)
