"""Adam on rows: only the rows that a batch has touched are stepped.

Shape letters: F features, A alternatives, N touched rows.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stretto.learn.objective import Floats, Ints

BETA1: Final = 0.9
"""Decay of the mean gradient; Kingma and Ba's own."""

BETA2: Final = 0.99
"""Decay of the squared gradient. A laptop's training makes tens of steps, not thousands: 0.999 would still be
forgetting its first ones at the end."""

EPSILON: Final = 1e-8


class Adam:
    """Adam (Kingma and Ba 2015, arXiv:1412.6980, algorithm 1), lazy: rows without gradient keep their moments.

    Lazy means that a feature seen in few batches is not worn down by those that lack it; bias is corrected by the
    number of all steps.
    """

    def __init__(self, features: int, alternatives: int, learning_rate: float) -> None:
        self.learning_rate = learning_rate
        self.steps = 0
        self._mean_FA = np.zeros((features, alternatives))
        self._square_FA = np.zeros((features, alternatives))

    def step(self, weights_FA: Floats, rows_N: Ints, grad_NA: Floats) -> None:
        """Move the touched rows of `weights_FA`, in place, against their gradient. Rows are distinct."""
        self.steps += 1
        mean_NA = BETA1 * self._mean_FA[rows_N] + (1.0 - BETA1) * grad_NA
        square_NA = BETA2 * self._square_FA[rows_N] + (1.0 - BETA2) * grad_NA**2
        self._mean_FA[rows_N] = mean_NA
        self._square_FA[rows_N] = square_NA
        unbiased_mean_NA = mean_NA / (1.0 - BETA1**self.steps)
        unbiased_square_NA = square_NA / (1.0 - BETA2**self.steps)
        weights_FA[rows_N] -= self.learning_rate * unbiased_mean_NA / (np.sqrt(unbiased_square_NA) + EPSILON)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything but the learning rate, as arrays; rows never touched are left out."""
        rows_N = np.flatnonzero(self._square_FA.any(axis=1) | self._mean_FA.any(axis=1)).astype(np.int64)
        return {
            "adam_rows": rows_N,
            "adam_mean": self._mean_FA[rows_N],
            "adam_square": self._square_FA[rows_N],
            "adam_steps": np.array([self.steps], np.int64),
        }

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from a state as if never stopped; for a fresh optimiser of the same shape."""
        rows_N = state["adam_rows"]
        self._mean_FA[rows_N] = state["adam_mean"]
        self._square_FA[rows_N] = state["adam_square"]
        self.steps = int(state["adam_steps"][0])
