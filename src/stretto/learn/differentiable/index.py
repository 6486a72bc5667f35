"""Which rows: as Python's ints for JSON, as a tensor for tensors."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor


class Index:
    """Rows of a column, in an order, each maybe more than once."""

    def __init__(self, rows: Sequence[int]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def tensor(self) -> Tensor:
        """The same, int64."""
        return torch.tensor(self.rows, dtype=torch.int64)

    def on(self, value: Tensor) -> Tensor:
        """The same, on the device of a value."""
        return self.tensor if value.device.type == "cpu" else self.tensor.to(value.device)

    def of(self, value: Any) -> Any:
        """These rows of what a module is given: a tensor, or a list of JSON values."""
        return value[self.on(value)] if isinstance(value, Tensor) else [value[row] for row in self.rows]

    def mask(self, size: int) -> Tensor:
        """True at these rows."""
        mask = torch.zeros(size, dtype=torch.bool)
        mask[self.tensor] = True
        return mask

    def spread(self, value: Tensor, size: int) -> Tensor:
        """These rows of a tensor put to their places among zeros."""
        return value.new_zeros((size, *value.shape[1:])).index_copy(0, self.on(value), value)
