"""What a backward pass left in the parameters, component by component."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True, kw_only=True)
class Gradients:
    """Of one backward pass."""

    norms: Mapping[str, float]
    """Component → Euclidean norm of its gradient, as it now stands in its parameters; 0 where none reached it."""
    unreached: tuple[str, ...] = ()
    """Components that were to learn and whose parameters no reward of the batch reaches."""
    biased: Mapping[str, str] = field(default_factory=dict)
    """Steps outside whose gradient is not their own but that of a surrogate, by step: its digest."""
    skipped: str = ""
    """Why the update must be skipped, with component and step; empty when it need not."""


def norms_of(parameters: Mapping[str, Sequence[nn.Parameter]]) -> dict[str, float]:
    """Of each component's gradient."""
    grads, counts = [], []
    for those in parameters.values():
        found = [grad for each in those if (grad := each.grad) is not None]
        grads += found
        counts.append(len(found))
    norms = _norms(grads)
    ends = accumulate(counts)
    return {
        name: math.hypot(*norms[end - count : end]) for name, count, end in zip(parameters, counts, ends, strict=True)
    }


def _norms(tensors: list[Tensor]) -> list[float]:
    if not tensors:
        return []
    norms = torch._foreach_norm(tensors)  # noqa: SLF001  # `get_total_norm` calls it, for one number
    if all(norm.is_cpu for norm in norms):
        return [norm.item() for norm in norms]
    found: list[float] = torch.stack([norm.cpu() for norm in norms]).tolist()
    return found


def unreached(parameters: Mapping[str, Sequence[nn.Parameter]]) -> tuple[str, ...]:
    """Components with parameters that take a gradient, none of which has one."""
    found = []
    for name, those in parameters.items():
        if those and those[0].grad is None:  # of most, the first has one
            learning = [each for each in those if each.requires_grad]
            if learning and all(each.grad is None for each in learning):
                found.append(name)
    return tuple(found)
