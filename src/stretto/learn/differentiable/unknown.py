"""Rewards that a module does not know, which it says by NaN."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

Rewarded: TypeAlias = tuple[Tensor, Tensor | None]
"""Values of a term, and which of them are known; None where all are."""


def unknown_in(rewards: Sequence[Tensor], given: Mapping[str, Any]) -> Tensor | None:
    """[B], true where a reward is NaN of inputs that are numbers: it is not known. None where none is."""
    if not math.isnan(sum([sum(reward.tolist()) for reward in rewards])):
        return None
    found = torch.stack([torch.isnan(reward.detach()) for reward in rewards]).any(0).cpu()
    for value in given.values():
        if isinstance(value, Tensor) and value.is_floating_point():
            found &= torch.isfinite(value.detach()).reshape(len(found), -1).all(1).cpu()
    return found if bool(found.any()) else None


def known_of(reward: Tensor, unknown: Tensor | None) -> Tensor | None:
    """[B], false where the reward is not known; None where all are."""
    return None if unknown is None else ~(unknown & torch.isnan(reward.detach()).cpu())
