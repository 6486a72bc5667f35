"""How much better a run went than its group: the advantage, from rewards alone, without a critic.

Shape letters: R runs.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

import numpy as np
import numpy.typing as npt

from stretto.types.errors import LearningError, UsageError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

STD_EPSILON: Final = 1e-6
"""Added to the standard deviation, so that a group of nearly equal rewards is not blown up; verl and slime use it."""


MOST_REWARD: Final = 1e100
"""Either way: the squares of larger ones overflow, and weights that follow them are not finite."""


class Scale(StrEnum):
    """What a centred reward is divided by."""

    STD = "std"
    """The group's standard deviation: GRPO."""
    BATCH = "batch"
    """The standard deviation over all runs of the batch, after centring: REINFORCE++-baseline. One step size for
    easy and hard tasks alike, where a group of four gives a poor estimate of its own spread."""
    NONE = "none"
    """Nothing: Dr. GRPO, which does not weigh a task by how steady its rewards are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advantages:
    """Advantages, and what the groups were like."""

    values_R: Floats
    groups: int
    singletons: int
    """Groups of one run: nothing to compare with, so their advantage is 0."""
    flat: int
    """Groups of several runs that all had the same reward: nothing to tell apart."""


def group_advantages(
    rewards_R: Floats, groups_R: Ints, scale: Scale = Scale.STD, *, weights_R: Floats | None = None
) -> Advantages:
    """Compare each reward with those of its group.

    GRPO (Shao et al. 2024, arXiv:2402.03300, section 4.1.2): A = (r - mean) / (std + 1e-6), std unbiased (n - 1).
    Dr. GRPO (Liu et al. 2025, arXiv:2503.20783, section 3.2): A = r - mean. REINFORCE++-baseline (Hu et al. 2025,
    arXiv:2501.03262): A = (r - mean) / std over the batch. A group of one has advantage 0, never its raw reward:
    that would push towards whatever was done, good or bad.

    A run of a weight below 1 counts so much in the mean of its group, and so much of its advantage is left: those of a
    group, weighted, still come to 0. None weighs each 1.

    Unknown rewards must have been left out: a NaN here is an error.
    """
    if rewards_R.shape != groups_R.shape or rewards_R.ndim != 1:
        raise UsageError(f"rewards {rewards_R.shape} and groups {groups_R.shape} must be two vectors of one length")
    if not np.isfinite(rewards_R).all():
        raise UsageError("rewards hold NaN or infinity; leave out runs whose reward is unknown")
    if np.any(np.abs(rewards_R) > MOST_REWARD):
        largest = rewards_R[np.argmax(np.abs(rewards_R))]
        raise LearningError(
            f"a run's reward is {largest:g}; expected at most {MOST_REWARD:g} either way: scale it down"
        )
    _, group_R = np.unique(groups_R, return_inverse=True)
    sizes = np.bincount(group_R)
    weighs_R = np.ones(len(rewards_R)) if weights_R is None else weights_R
    centred_R = rewards_R - _group_means(rewards_R, group_R, weighs_R)
    return Advantages(
        values_R=_scaled(np.where(sizes[group_R] > 1, centred_R, 0.0), group_R, sizes, scale) * weighs_R,
        groups=len(sizes),
        singletons=int(np.sum(sizes == 1)),
        flat=int(np.sum((sizes > 1) & (_ranges(rewards_R, group_R, len(sizes)) == 0.0))),
    )


def _scaled(centred_R: Floats, group_R: Ints, sizes: Ints, scale: Scale) -> Floats:
    match scale:
        case Scale.NONE:
            return centred_R
        case Scale.BATCH:
            return centred_R / (centred_R.std() + STD_EPSILON) if len(centred_R) else centred_R
        case Scale.STD:
            spread = np.sqrt(np.bincount(group_R, centred_R**2, len(sizes)) / np.maximum(sizes - 1, 1))
            return centred_R / (spread[group_R] + STD_EPSILON)
    assert_never(scale)


def _group_means(values_R: Floats, group_R: Ints, weights_R: Floats) -> Floats:
    """Each run's group mean; exact for equal values, so that a flat group centres to 0 and not to rounding noise."""
    weight = np.bincount(group_R, weights_R)
    first = np.zeros(len(weight))
    first[group_R] = values_R
    shifted = np.bincount(group_R, (values_R - first[group_R]) * weights_R, len(weight)) / weight
    means: Floats = (first + shifted)[group_R]
    return means


def _ranges(values_R: Floats, group_R: Ints, groups: int) -> Floats:
    low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(low, group_R, values_R)
    np.maximum.at(high, group_R, values_R)
    ranges: Floats = high - low
    return ranges
