"""The last rows of something: what a surrogate learns from, and what it is judged by."""

from typing import Final

import torch
from torch import Tensor

MOST_ROWS: Final = 4096
"""Of many columns: later rows tell more of how things are now, and some thousand are much for a small network."""

MOST_NUMBERS: Final = 4_194_304
"""At 8 bytes each, 32 MiB."""


class Window:
    """Rows of numbers [N, W], float64, of which the oldest are dropped.

    A row with what is no number is not kept: it would teach a network that answers no number ever after.
    """

    def __init__(self, width: int, most: int = MOST_ROWS) -> None:
        self.most = max(1, min(most, MOST_NUMBERS // max(1, width)))
        self.rows = torch.zeros(0, width, dtype=torch.float64)

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, rows: Tensor) -> int:
        """Put rows behind those that are there; returns how many were kept."""
        rows = rows.detach().double().cpu()
        numbers = rows[rows.isfinite().all(1)]
        self.rows = torch.cat([self.rows, numbers])[-self.most :]
        return len(numbers)

    def parts(self, *widths: int) -> tuple[Tensor, ...]:
        """The columns, in groups of these widths."""
        return torch.split_with_sizes(self.rows, widths, 1)

    def clear(self) -> None:
        """Drop all of them."""
        self.rows = self.rows[:0]
