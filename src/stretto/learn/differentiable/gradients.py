"""What a backward pass left in the parameters, component by component."""

from collections.abc import Mapping
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


def norms_of(modules: Mapping[str, nn.Module]) -> dict[str, float]:
    """Of each component's gradient."""
    found = {}
    for name, module in modules.items():
        grads = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
        found[name] = float(torch.nn.utils.get_total_norm(grads)) if grads else 0.0
    return found
