"""How many calls to one component may be in flight: a number, or what its service times tell."""

from math import sqrt
from typing import Final, Protocol

from stretto.types.errors import UsageError
from stretto.types.protection import BulkheadRule

TOLERANCE: Final = 1.5
"""Netflix's rttTolerance: how many times the long mean a service time may be before it tells of a queue."""

SMOOTHING: Final = 0.2
"""Netflix's: the part of the way to the new limit that one window goes."""

LEAST_GRADIENT: Final = 0.5
"""Netflix's: no window asks for less than half."""

MOST_QUEUED: Final = 4.0
"""Netflix's queueSize: calls beyond the limit that it tries, so that it finds out about room."""

WINDOW: Final = 10
"""Netflix's least samples of a window. A single call says little: one prompt takes ten times as long as another."""

LONG_S: Final = 600.0
LONG_SAMPLES: Final = 100
"""What the usual time remembers, at least: so long, or a second of a thousand slow calls would become the norm, and so
many calls, or three slow ones of a quiet night would. (Netflix: 600 samples, whatever their time.)"""


class Limit(Protocol):
    """Says how many may be in flight, and learns from those that left."""

    @property
    def value(self) -> int:
        """Calls that may be in flight; 1 or more."""
        ...

    def sample(self, now: float, took_s: float, in_flight: int, *, failed: bool, tokens: int = 0) -> None:
        """Learn from a call that left at event-loop time `now`, one of `in_flight`, after `took_s` seconds of service.

        Failed is any call without an answer: what its service time would have been is only known to be no less.
        `tokens` is what a model wrote; 0 where that is not known.
        """
        ...


class FixedLimit:
    """A number that people chose."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        if value < 1:
            raise UsageError(f"a limit of {value} calls in flight lets nobody in; expected 1 or more")
        self.value = value

    def sample(self, now: float, took_s: float, in_flight: int, *, failed: bool, tokens: int = 0) -> None:
        """Nothing to learn."""


class Gradient2:
    """Follows how much longer calls take than usual, which is how a queue in the component shows.

    Netflix concurrency-limits, `Gradient2Limit` within `WindowedLimit` (github.com/Netflix/concurrency-limits), sized
    for agents: it begins at 8 and may fall to 1. A window is a round trip, as many samples as may be in flight: what
    left before the last change took effect tells nothing of it. The calls beyond the limit that it tries are half
    its square root, up to Netflix's 4; a constant 4 would hold it at 8 or more, for half of 8 and 4 is 8.

    A call that failed after longer than usual, a time-out, is a sample of its time and the usual one on top: an
    answer that did not come yet is as far off as ever. It never teaches what is usual, or a component that hangs
    would. One that failed before that is no sample: an error that answers at once tells of no queue.

    Where a component reports what it wrote, a time is that for each output token, a window's seconds over its tokens:
    else it would follow the mix of prompts. (Of single calls' ratios the shortest answers, which are all prompt, would
    outweigh the rest.) A call that tells of no tokens counts as one that wrote as much as most.

    Known faults, its model's too:

    - the usual time drifts: an overload that lasts as long as its memory (`LONG_S`), or that it begins in, becomes
      the norm, and the limit creeps up, at worst to `most`;
    - while fewer than half the limit are in flight it neither grows nor shrinks;
    - it grows by less than one call a round trip: begin near the capacity where that is known;
    - it takes longer answers for a queue where the component reports no tokens.
    """

    __slots__ = (
        "_limit",
        "_long_at",
        "_long_s",
        "_passed",
        "_passed_s",
        "_passed_tokens",
        "_peak",
        "_seen",
        "_seen_s",
        "_seen_tokens",
        "_taught",
        "_usual_tokens",
        "least",
        "most",
        "value",
    )

    def __init__(self, *, initial: int = 8, least: int = 1, most: int = 200) -> None:
        if not 1 <= least <= most:
            raise UsageError(f"a limit from {least} to {most} calls in flight is none; expected 1 <= least <= most")
        self.least = least
        self.most = most
        self._limit = float(min(max(initial, least), most))
        self.value = int(self._limit)
        self._long_s: float | None = None
        """What calls usually take for each token, the long mean; None until the first window ends."""
        self._usual_tokens = 0.0
        """What most calls write; 0 while none has told."""
        self._taught = 0
        """Samples in it, up to `LONG_SAMPLES`."""
        self._long_at = 0.0
        """When that was last brought up to date."""
        self._open_window()

    def bound(self, least: int, most: int) -> None:
        """Keep the limit between two others from now on; what was learnt stays."""
        self.least, self.most = least, most
        self._limit = min(max(self._limit, least), most)
        self.value = int(self._limit)

    def _open_window(self) -> None:
        self._passed, self._passed_s, self._passed_tokens = 0, 0.0, 0.0
        self._seen, self._seen_s, self._seen_tokens = 0, 0.0, 0.0
        """Those that passed and those that failed late."""
        self._peak = 0

    def sample(self, now: float, took_s: float, in_flight: int, *, failed: bool, tokens: int = 0) -> None:
        """Learn from a call that left; the last one of a window moves the limit. Constant time."""
        written = self._written(tokens)
        if not failed:
            self._passed += 1
            self._passed_s += took_s
            self._passed_tokens += written
        elif self._long_s is None or took_s <= self._long_s * written:
            return
        else:
            took_s += self._long_s * written
        self._seen += 1
        self._seen_s += took_s
        self._seen_tokens += written
        if in_flight > self._peak:
            self._peak = in_flight
        if self._seen >= WINDOW and self._seen >= self.value:
            self._close_window(now)

    def _written(self, tokens: int) -> float:
        """What a call counts as having written: 1 for all of a component that never tells."""
        if not tokens:
            return self._usual_tokens or 1.0
        if not self._usual_tokens:  # what was learnt until now is the time of whole calls
            self._usual_tokens = float(tokens)
            self._long_s, self._taught = None, 0
            self._open_window()
        self._usual_tokens += SMOOTHING * (tokens - self._usual_tokens)
        return float(tokens)

    def _close_window(self, now: float) -> None:
        short_s = self._seen_s / self._seen_tokens
        long_s = self._learn(now, short_s)
        if 2 * self._peak >= self._limit:
            goal = self._limit * _gradient(short_s, long_s) + min(MOST_QUEUED, sqrt(self._limit) / 2)
            limit = self._limit + SMOOTHING * (goal - self._limit)
            self._limit = min(max(limit, self.least), self.most)
            self.value = int(self._limit)
        self._open_window()

    def _learn(self, now: float, short_s: float) -> float:
        """What calls usually take, this window's included: a plain mean at first, then one that forgets."""
        long_s = short_s if self._long_s is None else self._long_s
        if self._passed:
            self._taught = min(self._taught + self._passed, LONG_SAMPLES)
            weight = self._passed / self._taught
            if self._taught == LONG_SAMPLES:
                since = max(0.0, now - self._long_at)
                weight = min(weight, since / (since + LONG_S))
            long_s += weight * (self._passed_s / self._passed_tokens - long_s)
        if long_s > 2 * short_s:
            long_s *= 0.95
        self._long_s, self._long_at = long_s, now
        return long_s


def _gradient(short_s: float, long_s: float) -> float:
    """1 while calls take no longer than is tolerated, less by how much longer they take."""
    if short_s <= TOLERANCE * long_s:
        return 1.0
    return max(LEAST_GRADIENT, TOLERANCE * long_s / short_s)


def limit_of(rule: BulkheadRule) -> Limit:
    """The limit that a rule declares."""
    return Gradient2(least=rule.min_limit, most=rule.max_limit) if rule.limit is None else FixedLimit(rule.limit)


def retuned_limit(limit: Limit, rule: BulkheadRule) -> Limit:
    """The limit that a rule declares, with what one that stood before it had learnt, where both adapt."""
    if rule.limit is None and isinstance(limit, Gradient2):
        limit.bound(rule.min_limit, rule.max_limit)
        return limit
    return limit_of(rule)
