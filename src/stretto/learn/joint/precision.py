"""In what numbers the modules of a workflow compute."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import nn

from stretto.learn.joint.options import Precision


def computing_in(precision: Precision, module: nn.Module) -> AbstractContextManager[object]:
    """Let a forward pass compute so. Weights stay float32, and so do the gradients that go back to them; choices are
    made of log-probabilities in float64, and rewards are added up in float64."""
    if precision is Precision.FLOAT32:
        return nullcontext()
    device = next((each.device.type for each in module.parameters()), "cpu")
    return torch.autocast(device, dtype=torch.bfloat16)
