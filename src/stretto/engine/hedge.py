"""A hedge: a second call of the same where the first takes longer than most; the first answer is taken.

Dean and Barroso, "The Tail at Scale" (CACM 56(2), 2013): made again once the 95th percentile has passed, one call of
twenty costs a second one, and the slowest of a thousand is done in a part of its time. Only what is harmless to repeat
is made again; each copy takes one call from the quota of retries, and those that lose are cancelled.
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
from stretto.types.enums import Effect
from stretto.types.errors import ComponentError
from stretto.types.json import JsonObject
from stretto.types.messages import Request
from stretto.types.protection import HedgeRule

USUAL: Final = 0.95
"""The part of the calls that are done before a copy is made, where the rule names no time: the paper's."""

Answer: TypeAlias = tuple[bytes, JsonObject]


def is_hedged(called: Called, protection: Protection, rule: HedgeRule) -> bool:
    """Whether this attempt may be made twice: it is harmless, it is known when, and no breaker tries its component."""
    if called.effect is Effect.WRITE or _after_s(protection, rule) is None:
        return False
    return protection.breaker is None or protection.breaker.state is BreakerState.CLOSED


async def hedged(called: Called, protection: Protection, rule: HedgeRule, request: Request) -> Answer:
    """`attempt.protected`, made again beside itself when it takes longer than most; the first answer is taken.

    A copy that fails leaves the others to answer, unless it is the first and asking again could not help. Raises what
    the first raised when none answered.
    """
    race = _Race(called, protection, request)
    race.open()
    spare, after_s = rule.copies, _after_s(protection, rule)
    try:
        while not race.is_over:
            wait_s = None if after_s is None else race.left_s(after_s)
            if wait_s is not None and wait_s <= 0:
                if spare and may_call_again(called, called.state.now()):
                    protection.hedges += 1
                    called.state.run.retries += 1
                    race.open()
                    spare -= 1
                else:
                    after_s = None
            else:
                await race.wait(wait_s)
    except BaseException:
        await race.stop()
        raise
    return race.settle()


def _after_s(protection: Protection, rule: HedgeRule) -> float | None:
    """How long a call may take before another is made; None while too few were made to tell."""
    return protection.quantile_s(USUAL) if rule.after_s is None else rule.after_s


class _Copy(Called):
    """One of the calls that are made side by side, in a task and with an alarm of its own."""

    __slots__ = ("ended", "task")

    task: asyncio.Task[Answer]
    ended: float | None
    """When it was done."""

    @classmethod
    def of(cls, called: Called) -> Self:
        copy = cls(called.state, called.op, called.data, called.path, called.lane, called.simulated)
        copy.encoded, copy.held, copy.before = called.encoded, called.held, called.before
        copy.ended = None
        return copy

    async def make(self, protection: Protection, request: Request) -> Answer:
        self.lane = Lane(self.state.watch.alarm(), self.lane.budget)
        try:
            return await protected(self, protection, request)
        finally:
            self.ended = self.state.now()

    @property
    def error(self) -> BaseException | None:
        """Why it has no answer, once it is done."""
        if self.task.cancelled():
            return cancelled_by_itself(self.name)
        return self.task.exception()


class _Race:
    """The copies of one attempt."""

    __slots__ = ("_called", "_copies", "_protection", "_request")

    def __init__(self, called: Called, protection: Protection, request: Request) -> None:
        self._called = called
        self._protection = protection
        self._request = request
        self._copies: list[_Copy] = []

    def open(self) -> None:
        """Begin a copy. The loop's task factory is not asked, since an eager task could end before it is known."""
        copy = _Copy.of(self._called)
        request = self._request if not self._copies else Request(self._called.decoded_request(), self._request.call)
        copy.task = asyncio.Task(copy.make(self._protection, request), loop=asyncio.get_running_loop())
        self._copies.append(copy)

    @property
    def is_over(self) -> bool:
        """Whether one has answered, all have failed, or the first has in a way that asking again does not change."""
        if any(copy.ended is not None and copy.task.done() and copy.error is None for copy in self._copies):
            return True
        return not self._running or (self._copies[0].task.done() and not _may_pass(self._copies[0].error))

    @property
    def _running(self) -> list[asyncio.Task[Answer]]:
        return [copy.task for copy in self._copies if not copy.task.done()]

    def left_s(self, after_s: float) -> float:
        """Seconds until the copy made last has taken so long. A call that waits for a place is not slow: it has all of
        it before it, since another would wait behind it."""
        entry = self._copies[-1].entry
        began = None if entry is None else entry.began
        return after_s if began is None else began + after_s - self._called.state.now()

    async def wait(self, longest_s: float | None) -> None:
        """Wait until one more is done."""
        await asyncio.wait(self._running, timeout=longest_s, return_when=asyncio.FIRST_COMPLETED)

    async def stop(self) -> None:
        """Cancel all, which lets components clean up; again after a grace, which leaves them behind."""
        while running := self._running:
            for task in running:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait(running, timeout=GRACE_S)
        for copy in self._copies:
            _ = copy.error  # asked for, or asyncio logs that nobody did

    def settle(self) -> Answer:
        """The answer of the first copy that has one; raises what the first copy raised when there is none."""
        answered = [copy for copy in self._copies if copy.task.done() and copy.error is None]
        winner = min(answered, key=lambda copy: copy.ended or 0.0) if answered else self._copies[0]
        called = self._called
        for copy in self._copies:
            if copy is not winner:
                _leave(copy)
        called.response, called.is_bare, called.waited_s = winner.response, winner.is_bare, winner.waited_s
        if len(self._copies) > 1:
            self._note(winner)
        if winner.error is not None:
            raise winner.error
        return winner.task.result()

    def _note(self, winner: _Copy) -> None:
        """Put the copies on the step's record: when each began and ended, and what the cancelled ones cost."""
        state, op = self._called.state, self._called.op
        copies: list[JsonObject] = []
        for copy in self._copies:
            usage = None if copy.response is None else copy.response.usage
            ended = state.now() if copy.ended is None else copy.ended
            told: JsonObject = {"started_ms": state.ms(copy.started), "ended_ms": state.ms(ended)}
            if copy is winner:
                told["answered"] = copy.task.done() and copy.error is None
            elif usage is not None:
                told |= {"tokens": usage.input_tokens + usage.output_tokens, "cost": usage.cost}
            elif op.estimate_tokens or op.estimate_cost:
                told |= {"tokens": op.estimate_tokens, "cost": op.estimate_cost, "estimated": True}
            copies.append(told)
        self._called.note("hedge", list(copies))


def _may_pass(error: BaseException | None) -> bool:
    """Whether the same request might yet be answered."""
    return isinstance(error, ComponentError) and error.retryable


def _leave(copy: _Copy) -> None:
    """Nobody waits for it any more: it is cancelled, again after a grace, and what it used counts."""
    if copy.task.done():
        count_usage(copy)
        return
    copy.task.cancel()
    copy.task.get_loop().call_later(GRACE_S, copy.task.cancel)
    copy.task.add_done_callback(lambda task: task.cancelled() or task.exception())
