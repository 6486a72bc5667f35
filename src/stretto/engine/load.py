"""Whether a component answers later than usual, which is how a queue inside it shows.

By this a time-out is told from a fault: one that comes while the component is under load is the weather's doing, and
its reason is `congestion`. The rule is Gradient2's (`engine.limit`), whose gradient falls below 1 when calls take more
than 1.5 times as long as usual, with one thing added: some slow call was answered. A queue answers late; what hangs, or
is cut off, answers nothing.

Known faults: an overload that it begins in is the norm for it, and one that lasts as long as its memory becomes it.
What takes longer because it was asked for more is taken for load.
"""

from collections import deque
from typing import Final

from stretto.engine.limit import LONG_S, LONG_SAMPLES, TOLERANCE

RECENT_S: Final = 30.0
"""How far back calls tell of now: as long as some calls to a model take."""

RECENT: Final = 16
"""How many of them at most, so that it is seen soon that a load is over."""

LEAST: Final = 5
"""Calls below which nothing is said: two slow ones are chance."""


class Load:
    """What calls of one component took of late, and usually. Each `now` is event-loop time."""

    __slots__ = ("_at", "_recent", "_taught", "usual_s")

    def __init__(self) -> None:
        self.usual_s = 0.0
        """Mean time of service; 0 until the first answer."""
        self._taught = 0
        """Answers in it, up to `LONG_SAMPLES`."""
        self._at = 0.0
        """When the last of them came."""
        self._recent: deque[tuple[float, float, bool]] = deque(maxlen=RECENT)
        """When each left, how long it took, and whether it failed."""

    def note(self, now: float, took_s: float, *, failed: bool) -> None:
        """Learn from a call that left after `took_s` seconds of service. One that failed before it was late says
        nothing: an error that comes at once tells of no queue."""
        if not failed:
            self._recent.append((now, took_s, False))
            self._learn(now, took_s)
        elif self._is_late(took_s):
            self._recent.append((now, took_s, True))

    def is_high(self, now: float) -> bool:
        """Whether at least half of the calls of late took longer than usual, one of which was answered."""
        recent = [(took_s, failed) for at, took_s, failed in self._recent if at > now - RECENT_S]
        late = [failed for took_s, failed in recent if self._is_late(took_s)]
        return len(recent) >= LEAST and 2 * len(late) >= len(recent) and not all(late)

    def _is_late(self, took_s: float) -> bool:
        return self._taught > 0 and took_s > TOLERANCE * self.usual_s

    def _learn(self, now: float, took_s: float) -> None:
        """A plain mean at first, then one that forgets. Late answers count by the time that passes, or a second with a
        hundred of them would become the norm."""
        is_late = self._taught >= LEAST and self._is_late(took_s)
        self._taught = min(self._taught + 1, LONG_SAMPLES)
        weight = 1 / self._taught
        if is_late:
            since = max(0.0, now - self._at)
            weight = min(weight, since / (since + LONG_S))
        self.usual_s += weight * (took_s - self.usual_s)
        self._at = now
