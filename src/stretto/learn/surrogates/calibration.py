"""How well a surrogate foretells, by rows that it had not been fitted on. Shape letters: N rows."""

import torch
from torch import Tensor

from stretto.learn.surrogates.window import Window


class Calibration:
    """Pairs of what was foretold and what was told of the last rows."""

    def __init__(self) -> None:
        self.pairs = Window(2, 1024)

    def note(self, foretold_N: Tensor, told_N: Tensor) -> None:
        """Take in rows, before they are learnt from."""
        self.pairs.add(torch.stack([foretold_N, told_N], 1))

    @property
    def r_squared(self) -> float | None:
        """Share of what varies that was foretold; below 0 it is worse than the mean. None while nothing varies."""
        foretold_N, told_N = self.pairs.rows.T
        if len(told_N) < 2 or float(told_N.var()) == 0.0:
            return None
        return 1.0 - float(((told_N - foretold_N) ** 2).mean() / told_N.var(correction=0))

    @property
    def bias(self) -> float | None:
        """By how much it says too much, on average; None while there is nothing to go by."""
        foretold_N, told_N = self.pairs.rows.T
        return float((foretold_N - told_N).mean()) if len(told_N) else None
