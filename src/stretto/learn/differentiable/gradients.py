"""What a backward pass left in the parameters, component by component."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True, slots=True, kw_only=True)
class Gradients:
    """Of one backward pass."""

    norms: Mapping[str, float]
    """Component → Euclidean norm of its gradient, as it now stands in its parameters; 0 where none reached it."""
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
