"""Which rows whose gradient came from elsewhere are held against the answers from there, and what came of it."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from stretto.acp.projection import Verdict
from stretto.learn.differentiable import CHECK_REMOTE

PATIENCE: Final = 4
"""Rows in succession that are checked until one tells something."""


@dataclass(kw_only=True)
class Checking:
    """Which rows of a step are checked, and what came of it."""

    every: int = CHECK_REMOTE
    """The first row and then one in so many; 0 checks none."""
    rows: int = 0
    """That were pulled back so far."""
    came_to: Counter[Verdict] = field(default_factory=Counter)
    unclear: int = 0
    """In succession."""

    def is_due(self) -> bool:
        """Count a row; whether it is to be checked."""
        self.rows += 1
        if self.every <= 0:
            return False
        return (self.rows - 1) % self.every == 0 or 0 < self.unclear < PATIENCE

    def note(self, verdict: Verdict) -> None:
        """Count what a check came to."""
        self.came_to[verdict] += 1
        self.unclear = self.unclear + 1 if verdict is Verdict.UNCLEAR else 0
