"""How far an attribution may be believed; a record without tensors, for whoever only reads it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Faithfulness:
    """Mean height of the score while units go or come, 1 the row's score and 0 the baseline's."""

    deletion: float
    """The greatest first taken away: the lower the better."""
    insertion: float
    """The greatest first put in: the higher the better."""
    random: float
    """Mean of random orders, of units taken away."""
    beaten: float
    """Share of random orders that it beats in both."""
