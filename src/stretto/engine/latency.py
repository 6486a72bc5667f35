"""How long calls of late took: what a queue expects of the calls ahead, and what who asks is told of now."""

from bisect import bisect_left, insort
from collections import deque
from math import ceil
from statistics import median
from typing import Final

WINDOW: Final = 128
"""Samples kept. The p95 of fewer rests on a handful of calls; more outlive the conditions that they were taken in."""

LEAST: Final = 10
"""Samples below which there is no quantile: a guess would cost more than none."""


CALLS: Final = 64
"""Calls that a median of now counts at most: enough for one, few enough to sort when somebody asks."""

SPAN_S: Final = 60.0
"""Seconds after which a call says nothing of now. A component that is left alone because it was slow is then unknown
again, not slow for ever, and will be tried."""


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


class Recent:
    """Times to answer of the last calls. Adding costs 0.1 µs; all else is left to who asks."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: deque[tuple[float, float]] = deque(maxlen=CALLS)

    def add(self, now: float, took_s: float) -> None:
        """Take in a call that ended now."""
        self._calls.append((now, took_s))

    def median_ms(self, now: float) -> float | None:
        """Of the calls that ended within `SPAN_S`, milliseconds; None without any."""
        took = [took_s for ended, took_s in tuple(self._calls) if now - ended <= SPAN_S]
        return round(median(took) * 1e3, 3) if took else None
