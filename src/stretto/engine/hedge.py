"""A hedge: a second call of the same where the first takes longer than most; the first answer is taken.

Dean and Barroso, "The Tail at Scale" (CACM 56(2), 2013): made again once the 95th percentile has passed, one call of
twenty costs a second one, and the slowest of a thousand is done in a part of its time. Only what is harmless to repeat
is made again; each copy takes one call from the quota of retries, and those that lose are cancelled.

The first call is made in its caller's task, as any other: a timer is all that one which answers in time pays. The
copies have a task and an alarm each. The first that answers rings the alarm of the first call, which ends it as its
deadline would.
"""

import asyncio
from contextlib import suppress
from typing import Final, Self, TypeAlias

from stretto.engine.alarm import GRACE_S
from stretto.engine.attempt import protected
from stretto.engine.breaker import BreakerState
from stretto.engine.called import Called
from stretto.engine.failure import cancelled_by_itself
from stretto.engine.protection import Protection
from stretto.engine.recording import count_usage
from stretto.engine.retrying import may_call_again
from stretto.engine.state import Lane
from stretto.record.model import StepRecord
from stretto.types.enums import Effect
from stretto.types.errors import ComponentError
from stretto.types.json import JsonObject
from stretto.types.messages import Request
from stretto.types.protection import HedgeRule

USUAL: Final = 0.95
"""The part of the calls that are done before a copy is made, where the rule names no time: the paper's."""

LEAST_AFTER_S: Final = 1e-3
"""The soonest that a copy is made where the rule names no time: event loops wake to a millisecond, and what usually
answers within one would be made twice whenever the loop had anything else to do."""

HEDGE: Final = "hedge"
"""Evidence of a step: of each attempt that was made twice, the first call and its copies."""

BESIDE: Final[JsonObject] = {"beside": True}
"""Tells a copy from the first."""

Answer: TypeAlias = tuple[bytes, JsonObject]


def after_s(called: Called, protection: Protection, rule: HedgeRule) -> float | None:
    """Seconds after which this attempt is made a second time; None for one that is not: it writes, nobody knows yet
    what is usual, or a breaker tries the component."""
    if called.effect is Effect.WRITE:
        return None
    if protection.breaker is not None and protection.breaker.state is not BreakerState.CLOSED:
        return None
    if rule.after_s is not None:
        return rule.after_s
    usual_s = protection.quantile_s(USUAL)
    return None if usual_s is None else max(usual_s, LEAST_AFTER_S)


def copies_of(step: StepRecord) -> int:
    """How many calls of a recorded step were made beside another."""
    told = step.evidence.get(HEDGE) if step.evidence else None
    return sum(isinstance(call, dict) and call.get("beside") is True for call in told) if isinstance(told, list) else 0


async def hedged(called: Called, protection: Protection, request: Request, *, wait_s: float, copies: int) -> Answer:
    """`attempt.protected`, made again beside itself when it takes longer than `wait_s`; the first answer is taken.

    A copy that fails leaves the others to answer. When the first call fails, the copies may answer yet, unless asking
    again could not help. Raises what the first raised when none answered.
    """
    race = _Race(called, protection, request, wait_s, copies)
    try:
        first = await race.first()
        if isinstance(first, ComponentError) and first.retryable and race.winner is None:
            await race.end_of_copies()
    except BaseException:
        await race.stop()
        raise
    return race.settle(first)


class _Copy(Called, eq=False):
    """One of the calls that are made beside the first, in a task and with an alarm of its own."""

    task: asyncio.Task[Answer] = None  # type: ignore[assignment]  # until it is begun, in the next line
    ended: float | None = None
    """When it was done."""

    @classmethod
    def of(cls, called: Called) -> Self:
        state = called.state
        copy = cls(
            state,
            called.op,
            called.data,
            called.path,
            called.lane,
            state.now(),
            called.action,
            called.effect,
            called.simulated,
        )
        copy.encoded, copy.held, copy.before = called.encoded, called.held, called.before
        copy.evidence = None if called.evidence is None else {**called.evidence}
        return copy

    async def make(self, protection: Protection, request: Request) -> Answer:
        self.lane = Lane(self.state.watch.alarm(), self.lane.budget)
        try:
            return await protected(self, protection, request)
        except ComponentError as error:
            error.take_wait_ms()  # of no attempt on the record
            raise
        finally:
            self.ended = self.state.now()

    @property
    def error(self) -> BaseException | None:
        """Why it has no answer, once it is done."""
        return cancelled_by_itself(self.name) if self.task.cancelled() else self.task.exception()


class _Race:
    """One attempt's first call and its copies."""

    __slots__ = (
        "_began",
        "_called",
        "_copies",
        "_is_first_over",
        "_is_overtaken",
        "_loop",
        "_protection",
        "_request",
        "_spare",
        "_timer",
        "_wait_s",
        "_waiter",
        "winner",
    )

    def __init__(self, called: Called, protection: Protection, request: Request, wait_s: float, copies: int) -> None:
        self._called = called
        self._protection = protection
        self._request = request
        self._wait_s = wait_s
        self._spare = copies
        self._loop = asyncio.get_running_loop()
        self._began = called.state.now()
        self._copies: list[_Copy] = []
        self._is_first_over = self._is_overtaken = False
        self._waiter: asyncio.Future[None] | None = None
        self.winner: _Copy | None = None
        """The copy that answered first, if one did before the first call."""
        self._timer = self._loop.call_later(wait_s, self._look)

    # opening

    def _look(self) -> None:
        """Open a copy if the call made last has taken too long, or is over for so long, where it failed. One that waits
        for a place is not slow: it has all of it before it, since another would wait behind it."""
        last = self._copies[-1] if self._copies else None
        entry = self._called.entry if last is None else last.entry
        began = entry.began if entry is not None else None if last is None else last.ended
        now = self._called.state.now()
        left_s = self._wait_s if began is None else began + self._wait_s - now
        if left_s <= 0:
            if not may_call_again(self._called, now):
                return
            self._open()
            left_s = self._wait_s
        if self._spare:
            self._timer = self._loop.call_later(left_s, self._look)

    def _open(self) -> None:
        """Begin a copy. The loop's task factory is not asked, since an eager task could end before it is known."""
        self._spare -= 1
        self._protection.hedges += 1
        self._called.state.run.retries += 1
        copy = _Copy.of(self._called)
        request = Request(self._called.decoded_request(), self._request.call)
        copy.task = asyncio.Task(copy.make(self._protection, request), loop=self._loop)
        copy.task.add_done_callback(lambda _: self._ended(copy))
        self._copies.append(copy)

    # ending

    def _ended(self, copy: _Copy) -> None:
        """A copy is done: the first answer stops the first call, or wakes whoever waits for the copies."""
        if copy.error is None and self.winner is None:
            self.winner = copy
            if not self._is_first_over:
                self._overtake()
        if self._waiter is not None and not self._waiter.done() and (self.winner is not None or not self._running):
            self._waiter.set_result(None)

    def _overtake(self) -> None:
        """Stop the first call; again after a grace, which leaves its component behind."""
        if self._is_first_over:
            return
        entry, alarm = self._called.entry, self._called.lane.alarm
        if entry is not None:
            entry.is_overtaken = True
        self._is_overtaken = True
        alarm.ring()
        self._timer.cancel()
        self._timer = self._loop.call_later(GRACE_S, self._overtake)

    async def first(self) -> Answer | ComponentError:
        """What became of the first call."""
        try:
            return await protected(self._called, self._protection, self._request)
        except ComponentError as error:
            return error
        finally:
            self._first_is_over()

    def _first_is_over(self) -> None:
        """It answered, failed or was stopped: it is not rung any more, and no further copy is opened."""
        self._is_first_over = True
        self._timer.cancel()
        if self._is_overtaken:
            self._called.lane.alarm.took()  # where it answered over it

    async def end_of_copies(self) -> None:
        """Wait until one of them has answered, or all have failed."""
        if self._running and self.winner is None:
            self._waiter = self._loop.create_future()
            await self._waiter

    @property
    def _running(self) -> list[asyncio.Task[Answer]]:
        return [copy.task for copy in self._copies if not copy.task.done()]

    async def stop(self) -> None:
        """Cancel the copies, which lets components clean up; again after a grace, which leaves them behind."""
        while running := self._running:
            for task in running:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait(running, timeout=GRACE_S)
        for copy in self._copies:
            count_usage(self._called, copy.response)

    # settling

    def settle(self, first: Answer | ComponentError) -> Answer:
        """The answer that came first; raises the first call's error where there is none."""
        winner, called = self.winner, self._called
        if winner is not None and winner.evidence is not None:
            called.evidence = {**(called.evidence or {}), **winner.evidence}
        if self._copies:
            self._leave_copies()
            self._note()
        if winner is not None:
            count_usage(called, called.response)  # of the first, where it answered all the same
            called.response, called.is_bare, called.waited_s = winner.response, winner.is_bare, winner.waited_s
            return winner.task.result()
        if isinstance(first, ComponentError):
            raise first
        return first

    def _leave_copies(self) -> None:
        """Nobody waits for them any more: they are cancelled, again after a grace, and what they used counts."""
        for copy in self._copies:
            if copy is self.winner:
                continue
            if copy.task.done():
                count_usage(self._called, copy.response)
                continue
            copy.task.cancel()
            self._loop.call_later(GRACE_S, copy.task.cancel)

    def _note(self) -> None:
        """Put all of them on the step's record, after those of the attempts before: when each began and ended, and what
        those that lost cost."""
        called, winner = self._called, self.winner
        state = called.state
        now = state.now()
        first = _told(called, self._began, now, is_answer=winner is None and called.response is not None)
        copies = (
            _told(copy, copy.started, now if copy.ended is None else copy.ended, is_answer=copy is winner) | BESIDE
            for copy in self._copies
        )
        before = (called.evidence or {}).get(HEDGE)
        called.note(HEDGE, [*(before if isinstance(before, list) else ()), first, *copies])


def _told(call: Called, began: float, ended: float, *, is_answer: bool) -> JsonObject:
    state, op = call.state, call.op
    told: JsonObject = {"started_ms": state.ms(began), "ended_ms": state.ms(ended)}
    if is_answer:
        return {**told, "answered": True}
    usage = None if call.response is None else call.response.usage
    if usage is not None:
        return {**told, "tokens": usage.input_tokens + usage.output_tokens, "cost": usage.cost}
    if op.estimate_tokens or op.estimate_cost:
        return {**told, "tokens": op.estimate_tokens, "cost": op.estimate_cost, "estimated": True}
    return told
