"""Where a component elsewhere stands in torch's graph: its outputs, whose gradients are asked for over the wire."""

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from stretto.learn.differentiable.columns import Mixed, Tensors


class PullsBack(Protocol):
    """What stands behind one step of a batch."""

    def pull(self, cotangents: Sequence[Tensor | None], leaves: Sequence[Tensor]) -> list[Tensor]:
        """The gradients with respect to the leaves, [B, ...] each; a cotangent that is None is 0."""
        ...


def through(pulls: PullsBack, outputs: Sequence[Tensors], leaves: Sequence[Tensor]) -> list[Tensors]:
    """The outputs, known by now, as functions of the leaves."""
    values = [each.value for each in outputs]
    passed: Any = _Through.apply(pulls, values, *leaves)  # type: ignore[no-untyped-call]  # torch's own
    return [
        Mixed(value, each.present, each.json) if isinstance(each, Mixed) else Tensors(value, each.present)
        for value, each in zip(passed, outputs, strict=True)
    ]


class _Through(torch.autograd.Function):
    """Forward was done; backward asks."""

    @staticmethod
    def forward(ctx: Any, pulls: PullsBack, values: Sequence[Tensor], *leaves: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.pulls = pulls
        ctx.save_for_backward(*leaves)
        return tuple(values)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Tensor | None, ...]:
        return None, None, *ctx.pulls.pull(cotangents, ctx.saved_tensors)
