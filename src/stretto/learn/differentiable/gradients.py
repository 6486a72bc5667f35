"""What a backward pass left in the parameters, component by component."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import nn


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
    grads = [(name, each.grad) for name, those in parameters.items() for each in those if each.grad is not None]
    squares = dict.fromkeys(parameters, 0.0)
    if grads:
        norms = torch._foreach_norm([grad for _, grad in grads])  # noqa: SLF001  # `get_total_norm` calls it, for one number
        for (name, _), norm in zip(grads, torch.stack([norm.cpu() for norm in norms]).tolist(), strict=True):
            squares[name] += norm * norm
    return {name: math.sqrt(square) for name, square in squares.items()}


def unreached(parameters: Mapping[str, Sequence[nn.Parameter]]) -> tuple[str, ...]:
    """Components with parameters that take a gradient, none of which has one."""
    learning = {name: [each for each in those if each.requires_grad] for name, those in parameters.items()}
    return tuple(name for name, those in learning.items() if those and all(each.grad is None for each in those))
