"""A breaker: a component that fails or crawls is not called for a while, and then tried with few calls.

    CLOSED ── too many failed or slow ──▶ OPEN ── its time is up ──▶ HALF_OPEN ── enough probes went well ──▶ CLOSED
                                           ▲                             │
                                           └──── a probe went badly ─────┘

The states and the sliding window are those of resilience4j. Its best known fault is a half-open state that never
ends, because a probe was cancelled and its permit never came back. Here a probe's permit is a lease, which expires.
"""

from collections import deque
from collections.abc import Callable
from enum import StrEnum

import msgspec

from stretto.engine.alarm import GRACE_S
from stretto.types.protection import BreakerRule


class BreakerState(StrEnum):
    """Whether calls go through."""

    CLOSED = "closed"
    """All do."""
    OPEN = "open"
    """None does; the first one after its time is up is a probe."""
    HALF_OPEN = "half_open"
    """Only probes do."""


_CLOSED, _OPEN, _HALF_OPEN = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN  # quicker, on each call


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """How the calls of a window went; a call may be both failed and slow."""

    calls: int
    failed: int
    slow: int

    def __str__(self) -> str:
        if self.calls == 1:
            return f"its last call {'failed' if self.failed else 'was slow'}"
        return f"of its last {self.calls} calls {self.failed} failed and {self.slow} were slow"

    @property
    def failure_rate(self) -> float:
        """Part of the calls that failed, in [0, 1]; 0 when there are none."""
        return self.failed / self.calls if self.calls else 0.0

    @property
    def slow_rate(self) -> float:
        """Part of the calls that were slow, in [0, 1]; 0 when there are none."""
        return self.slow / self.calls if self.calls else 0.0


class Permit(msgspec.Struct, eq=False):
    """Leave to make one call. Only the first `done` or `drop` counts, and only in the state that gave the permit."""

    _breaker: "Breaker | None"
    generation: int

    def done(self, now: float, failed: bool, took_s: float) -> None:
        """Tell how the call went and how many seconds it took. Of a probe whose lease expired, nothing counts."""
        breaker = self._breaker
        self._breaker = None
        if breaker is not None and breaker.generation == self.generation:
            breaker.settle(self, now, failed, took_s)

    def drop(self, now: float) -> None:
        """Tell that the call was cancelled, or never made: it counts as nothing, and its place is free."""
        breaker = self._breaker
        self._breaker = None
        if breaker is not None and breaker.generation == self.generation:
            breaker.end_lease(self, now)


class Breaker:
    """Lets calls to one component through, or not. Each `now` is event-loop time, never less than the one before."""

    __slots__ = (
        "_leases",
        "_open_s",
        "_until",
        "_well",
        "_window",
        "generation",
        "on_change",
        "opened_for",
        "rule",
        "state",
    )

    def __init__(self, rule: BreakerRule) -> None:
        self.rule = rule
        """May be replaced at any time; the next call obeys it."""
        self.state = BreakerState.CLOSED
        self.generation = 0
        """How often the state has changed."""
        self.on_change: Callable[[BreakerState, BreakerState, float], None] | None = None
        """Told of each change, after it: the state before, the state now, and when. It is to raise nothing."""
        self.opened_for = Tally(calls=0, failed=0, slow=0)
        """The calls for which it opened last: those of the window, or the probe that went badly."""
        self._window = _Window()
        self._open_s = rule.open_s
        """How long it is open this time."""
        self._until = 0.0
        """Until when it is open."""
        self._leases: dict[Permit, float] = {}
        """Probes under way, and when each is given up."""
        self._well = 0
        """Probes that went well since it is half open."""

    def permit(self, now: float, timeout_s: float | None = None) -> Permit | None:
        """Leave to make a call, which is to be told `done` or `drop`; None when it must not be made.

        A probe's lease does not end before the time-out of its call: what the call says then still counts.
        """
        if self.state is _CLOSED:
            return Permit(self, self.generation)
        if self.retry_at(now) > now:
            return None
        if self.state is _OPEN:
            self._change(_HALF_OPEN, now)
        permit = Permit(self, self.generation)
        lease_s = self.rule.lease_s if timeout_s is None else max(self.rule.lease_s, timeout_s + GRACE_S)
        self._leases[permit] = now + lease_s
        return permit

    def retry_at(self, now: float) -> float:
        """When it next lets a call through, if no probe comes back before: that may make it earlier, or later."""
        if self.state is _OPEN:
            return max(now, self._until)
        if self.state is _HALF_OPEN:
            self._leases = {permit: end for permit, end in self._leases.items() if end > now}
            if self._well + len(self._leases) >= self.rule.probes:
                return min(self._leases.values(), default=now)
        return now

    def tally(self, now: float) -> Tally:
        """The calls in the window; while it is not closed, those for which it opened, as they grow old."""
        self._window.forget(now, self.rule)
        return self._window.tally()

    def settle(self, permit: Permit, now: float, failed: bool, took_s: float) -> None:
        """Count a call; for `Permit.done`."""
        slow_after_s = self.rule.slow_after_s
        slow = slow_after_s is not None and took_s > slow_after_s
        if self.state is _CLOSED:
            if self._window.add(now, failed, slow, self.rule):
                self._open(now, self.rule.open_s, self._window.tally())
        elif self.end_lease(permit, now):
            self._judge(now, failed, slow)

    def end_lease(self, permit: Permit, now: float) -> bool:
        """End a probe's lease; False when it had none, or it had expired. For `Permit.drop`."""
        end = self._leases.pop(permit, None)
        return end is not None and now < end

    def _judge(self, now: float, failed: bool, slow: bool) -> None:
        """Go by a probe: one that went badly opens it for longer, enough that went well close it."""
        if failed or slow:
            why = Tally(calls=1, failed=int(failed), slow=int(slow))
            self._open(now, min(2 * self._open_s, self.rule.max_open_s), why)
            return
        self._well += 1
        if self._well >= self.rule.probes:
            self._window = _Window()
            self._change(_CLOSED, now)

    def _open(self, now: float, open_s: float, why: Tally) -> None:
        self.opened_for = why
        self._open_s = open_s
        self._until = now + open_s
        self._change(_OPEN, now)

    def _change(self, state: BreakerState, now: float) -> None:
        was = self.state
        self.state = state
        self.generation += 1
        self._leases.clear()
        self._well = 0
        if self.on_change is not None:
            self.on_change(was, state, now)


class _Window:
    """The last calls: when each ended, and whether it failed and was slow."""

    __slots__ = ("_calls", "_failed", "_slow")

    def __init__(self) -> None:
        self._calls: deque[tuple[float, bool, bool]] = deque()
        self._failed = 0
        self._slow = 0

    def add(self, now: float, failed: bool, slow: bool, rule: BreakerRule) -> bool:
        """Count one; whether too many of them failed or were slow."""
        calls = self._calls
        calls.append((now, failed, slow))
        if failed:
            self._failed += 1
        if slow:
            self._slow += 1
        self.forget(now, rule)
        count = len(calls)
        return count >= rule.min_calls and (
            self._failed / count >= rule.failure_rate or self._slow / count >= rule.slow_rate
        )

    def forget(self, now: float, rule: BreakerRule) -> None:
        """Drop the calls that are too old or too many."""
        calls = self._calls
        while calls and (calls[0][0] + rule.window_s <= now or len(calls) > rule.window_calls):
            _, failed, slow = calls.popleft()
            self._failed -= failed
            self._slow -= slow

    def tally(self) -> Tally:
        return Tally(calls=len(self._calls), failed=self._failed, slow=self._slow)
