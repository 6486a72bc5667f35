"""Adam on rows: only the rows that a batch has touched are stepped.

Shape letters: F features, K columns of weights, N touched rows.
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

    def __init__(self, features: int, columns: int, learning_rate: float) -> None:
        self.learning_rate = learning_rate
        self.steps = 0
        self._mean_FK = np.zeros((features, columns))
        self._square_FK = np.zeros((features, columns))

    def step(self, weights_FK: Floats, rows_N: Ints, grad_NK: Floats) -> None:
        """Move the touched rows of `weights_FK`, in place, against their gradient. Rows are distinct."""
        self.steps += 1
        mean_NK = BETA1 * self._mean_FK[rows_N] + (1.0 - BETA1) * grad_NK
        square_NK = BETA2 * self._square_FK[rows_N] + (1.0 - BETA2) * grad_NK**2
        self._mean_FK[rows_N] = mean_NK
        self._square_FK[rows_N] = square_NK
        unbiased_mean_NK = mean_NK / (1.0 - BETA1**self.steps)
        unbiased_square_NK = square_NK / (1.0 - BETA2**self.steps)
        weights_FK[rows_N] -= self.learning_rate * unbiased_mean_NK / (np.sqrt(unbiased_square_NK) + EPSILON)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything but the learning rate, as arrays; rows never touched are left out."""
        rows_N = np.flatnonzero(self._square_FK.any(axis=1) | self._mean_FK.any(axis=1)).astype(np.int64)
        return {
            "adam_rows": rows_N,
            "adam_mean": self._mean_FK[rows_N],
            "adam_square": self._square_FK[rows_N],
            "adam_steps": np.array([self.steps], np.int64),
        }

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from a state as if never stopped; for a fresh optimiser of the same shape."""
        rows_N = state["adam_rows"]
        self._mean_FK[rows_N] = state["adam_mean"]
        self._square_FK[rows_N] = state["adam_square"]
        self.steps = int(state["adam_steps"][0])
