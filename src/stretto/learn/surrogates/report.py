"""What a user is told of a surrogate."""

from dataclasses import dataclass

from stretto.types.ids import Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class SurrogateReport:
    """How much a surrogate is worth, how far it may be believed, and how old it is."""

    step: str
    """The choice that it is of, or the step outside that it stands for."""
    is_biased: bool
    """It stands for a step in the gradient; else it only takes noise off a choice's."""
    digest: Digest
    rows: int
    """That it has learnt from, recorded ones too."""
    updates: int
    """How often it has learnt: of a batch, or of recorded runs."""
    behind: int
    """Rows that it has seen since it last learnt."""
    learnt_of: Digest
    """Digest of what made the last rows that it learnt from: a component's weights or code; empty where not told."""
    r_squared: float | None
    """Share of what varies in the answers that it foretold, on rows that it was not fitted on; None while none are."""
    bias: float | None
    """By how much it says too much, on average, on the same rows."""
    coefficient: float | None = None
    """How much of its control variate is used, 0 while nothing speaks for it; None where it stands for a step."""
    variance_ratio: float | None = None
    """What is left of the plain score's variance; None while too few rows tell."""

    def __str__(self) -> str:
        if not self.rows:
            without = "no gradient passes" if self.is_biased else "coefficient 0, as the plain score"
            return f"surrogate of '{self.step}': has no data yet; {without}"
        parts = [
            f"learnt of {self.rows} rows in {self.updates} updates" + (f", {self.behind} rows ago" * bool(self.behind)),
            f"of {self.learnt_of[:8]}" * bool(self.learnt_of),
            "" if self.coefficient is None else f"coefficient {self.coefficient:.2f}",
            "" if self.variance_ratio is None else f"variance {self.variance_ratio:.2f} of the plain score's",
            "" if self.r_squared is None else f"R² {self.r_squared:.2f}",
            "" if self.bias is None else f"bias {self.bias:+.2g}",
            "its gradient is BIASED: it stands for the step" * self.is_biased,
        ]
        return f"surrogate of '{self.step}' ({self.digest[:8]}): {', '.join(part for part in parts if part)}"
