"""A bulkhead: at most so many calls to one component in flight, and a short queue of those that can still make it.

A queue without a bound turns overload into collapse: every answer comes after its deadline, and the component works
for nobody (Google SRE book, chapter 22). Here a call that has no time left for its turn and its service is refused
while its caller can still do something else, and the component works only on what is waited for.
"""

import asyncio
from bisect import bisect_left, insort
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from stretto.engine.latency import Latency
from stretto.engine.limit import Limit
from stretto.types.errors import ShedError

NEEDED: Final = 0.9
"""A call is let in if it has the time that this part of the calls keep to. With the median, a full queue sends calls
that have just that left, and the work for half of them is thrown away: 79 % of the best goodput at twice the
capacity, where this has all of it (`tests/unit/engine/test_bulkhead.py`)."""


class Slot(msgspec.Struct, eq=False):
    """One place in flight. Whoever holds it must leave it, however the call ends."""

    _bulkhead: "Bulkhead | None"

    def leave(self, now: float, took_s: float, *, failed: bool, tokens: int = 0) -> None:
        """Hand the place to the next that waits, at event-loop time `now`. Only the first call counts.

        `took_s` is the time of service alone, seconds. Failed is any call without an answer, cancelled ones too; one
        that was never sent took 0. `tokens` is what a model wrote, as far as that is known.
        """
        bulkhead = self._bulkhead
        if bulkhead is not None:
            self._bulkhead = None
            bulkhead.take_back(now, took_s, failed=failed, tokens=tokens)


class _Waiter(NamedTuple):
    """One call in the queue; in the order of these tuples they are let in."""

    rank: int
    """Its priority, negated."""
    number: int
    """No two have the same, so nothing after it is ever compared."""
    deadline: float | None
    outcome: asyncio.Future[Slot | ShedError]
    """Its place, or why it gets none: as a result, since an exception that a cancelled task never reads is logged."""


class Bulkhead:
    """Lets calls in up to a limit, and the rest wait: higher priority first, first come within a priority.

    A place that is free is given whatever the deadline: else a component that was slow once would never be asked
    again, and never be seen to have recovered. `limit` and `queue` may be set while calls run: they hold from the
    next call on that enters or leaves, or from `let_in` on. For one event loop at a time.
    """

    __slots__ = ("_joined", "_name", "_waiters", "in_flight", "latency", "limit", "queue")

    def __init__(self, limit: Limit, queue: int, *, name: str) -> None:
        self.limit = limit
        self.queue = queue
        """Calls that may wait; 0 is none."""
        self._name = name
        self._waiters: list[_Waiter] = []
        self._joined = 0
        self.in_flight = 0
        self.latency = Latency()
        """Service times of calls that were answered, and of those given up that had taken longer than most."""

    @property
    def waiting(self) -> int:
        """Calls in the queue."""
        return len(self._waiters)

    def enter_now(self) -> Slot | None:
        """A place, where one is free and nobody waits for it."""
        if self._waiters or self.in_flight >= self.limit.value:
            return None
        self.in_flight += 1
        return Slot(self)

    async def enter(self, now: Callable[[], float], deadline: float | None, priority: int) -> Slot:
        """Take a place, at once if one is free; `now` and `deadline` are event-loop time, a higher priority is first.

        Raises ShedError when the queue is full, or the deadline leaves no time
        for its turn and its service. It sets no timer: whoever waits is cancelled by its caller's alarm.
        """
        if self._waiters:
            self.let_in(now())  # the limit may have been raised by hand a moment ago
        if self.in_flight < self.limit.value:
            self.in_flight += 1
            return Slot(self)
        waiter = self._join(now(), deadline, priority)
        try:
            outcome = await waiter.outcome
        except BaseException:
            self._forget(waiter, now)
            raise
        if isinstance(outcome, ShedError):
            raise outcome
        return outcome

    def take_back(self, now: float, took_s: float, *, failed: bool, tokens: int = 0) -> None:
        """What `Slot.leave` does."""
        self.latency.note(took_s, failed=failed)
        self.limit.sample(now, took_s, self.in_flight, failed=failed, tokens=tokens)
        self.in_flight -= 1
        self.let_in(now)

    def _join(self, now: float, deadline: float | None, priority: int) -> _Waiter:
        """Stand in the queue; raises when that is to no purpose."""
        self._joined += 1
        waiter = _Waiter(-priority, self._joined, deadline, asyncio.get_running_loop().create_future())
        ahead = bisect_left(self._waiters, waiter)
        if deadline is not None and now + self._wait_s(ahead) + self._needed_s > deadline:
            raise self._too_late(deadline - now, ahead)
        if len(self._waiters) >= self.queue:
            self._make_room(waiter)
        insort(self._waiters, waiter)
        return waiter

    def _make_room(self, waiter: _Waiter) -> None:
        """Push out the lowest, latest one that waits; raises when none is lower."""
        self._waiters = [other for other in self._waiters if _waits(other.outcome)]
        if len(self._waiters) < self.queue:
            return
        if not self._waiters or self._waiters[-1].rank <= waiter.rank:
            raise self._full()
        last = self._waiters.pop()
        last.outcome.set_result(self._full(", and a call of higher priority took its place in the queue"))

    def let_in(self, now: float) -> None:
        """Let in as many as there is room for; those that have no time left for their call are refused."""
        while self._waiters and self.in_flight < self.limit.value:
            _, _, deadline, outcome = self._waiters.pop(0)
            if not _waits(outcome):  # it leaves the queue itself only when its task runs
                continue
            if deadline is not None and now + self._needed_s > deadline:
                outcome.set_result(self._too_late(deadline - now, 0))
            else:
                self.in_flight += 1
                outcome.set_result(Slot(self))

    def _forget(self, waiter: _Waiter, now: Callable[[], float]) -> None:
        """It waits no more. If it was handed a place in the very moment it was cancelled, the next one gets it."""
        outcome = waiter.outcome
        if outcome.done() and not outcome.cancelled():
            place = outcome.result()
            if isinstance(place, Slot):
                place.leave(now(), 0.0, failed=True)
            return
        at = bisect_left(self._waiters, waiter)
        if at < len(self._waiters) and self._waiters[at] is waiter:
            del self._waiters[at]

    # what to expect

    @property
    def _needed_s(self) -> float:
        """What a call takes that is slower than most; 0 while too few are known to refuse anybody for it."""
        return self.latency.quantile(NEEDED) or 0.0

    def _wait_s(self, ahead: int) -> float:
        """How long so many take to be let in, at the usual pace (Little's law); 0 while that is not known."""
        return ahead * (self.latency.quantile(0.5) or 0.0) / self.limit.value

    # refusals

    def _full(self, how: str = "") -> ShedError:
        return self._refusal(
            f"component '{self._name}' is full: {self._crowd()}{how}; "
            "call it later or less, or raise the limit or the queue of its bulkhead"
        )

    def _too_late(self, left_s: float, ahead: int) -> ShedError:
        return self._refusal(
            f"component '{self._name}' has no time for this call: {max(0.0, left_s):.3g} s are left to its deadline, "
            f"and a call takes up to {self._needed_s:.3g} s (p90) after the {ahead} that wait before it; "
            f"{self._crowd()}; give it a later deadline or a higher priority, call the component less, or raise the "
            "limit of its bulkhead"
        )

    def _crowd(self) -> str:
        return f"{self.in_flight} of {self.limit.value} calls are in flight and {self.waiting} of {self.queue} wait"

    def _refusal(self, text: str) -> ShedError:
        """Nothing was sent; worth another attempt once the queue of now is through, as far as that is known."""
        drained_s = self._wait_s(self.waiting) or None
        return ShedError(text, retry_after_s=drained_s)


def _waits(outcome: "asyncio.Future[Slot | ShedError]") -> bool:
    """Whether its task still does: it was not cancelled, nor left behind by an event loop that ended."""
    return not outcome.done() and not outcome.get_loop().is_closed()
