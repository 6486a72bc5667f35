"""What stands between all runs of a workflow and one component.

One attempt, from the outside in, and why in this order:

1. **Breaker, first look.** What is known to fail is refused at once, and nothing queues for it; so is a call that its
   step's fallback stands in for, after failures in a row.
2. **Bulkhead.** A place, or a wait for one, if the deadline leaves time for it. A call that waits for its next attempt
   holds none.
3. **Breaker again.** It may have opened meanwhile; and the lease of a probe begins when the call is made, not before.
4. **The call**, until its deadline, which counts from before the wait. How it ends is told to both.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec

from stretto.engine.blame import is_components_fault, is_late, says_something
from stretto.engine.breaker import Breaker, BreakerState, Permit
from stretto.engine.bulkhead import Bulkhead, Slot
from stretto.engine.latency import Latency, Recent
from stretto.engine.limit import limit_of, retuned_limit
from stretto.engine.load import Load
from stretto.engine.protection_stats import ProtectionStats
from stretto.engine.quota import RetryQuota
from stretto.engine.streak import Streak, StreakState
from stretto.plan.model import CallOp, ProtectionRules
from stretto.types.errors import BreakerOpenError, ContractError, ShedError
from stretto.types.protection import BulkheadRule, QuotaRule, StreakRule

_CLOSED, _TRYING = BreakerState.CLOSED, StreakState.TRYING  # quicker, on each call

_log: Final = logging.getLogger(__name__)


class Protection:
    """One component's breaker, bulkhead and quota, as the runs of one event loop share them."""

    def __init__(
        self,
        component: str,
        rules: ProtectionRules,
        loop: asyncio.AbstractEventLoop,
        streak: StreakRule | None = None,
    ) -> None:
        self.component = component
        self.streak = None if streak is None else Streak(streak)
        """Obeyed by steps that have a fallback."""
        if self.streak is not None:
            self.streak.on_change = self._tell_streak
        self.loop = loop
        self.seen = loop.time()
        """When a run last began, by the loop's clock."""
        self.quota = RetryQuota(rules.quota or QuotaRule())
        self.breaker = None if rules.breaker is None else Breaker(rules.breaker)
        if self.breaker is not None:
            self.breaker.on_change = self._tell
        self.load = None if rules.breaker is None and rules.bulkhead is None else Load()
        """Whether the component answers later than usual; watched where anything watches over its calls."""
        self._bulkhead_rule = rules.bulkhead
        self.bulkhead = None if rules.bulkhead is None else _bulkhead(component, rules.bulkhead)
        self.latency = None if self.bulkhead is not None else Latency()
        """Service times, where no bulkhead keeps them."""
        self.recent = Recent()
        self.calls = self.attempts = self.retries = self.hedges = self.retries_refused = 0
        self.shed = self.refused = self.in_flight = 0

    def move(self, loop: asyncio.AbstractEventLoop) -> None:
        """Go on in another loop, as the one before has ended, and with it whatever waited or was under way in it."""
        self.loop = loop
        self.in_flight = 0
        if self._bulkhead_rule is not None:
            self.bulkhead = _bulkhead(self.component, self._bulkhead_rule)

    def retune(self, rules: ProtectionRules, streak: StreakRule | None) -> None:
        """Go by other figures from the next call on; what was not declared stays undeclared. From any thread."""
        if rules.quota is not None:
            self.quota.rule = rules.quota
        if self.streak is not None and streak is not None:
            self.streak.rule = streak
        if self.breaker is not None and rules.breaker is not None:
            self.breaker.rule = rules.breaker
        if self.bulkhead is not None and rules.bulkhead is not None and rules.bulkhead != self._bulkhead_rule:
            self._bulkhead_rule = rules.bulkhead
            self.bulkhead.limit = retuned_limit(self.bulkhead.limit, rules.bulkhead)
            self.bulkhead.queue = rules.bulkhead.queue
            if self.bulkhead.waiting:
                with suppress(RuntimeError):  # the loop ended, and with it whoever waited
                    self.loop.call_soon_threadsafe(self._let_in)

    def _let_in(self) -> None:
        """Let in who waits and has room now, in the loop that they wait in: nobody else may come for long."""
        if self.bulkhead is not None:
            self.bulkhead.let_in(self.loop.time())

    def called(self, now: float) -> None:
        """Count a call, before its first attempt."""
        self.calls += 1
        self.quota.deposit(now)

    def take_retry(self, now: float) -> bool:
        """Take a retry from the quota; False when none is left."""
        if not self.quota.take(now):
            self.retries_refused += 1
            return False
        self.retries += 1
        return True

    def give_back_retry(self) -> None:
        """One that was taken is not made."""
        self.quota.give_back()
        self.retries -= 1

    def quantile_s(self, q: float) -> float | None:
        """The service time, seconds, that a part `q` of its calls of late kept to; None while too few were made."""
        latency = self.latency if self.bulkhead is None else self.bulkhead.latency
        return None if latency is None else latency.quantile(q)

    def enter_now(self, now: float, op: CallOp) -> "Entry | None":
        """Leave to ask at once, as most have; None where it is to be waited for or refused: `enter` does that."""
        breaker, streak, slot = self.breaker, self.streak, None
        if breaker is not None and breaker.state is not _CLOSED:
            return None
        if streak is not None and streak.state is not _TRYING and op.fallback is not None:
            return None
        if self.bulkhead is not None:
            slot = self.bulkhead.enter_now()
            if slot is None:
                return None
        self.in_flight += 1
        return Entry(self, slot, None if breaker is None else breaker.permit(now))

    async def enter(self, now: Callable[[], float], deadline: float | None, op: CallOp) -> "Entry":
        """Wait until the component may be asked; raises BreakerOpenError or ShedError when it may not be."""
        breaker, slot, permit, trial = self.breaker, None, None, 0
        streak = self.streak if op.fallback is not None else None
        if streak is not None and streak.state is not StreakState.TRYING and streak.retry_at(now()) > now():
            raise self._stood_in(streak, now())
        if breaker is not None and breaker.state is not BreakerState.CLOSED and breaker.retry_at(now()) > now():
            raise self._refused(breaker, now())
        if self.bulkhead is not None:
            try:
                slot = await self.bulkhead.enter(now, deadline, op.priority)
            except ShedError:
                self.shed += 1
                raise
        try:
            if breaker is not None:
                permit = breaker.permit(now(), op.timeout_s)
                if permit is None:
                    raise self._refused(breaker, now())
            if streak is not None and streak.state is not StreakState.TRYING:
                trial = self._trial(streak, now(), op.timeout_s)
        except BreakerOpenError:
            if slot is not None:
                slot.leave(now(), 0.0, failed=True)
            if permit is not None:
                permit.drop(now())
            raise
        self.in_flight += 1
        return Entry(self, slot, permit, trial)

    def _trial(self, streak: Streak, now: float, timeout_s: float | None) -> int:
        """Leave to see whether it is well again; raises BreakerOpenError while another call sees to that."""
        phase = streak.enter(now, 0.0 if timeout_s is None else timeout_s)
        if phase is None:
            raise self._stood_in(streak, now)
        return phase

    def _stood_in(self, streak: Streak, now: float) -> BreakerOpenError:
        why = f"{streak.failures} calls in a row failed, the last so: {streak.why}"
        return self._not_asked(why, streak.retry_at(now) - now)

    def heard(self, trial: int, now: float, error: BaseException | None, *, is_over: bool) -> None:
        """How an attempt ended; `trial` is what it was let through with, `is_over` whether it was made at all.

        Of calls that fail outside a trial `Protected.failed` is told, when nothing more is tried.
        """
        streak = self.streak
        if streak is None:
            return
        if is_over and error is None:
            if streak.failures:
                streak.succeeded(trial or streak.phase)
        elif trial and is_over and is_components_fault(error):
            streak.failed(trial, now, str(error))
        elif trial:
            streak.dropped(trial, now)

    def waited_too_long(self) -> ShedError:
        """The error of a call whose deadline came while it waited for a place."""
        self.shed += 1
        return ShedError(
            f"component '{self.component}' had no place for this call before its deadline; call it less, give the step "
            "a higher priority, or raise the limit of its bulkhead"
        )

    @property
    def stats(self) -> ProtectionStats:
        """What became of its calls so far."""
        bulkhead = self.bulkhead
        return ProtectionStats(
            calls=self.calls,
            attempts=self.attempts,
            retries=self.retries,
            hedges=self.hedges,
            retries_refused=self.retries_refused,
            shed=self.shed,
            refused=self.refused,
            in_flight=self.in_flight,
            waiting=0 if bulkhead is None else bulkhead.waiting,
            limit=None if bulkhead is None else bulkhead.limit.value,
            latency_ms=self.recent.median_ms(self.loop.time()),
            retries_left=self.quota.left(self.seen),
            tally=None if self.breaker is None else self.breaker.tally(self.seen),
            state=None if self.breaker is None else self.breaker.state,
        )

    def _tell_streak(self, was: StreakState, is_now: StreakState) -> None:
        streak = self.streak
        if streak is not None and is_now is StreakState.STICKY and was is StreakState.TRYING:
            _log.warning(
                "component '%s': %d calls in a row failed, the last so: %s; the fallbacks of its steps answer",
                self.component,
                streak.failures,
                streak.why,
            )
        elif is_now is StreakState.TRYING:
            _log.info("component '%s' answers again", self.component)

    def _tell(self, was: BreakerState, is_now: BreakerState, _at: float) -> None:
        breaker = self.breaker
        if breaker is None or is_now is not BreakerState.OPEN:
            _log.info("the breaker of component '%s' was %s and is %s", self.component, was.value, is_now.value)
            return
        _log.warning("the breaker of component '%s' opened: %s", self.component, breaker.opened_for)

    def _refused(self, breaker: Breaker, now: float) -> BreakerOpenError:
        why = f"{breaker.opened_for}, so its breaker is {breaker.state.value.replace('_', ' ')}"
        return self._not_asked(why, breaker.retry_at(now) - now)

    def _not_asked(self, why: str, wait_s: float) -> BreakerOpenError:
        self.refused += 1
        return BreakerOpenError(
            f"component '{self.component}' is not asked: {why}; it is tried again in {wait_s:.3g} s",
            retry_after_s=wait_s,
        )


class Entry(msgspec.Struct, eq=False):
    """Leave for one attempt. What the component itself did is told by `begin` and `end`, around the asking alone: what
    comes of its answer afterwards, as when a write in doubt is settled, says nothing of it."""

    _protection: Protection | None
    _slot: Slot | None
    _permit: Permit | None
    _trial: int = 0
    began: float | None = None
    """When the component was asked; None until then."""
    is_overtaken: bool = False
    """Whether another call of the same answered first, and this one was stopped for it."""
    _ended: float | None = None
    _error: BaseException | None = None
    _tokens: int = 0

    @property
    def holds_place(self) -> bool:
        """Whether it holds a place in a bulkhead."""
        return self._slot is not None

    def begin(self, now: float) -> None:
        """The component is asked."""
        self.began = now
        if self._protection is not None:
            self._protection.attempts += 1

    def end(self, now: float, error: BaseException | None, tokens: int = 0) -> None:
        """It answered, and wrote so many tokens as far as that is known, or raised."""
        self._ended = now
        self._error = asyncio.CancelledError() if self.is_overtaken and error is not None else error
        self._tokens = tokens

    def leave(self, now: float, raised: BaseException | None) -> None:
        """The attempt is over; only the first time counts. An answer that broke its contract is a failure."""
        protection, self._protection = self._protection, None
        if protection is None:
            return
        protection.in_flight -= 1
        began, ended = self.began, self._ended
        error = raised if isinstance(raised, ContractError) else self._error
        took_s = 0.0 if began is None else max(0.0, (now if ended is None else ended) - began)
        failed = ended is None or error is not None
        if not failed or is_late(error):
            protection.recent.add(now, took_s)
        if self._slot is not None:
            self._slot.leave(now, took_s, failed=failed, tokens=self._tokens)
        elif protection.latency is not None:
            protection.latency.note(took_s, failed=failed)
        if protection.streak is not None:
            protection.heard(self._trial, now, error, is_over=ended is not None)
        if protection.load is not None and began is not None:
            protection.load.note(now, took_s, failed=failed, tokens=self._tokens)
        if self._permit is not None:
            if ended is None or not says_something(error):
                self._permit.drop(now)
            else:
                self._permit.done(now, is_components_fault(error), took_s)


def _bulkhead(component: str, rule: BulkheadRule) -> Bulkhead:
    return Bulkhead(limit_of(rule), rule.queue, name=component)
