"""Columns of discrete choices, and of their probabilities. Shape letters: B rows, A alternatives."""

from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from stretto.components.torch.choices import log_probabilities
from stretto.learn.differentiable.columns import Column, Tensors
from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.later import of_the_pass, own
from stretto.learn.differentiable.presence import but_absent, scattered, taken
from stretto.types.json import Json


class Choices(Column):
    """A discrete choice: in JSON its name, to a module one-hot."""

    def __init__(
        self,
        names: tuple[str, ...],
        chosen_B: Tensor,
        log_p_BA: Tensor,
        *,
        relaxed_BA: Tensor | None = None,
        present: Tensor | None = None,
    ) -> None:
        self.names = names
        self.chosen_B = chosen_B
        self.log_p_BA = log_p_BA
        """float64, with its graph."""
        self.relaxed_BA = relaxed_BA
        """What modules are given in place of the one-hot: its value, or near it, with a gradient."""
        self._present = present
        self.size = chosen_B.shape[0]

    @property
    def present(self) -> Tensor | None:
        return self._present

    @property
    def one_hot_BA(self) -> Tensor:
        """What a module is given, float32."""
        if self.relaxed_BA is not None:
            return self.relaxed_BA
        return torch.nn.functional.one_hot(self.chosen_B, len(self.names)).float()

    def rows(self) -> list[Json]:
        return but_absent([self.names[chosen] for chosen in self.chosen_B.tolist()], self._present)

    def take(self, index: Index) -> Column:
        return self._each(lambda value: value[index.on(value)], taken(self._present, index))

    def scatter(self, index: Index, size: int) -> Column:
        present = scattered(self._present, index, size)
        return self._each(lambda value: index.spread(value, size), present)

    def _each(self, do: Any, present: Tensor | None) -> "Choices":
        relaxed_BA = None if self.relaxed_BA is None else do(self.relaxed_BA)
        return Choices(self.names, do(self.chosen_B), do(self.log_p_BA), relaxed_BA=relaxed_BA, present=present)


class Drawn(Choices):
    """As they were drawn by a module's logits; tensors of it are made when they are read, which few are."""

    def __init__(self, names: tuple[str, ...], chosen: list[int], logits_BA: Tensor) -> None:
        self.names = names
        self.relaxed_BA = None
        self._chosen = chosen
        self._logits_BA = own(logits_BA)
        self._present = None
        self.size = len(chosen)

    @cached_property
    def chosen_B(self) -> Tensor:  # type: ignore[override]  # as it is read
        return torch.tensor(self._chosen)

    @cached_property
    def log_p_BA(self) -> Tensor:  # type: ignore[override]  # as it is read
        with of_the_pass():
            return log_probabilities(self._logits_BA).cpu()

    def rows(self) -> list[Json]:
        return [self.names[chosen] for chosen in self._chosen]


class Probabilities(Tensors):
    """Of a choice: made when they are read, which few do."""

    def __init__(self, log_p_BA: Tensor) -> None:
        self._log_p_BA = log_p_BA
        self._present = None
        self.size = log_p_BA.shape[0]

    @cached_property
    def value(self) -> Tensor:  # type: ignore[override]  # as it is read
        with of_the_pass():
            return self._log_p_BA.exp()
