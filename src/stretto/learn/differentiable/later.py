"""What is made of a pass when it is read first: neither who reads it, nor what was written to since, changes it."""

import torch
from torch import Tensor


def of_the_pass() -> torch.inference_mode:
    """A context in which what is made has its graph, though whoever reads it first may keep none."""
    return torch.inference_mode(mode=False)  # which lets gradients be kept also where `no_grad` forbids it


def own(value: Tensor) -> Tensor:
    """What a module returned, as it now is: a copy where it keeps that itself, or returned a view of it, as a parameter
    for all rows is, to which an optimiser writes."""
    base = value._base  # noqa: SLF001  # torch's own: what it is a view of
    return value.clone() if value.is_leaf or (base is not None and base.is_leaf) else value
