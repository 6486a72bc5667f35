"""How long calls of late took: what a queue expects of the calls ahead."""

from bisect import bisect_left, insort
from collections import deque
from math import ceil
from typing import Final

WINDOW: Final = 128
"""Samples kept. The p95 of fewer rests on a handful of calls; more outlive the conditions that they were taken in."""

LEAST: Final = 10
"""Samples below which there is no quantile: a guess would cost more than none."""


class Latency:
    """Exact quantiles of the last `WINDOW` service times, kept in order.

    An estimate such as P2 (Jain and Chlamtac, CACM 28(10), 1985) never forgets; sorting when asked costs ten times
    as much as to move one sample into its place, and falls on the call that asks.
    """

    __slots__ = ("_by_age", "_by_size")

    def __init__(self) -> None:
        self._by_age: deque[float] = deque()
        self._by_size: list[float] = []

    def __len__(self) -> int:
        return len(self._by_age)

    def add(self, took_s: float) -> None:
        """Take in one call's service time, seconds; the oldest beyond the window is forgotten."""
        by_age, by_size = self._by_age, self._by_size
        if len(by_age) == WINDOW:
            del by_size[bisect_left(by_size, by_age.popleft())]
        by_age.append(took_s)
        insort(by_size, took_s)

    def note(self, took_s: float, *, failed: bool) -> None:
        """`add`, for a call without an answer only when it is known to have been slower than most would be."""
        if failed:
            usual_s = self.quantile(0.5)
            if usual_s is None or took_s <= usual_s:
                return
        self.add(took_s)

    def quantile(self, q: float) -> float | None:
        """The least service time, seconds, that a part `q` in [0, 1] of the calls did not exceed (nearest rank).

        None below `LEAST` samples.
        """
        count = len(self._by_size)
        if count < LEAST:
            return None
        return self._by_size[max(ceil(q * count), 1) - 1]
