"""What a pass over a batch came to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from stretto.learn.differentiable.columns import Column, Tensors
from stretto.learn.differentiable.gradients import Gradients
from stretto.learn.differentiable.loss import Loss
from stretto.record.model import Run
from stretto.types.json import Json


@dataclass(kw_only=True)
class Outcome:
    """Outputs, rewards and runs of one batch, and the loss that goes back through it."""

    parts: Loss
    perturbed: frozenset[int]
    """Runs, by their place, in which a component was perturbed."""
    make_columns: Callable[[], Mapping[str, Column]]
    make_rewards: Callable[[], tuple[Tensor, Tensor | None]]
    make_runs: Callable[[], list[Run]]
    go_back: Callable[[], Gradients]

    @property
    def loss(self) -> Tensor:
        """A number whose value is minus the mean known reward, and whose gradient is that of its expectation,
        estimated."""
        return self.parts.value

    @property
    def has_gradient(self) -> bool:
        """Whether a known reward of the batch, or what a choice of it adds, depends on a parameter."""
        return bool(self.parts.parts)

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """Each field of the workflow's output."""
        return self.make_columns()

    @cached_property
    def outputs(self) -> dict[str, Tensor | list[Json]]:
        """Each field of the workflow's output: a tensor [B, ...] with its graph, or B JSON values."""
        return {name: _shown(column) for name, column in self.columns.items()}

    @cached_property
    def rewards(self) -> Tensor:
        """[B], float64, with the graph of what modules computed; NaN, and never 0, where a reward is unknown."""
        value_B, known_B = self.make_rewards()
        return value_B if known_B is None else torch.where(known_B, value_B, torch.full_like(value_B, torch.nan))

    @cached_property
    def known(self) -> Tensor:
        """[B], bool: whose reward is known."""
        value_B, known_B = self.make_rewards()
        return torch.ones(len(value_B), dtype=torch.bool) if known_B is None else known_B

    @cached_property
    def runs(self) -> list[Run]:
        """A sealed Run for each request, in their order. Raises UsageError once the weights have changed."""
        return self.make_runs()

    def backward(self) -> Gradients:
        """Add the loss's gradients to the parameters; says how large they are, and which were no numbers.

        Gradients that are not all numbers are dropped, so that the optimiser's step changes nothing. Raises UsageError
        in eval mode, and where the data flow reaches no parameter from any reward.
        """
        return self.go_back()


def _shown(column: Column) -> Tensor | list[Json]:
    return column.value if isinstance(column, Tensors) and column.present is None else column.json
