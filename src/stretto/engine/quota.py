"""A component's quota of retries: a part of its calls, so that they cannot storm.

Each call deposits a part of a retry, and each retry takes a whole one. Deposits that nobody takes leak away: those of
one half window leak linearly through the next, so none lives longer than a window (the idea is that of Finagle's
`RetryBudget`). What may be taken without deposits is counted in a sliding window; Finagle lets it mount up, and a
client that was quiet may send a hundred at once.

Hence in any window: taken <= floor + ratio * calls of that window and of the one before it.
"""

import math
from collections import deque
from typing import Final

from stretto.types.protection import QuotaRule

WHOLE: Final = 1 - 1e-9
"""Counts as one retry: ten deposits of 0.1 come to 0.9999999999999999."""


class RetryQuota:
    """Counts the calls of one component, and the retries that they allow.

    Each `now` is event-loop time in seconds, and is never less than the one before.
    """

    __slots__ = ("_aging", "_fresh", "_leaked_at", "_turns_at", "_unpaid", "rule")

    def __init__(self, rule: QuotaRule) -> None:
        self.rule = rule
        """May be replaced at any time; the next call obeys it."""
        self._fresh = 0.0
        """Deposits of this half window, in retries."""
        self._aging = 0.0
        """What is left of those of the half window before."""
        self._leaked_at = -math.inf
        """Up to when they have leaked."""
        self._turns_at = -math.inf
        """When this half window ends, and they have leaked away."""
        self._unpaid: deque[float] = deque()
        """When retries were taken without deposits, within the last window: as many as the floor at most."""

    def deposit(self, now: float) -> None:
        """Count one call, not a retry of it."""
        if now >= self._turns_at:
            self._turn(now)
        self._fresh += self.rule.ratio

    def take(self, now: float) -> bool:
        """Take one retry; False, and nothing is taken, when none is left."""
        self._leak(now)
        if self._fresh + self._aging >= WHOLE:
            self._pay()
            return True
        if self._free(now) > 0:
            self._unpaid.append(now)
            return True
        return False

    def give_back(self) -> None:
        """Give back one that was taken and not made: a deposit of a whole retry, made now."""
        self._fresh += 1.0

    def left(self, now: float) -> int:
        """How many could be taken now."""
        self._leak(now)
        return int(self._fresh + self._aging + 1 - WHOLE) + max(self._free(now), 0)

    def _pay(self) -> None:
        """Spend deposits, those that leak first."""
        aging = self._aging
        if aging >= 1.0:
            self._aging = aging - 1.0
        else:
            self._aging = 0.0
            self._fresh = max(self._fresh + aging - 1.0, 0.0)

    def _free(self, now: float) -> int:
        """How much of the floor is left; less than none when the rule was replaced by one with a lower floor."""
        unpaid = self._unpaid
        while unpaid and unpaid[0] + self.rule.window_s <= now:
            unpaid.popleft()
        return self.rule.floor - len(unpaid)

    def _leak(self, now: float) -> None:
        if now >= self._turns_at:
            self._turn(now)
        if now > self._leaked_at:
            self._aging *= (self._turns_at - now) / (self._turns_at - self._leaked_at)
            self._leaked_at = now

    def _turn(self, now: float) -> None:
        """Begin the half window in which this is; deposits older than the one before it are gone."""
        half = self.rule.window_s / 2
        if now < self._turns_at + half:
            self._aging = self._fresh
            self._leaked_at = self._turns_at
            self._turns_at += half
        else:
            self._aging = 0.0
            self._turns_at = now + half
        self._fresh = 0.0
