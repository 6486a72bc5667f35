"""Whether a component answers later than usual, which is how a queue inside it shows.

By this a time-out is told from a fault: one that comes while the component is under load is the weather's doing, and
its reason is `congestion`. The rule is Gradient2's (`engine.limit`), whose gradient falls below 1 when calls take more
than 1.5 times as long as usual, with one thing added: some slow call was answered. A queue answers late; what hangs, or
is cut off, answers nothing. Where a component reports what it wrote, an answer that is longer than usual may take
longer in proportion. (One that is shorter is held to no less: that is all prompt.)

Known faults: an overload that it begins in is the norm for it, and one that lasts as long as its memory becomes it.
What takes longer because it was asked for more is taken for load, where the component reports no tokens.
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

    __slots__ = ("_at", "_recent", "_taught", "_told", "usual_s", "usual_tokens")

    def __init__(self) -> None:
        self.usual_s = 0.0
        """Mean time of service; 0 until the first answer."""
        self.usual_tokens = 0.0
        """Mean of what was written; 0 while no answer told."""
        self._taught = 0
        """Answers in `usual_s`, up to `LONG_SAMPLES`."""
        self._told = 0
        """Those in `usual_tokens`, likewise."""
        self._at = 0.0
        """When the last of them came."""
        self._recent: deque[tuple[float, float, bool]] = deque(maxlen=RECENT)
        """When each left, how long it took or would have, had it written no more than usual, and whether it failed."""

    def note(self, now: float, took_s: float, *, failed: bool, tokens: int = 0) -> None:
        """Learn from a call that left after `took_s` seconds of service, having written `tokens`, 0 where unknown. One
        that failed before it was late says nothing: an error that comes at once tells of no queue."""
        usual_s = took_s
        if tokens > self.usual_tokens > 0.0:
            usual_s *= self.usual_tokens / tokens
        if not failed:
            self._recent.append((now, usual_s, False))
            self._learn(now, took_s, tokens, is_late=self._is_late(usual_s))
        elif self._is_late(usual_s):
            self._recent.append((now, usual_s, True))

    def is_high(self, now: float) -> bool:
        """Whether at least half of the calls of late took longer than usual, one of which was answered."""
        recent = [(took_s, failed) for at, took_s, failed in self._recent if at > now - RECENT_S]
        late = [failed for took_s, failed in recent if self._is_late(took_s)]
        return len(recent) >= LEAST and 2 * len(late) >= len(recent) and not all(late)

    def _is_late(self, took_s: float) -> bool:
        return self._taught > 0 and took_s > TOLERANCE * self.usual_s

    def _learn(self, now: float, took_s: float, tokens: int, *, is_late: bool) -> None:
        """A plain mean at first, then one that forgets. Late answers count by the time that passes, or a second with a
        hundred of them would become the norm."""
        most = 1.0
        if is_late and self._taught >= LEAST:
            since = max(0.0, now - self._at)
            most = since / (since + LONG_S)
        self._taught = min(self._taught + 1, LONG_SAMPLES)
        self.usual_s += min(most, 1 / self._taught) * (took_s - self.usual_s)
        if tokens:
            self._told = min(self._told + 1, LONG_SAMPLES)
            self.usual_tokens += min(most, 1 / self._told) * (tokens - self.usual_tokens)
        self._at = now
