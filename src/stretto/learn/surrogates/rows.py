"""What a surrogate of a choice is told of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRows:
    """Choices that were made, and what came of them. Shape letters: N rows, F features, A alternatives."""

    features_NF: Tensor
    """What was known before the draw, and only that: float64, detached."""
    log_p_NA: Tensor
    """Log-probabilities, detached."""
    chosen_N: Tensor
    reward_N: Tensor
    """All that lies downstream of the choice, weighted."""
    baseline_N: Tensor
    """What the plain score takes off it."""
    weight_N: Tensor
    """What the row counts in the gradient."""
    known_N: Tensor
    """What its reward counts beside that: 0 where it is not known, and for it the others more."""

    def __len__(self) -> int:
        return len(self.chosen_N)

    def of(self, rows: Tensor) -> "ChoiceRows":
        """These rows."""
        each = {name: getattr(self, name)[rows] for name in self.__slots__}
        return ChoiceRows(**each)

    @staticmethod
    def joined(parts: "Sequence[ChoiceRows]") -> "ChoiceRows":
        """The rows of several."""
        each = {name: torch.cat([getattr(part, name) for part in parts]) for name in ChoiceRows.__slots__}
        return ChoiceRows(**each)
