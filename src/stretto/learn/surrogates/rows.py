"""What a surrogate of a choice is told of it."""

from dataclasses import dataclass

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

    def __len__(self) -> int:
        return len(self.chosen_N)

    def of(self, rows: Tensor) -> "ChoiceRows":
        """These rows."""
        each = {name: getattr(self, name)[rows] for name in self.__slots__}
        return ChoiceRows(**each)
