"""Failures in a row: from how many a fallback answers at once, and how what failed comes back.

    TRYING ──`after` failures in a row──▶ STICKY ──`retry_after`──▶ TRIAL ──it succeeds──▶ TRYING
                                             ▲                        │
                                             └─it fails (wait doubled)┘
                                               it comes to nothing (no wait)

A trial is leased: one that never comes back is given up when its lease ends, and the next call is let through in its
place, so that nothing is stuck. Unlike a breaker, which judges a share of many calls, it counts: it is meant for what
is asked seldom. Pure: time is given.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Final

from stretto.types.protection import StreakRule

LEASE_S: Final = 60.0
"""How long a trial may stay silent, at least, before another is let through: as long as some calls to a model take."""

MAX_WAIT_S: Final = 600.0
"""The longest wait between two trials, where `retry_after` is not longer: ten minutes after it is back, all know it."""


class StreakState(StrEnum):
    """What becomes of the next call."""

    TRYING = "trying"
    """It is made."""
    STICKY = "sticky"
    """The fallback answers, until it is time for a trial."""
    TRIAL = "trial"
    """The fallback answers, while one call is tried."""


class Streak:
    """The failures in a row of one component, or of one workflow."""

    __slots__ = ("_lease_until", "_until", "_wait_s", "failures", "on_change", "phase", "rule", "state", "why")

    def __init__(self, rule: StreakRule) -> None:
        self.rule = rule
        """May be replaced at any time; the next call obeys it."""
        self.state = StreakState.TRYING
        self.failures = 0
        """In a row, until it is sticky."""
        self.phase = 1
        """Counts how often it became sticky, and how often it recovered: what began in another phase says nothing."""
        self.why = ""
        """The last failure, in words."""
        self.on_change: Callable[[StreakState, StreakState], None] | None = None
        """Told of each change, after it: the state before, and the state now. It is to raise nothing."""
        self._wait_s = rule.retry_after_s
        self._until = 0.0
        self._lease_until = 0.0

    def enter(self, now: float, lease_s: float = LEASE_S) -> int | None:
        """Leave to try, as the phase that what becomes of it is to be told with; None when the fallback is to answer.

        `lease_s` is how long the call may take.
        """
        if self.state is StreakState.TRYING:
            return self.phase
        if self.retry_at(now) > now:
            return None
        self._lease_until = now + max(lease_s, LEASE_S)
        self._change(StreakState.TRIAL)
        return self.phase

    def retry_at(self, now: float) -> float:
        """When the next call is let through, if nothing comes back before; `now` when it would be."""
        if self.state is StreakState.TRYING:
            return now
        return max(now, self._until if self.state is StreakState.STICKY else self._lease_until)

    def succeeded(self, phase: int) -> None:
        """What was tried answered."""
        if phase != self.phase:
            return
        self.failures = 0
        if self.state is not StreakState.TRYING:  # also a trial that was given up: it is back all the same
            self.phase += 1
            self._change(StreakState.TRYING)

    def failed(self, phase: int, now: float, why: str) -> None:
        """What was tried failed."""
        if phase != self.phase:
            return
        self.why = why
        self.failures += 1
        if self.state is not StreakState.TRYING:
            most = max(MAX_WAIT_S, self.rule.retry_after_s)
            self._stick(now, min(2 * self._wait_s, most))
        elif self.failures >= self.rule.after:
            self.phase += 1
            self._stick(now, self.rule.retry_after_s)

    def dropped(self, phase: int, now: float) -> None:
        """What was tried came to nothing that says anything, as when it was cancelled: the next call is tried."""
        if phase == self.phase and self.state is StreakState.TRIAL:
            self._until = now
            self._change(StreakState.STICKY)

    def _stick(self, now: float, wait_s: float) -> None:
        self._wait_s = wait_s
        self._until = now + wait_s
        self._change(StreakState.STICKY)

    def _change(self, state: StreakState) -> None:
        was, self.state = self.state, state
        if self.on_change is not None and was is not state:
            self.on_change(was, state)
