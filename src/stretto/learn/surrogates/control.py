"""How much of a surrogate's control variate is taken off: fitted on rows of earlier batches than it is used for.

All of it by the logits of the choice, where the gradients of the score and of the control are known in closed form.
Shape letters: N rows, A alternatives.
"""

from typing import Final

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from stretto.learn.estimators import best_coefficient
from stretto.learn.surrogates.window import Window

LEAST_ROWS: Final = 32
"""Before so many rows told what a surrogate is worth, it is worth nothing: its coefficient is 0."""

MOST_ROWS: Final = 1024
"""The error of a coefficient fitted on N rows adds about 1/N to the variance: a thousandth."""


def score_by_logits(log_p_NA: Tensor, chosen_N: Tensor, reward_N: Tensor) -> Tensor:
    """The gradient [N, A] of `log p(chosen) · reward` by the logits: (e_chosen - p) · reward."""
    return (one_hot(chosen_N, log_p_NA.shape[1]) - log_p_NA.exp()) * reward_N[:, None]


def control_by_logits(log_p_NA: Tensor, chosen_N: Tensor, foretold_NA: Tensor) -> Tensor:
    """The gradient [N, A] of `control_by_trying` by the logits: c(chosen) · (e_chosen - p) - p · (c - Σ p c)."""
    p_NA = log_p_NA.exp()
    chosen_c_N = foretold_NA.gather(1, chosen_N[:, None])[:, 0]
    expected_N = (p_NA * foretold_NA).sum(1)
    return score_by_logits(log_p_NA, chosen_N, chosen_c_N) - p_NA * (foretold_NA - expected_N[:, None])


class Coefficient:
    """The coefficient of one choice's control, and what it does to the noise."""

    def __init__(self, alternatives: int) -> None:
        self.value = 0.0
        self.evidence = Window(2 * alternatives, MOST_ROWS)
        """Of each row, the gradients by the logits: of the plain score, and of the control."""
        self.judged = Window(2 * alternatives, MOST_ROWS)
        """Of each row that came when there was evidence: that of the plain score, and what was used in its place."""
        self.is_of_runs = False
        """The evidence is of recorded runs, and gives way to the first batch that is enough."""

    def note(self, plain_NA: Tensor, control_NA: Tensor, *, of_runs: bool = False) -> None:
        """Take in rows that neither it nor the surrogate was fitted on."""
        if self.is_of_runs and not of_runs and len(plain_NA) >= LEAST_ROWS:
            self.evidence.clear()
            self.judged.clear()
        if len(self.evidence) >= LEAST_ROWS or self.value != 0.0:
            self.judged.add(torch.cat([plain_NA, plain_NA - self.value * control_NA], 1))
        self.is_of_runs = of_runs or (self.is_of_runs and len(self.evidence) > 0)
        self.evidence.add(torch.cat([plain_NA, control_NA], 1))
        if len(self.evidence) >= LEAST_ROWS:
            self.value = best_coefficient(*self.evidence.rows.tensor_split(2, 1))

    @property
    def variance_ratio(self) -> float | None:
        """What is left of the plain score's variance, by the last rows; None while too few tell, or it has none."""
        if len(self.judged) < LEAST_ROWS:
            return None
        plain, used = (float(each.var(0, correction=0).sum()) for each in self.judged.rows.tensor_split(2, 1))
        return used / plain if plain > 0.0 else None
