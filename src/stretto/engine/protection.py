"""What stands between all runs of a workflow and one component.

One attempt, from the outside in, and why in this order:

1. **Breaker, first look.** What is known to fail is refused at once, and nothing queues for it.
2. **Bulkhead.** A place, or a wait for one, if the deadline leaves time for it. A call that waits for its next attempt
   holds none.
3. **Breaker again.** It may have opened meanwhile; and the lease of a probe begins when the call is made, not before.
4. **The call**, until its deadline, which counts from before the wait. How it ends is told to both.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Final, Self, TypeAlias

import msgspec

from stretto.engine.breaker import Breaker, BreakerState, Permit, Tally
from stretto.engine.bulkhead import Bulkhead, Slot
from stretto.engine.latency import Latency
from stretto.engine.limit import limit_of, retuned_limit
from stretto.engine.quota import RetryQuota
from stretto.engine.streak import Streak, StreakState
from stretto.plan.model import CallOp, Plan, ProtectionRules
from stretto.record.model import ErrorInfo
from stretto.types.errors import BreakerOpenError, Code, ComponentError, ContractError, ShedError
from stretto.types.ids import Digest
from stretto.types.protection import BulkheadRule, QuotaRule, StreakRule

_log: Final = logging.getLogger(__name__)

COMPONENTS_FAULT: Final = frozenset(
    {
        Code.DEADLINE_EXCEEDED,
        Code.UNAVAILABLE,
        Code.INTERNAL,
        Code.UNKNOWN,
        Code.RESOURCE_EXHAUSTED,
        Code.DATA_LOSS,
        Code.CANCELLED,
    }
)
"""Codes that say something of the component. All others say something of the request, and of who made it."""


class ProtectionStats(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the calls of one component since its workflow was loaded."""

    calls: int
    """Made by steps and by other components; retries are not counted."""
    attempts: int
    """That reached the component."""
    retries: int
    """Hedges too."""
    hedges: int
    """Made beside a call that took long."""
    retries_refused: int
    """Not made, because the quota was used up."""
    shed: int
    """Refused by the bulkhead, or that waited there for too long."""
    refused: int
    """Refused by the open breaker."""
    in_flight: int
    waiting: int
    retries_left: int
    """In the quota."""
    tally: Tally | None
    """The calls in the breaker's window; None without one."""
    state: BreakerState | None
    """Of the breaker; None without one."""
    limit: int | None
    """Of the bulkhead, as it stands; None without one."""

    def added_to(self, other: Self | None) -> Self:
        """The sum of both; what is a state is this one's."""
        if other is None:
            return self
        counted = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        return msgspec.structs.replace(self, **counted)

    @property
    def amplification(self) -> float:
        """Attempts for each call: 1 when nothing is tried again."""
        return self.attempts / self.calls if self.calls else 0.0


_COUNTS: Final = tuple(name for name in ProtectionStats.__struct_fields__ if name not in ("tally", "state", "limit"))


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
        self._bulkhead_rule = rules.bulkhead
        self.bulkhead = None if rules.bulkhead is None else _bulkhead(component, rules.bulkhead)
        self.latency = None if self.bulkhead is not None else Latency()
        """Service times, where no bulkhead keeps them."""
        self.calls = self.attempts = self.retries = self.hedges = self.retries_refused = 0
        self.shed = self.refused = self.in_flight = 0

    def move(self, loop: asyncio.AbstractEventLoop) -> None:
        """Go on in another loop, as the one before has ended, and with it whatever waited or was under way in it."""
        self.loop = loop
        self.in_flight = 0
        if self._bulkhead_rule is not None:
            self.bulkhead = _bulkhead(self.component, self._bulkhead_rule)

    def retune(self, rules: ProtectionRules) -> None:
        """Go by other figures from the next call on; what was not declared stays undeclared."""
        if rules.quota is not None:
            self.quota.rule = rules.quota
        if self.breaker is not None and rules.breaker is not None:
            self.breaker.rule = rules.breaker
        if self.bulkhead is not None and rules.bulkhead is not None and rules.bulkhead != self._bulkhead_rule:
            self._bulkhead_rule = rules.bulkhead
            self.bulkhead.limit = retuned_limit(self.bulkhead.limit, rules.bulkhead)
            self.bulkhead.queue = rules.bulkhead.queue

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

    async def enter(self, now: Callable[[], float], deadline: float | None, op: CallOp) -> "Entry":
        """Wait until the component may be asked; raises BreakerOpenError or ShedError when it may not be."""
        breaker, slot, permit = self.breaker, None, None
        trial = 0
        if self.streak is not None and self.streak.state is not StreakState.TRYING and op.fallback is not None:
            trial = self._trial(self.streak, now(), op.timeout_s)
        if breaker is not None and breaker.state is not BreakerState.CLOSED and breaker.retry_at(now()) > now():
            raise self._refused(breaker, now())
        if self.bulkhead is not None:
            try:
                slot = await self.bulkhead.enter(now, deadline, op.priority)
            except ShedError:
                self.shed += 1
                raise
        if breaker is not None:
            permit = breaker.permit(now(), op.timeout_s)
            if permit is None:
                if slot is not None:
                    slot.leave(now(), 0.0, failed=True)
                raise self._refused(breaker, now())
        self.in_flight += 1
        return Entry(self, slot, permit, trial)

    def _trial(self, streak: Streak, now: float, timeout_s: float | None) -> int:
        """Leave to see whether it is well again; raises BreakerOpenError while others see, or it is too early."""
        phase = streak.enter(now, 0.0 if timeout_s is None else timeout_s)
        if phase is not None:
            return phase
        self.refused += 1
        wait_s = streak.retry_at(now) - now
        raise BreakerOpenError(
            f"component '{self.component}' is not asked: {streak.failures} calls in a row failed, the last so: "
            f"{streak.why}; it is tried again in {wait_s:.3g} s",
            retry_after_s=wait_s,
        )

    def heard(self, trial: int, now: float, error: BaseException | None, *, is_over: bool) -> None:
        """How an attempt ended; `trial` is what it was let through with, `is_over` whether it was made at all.

        Of calls that fail outside a trial `Guards.failed` is told, when nothing more is tried.
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
        self.refused += 1
        wait_s = breaker.retry_at(now) - now
        return BreakerOpenError(
            f"component '{self.component}' is not asked: {breaker.opened_for}, so its breaker is "
            f"{breaker.state.value.replace('_', ' ')}; it is tried again in {wait_s:.3g} s",
            retry_after_s=wait_s,
        )


class Entry:
    """Leave for one attempt. What the component itself did is told by `begin` and `end`, around the asking alone: what
    comes of its answer afterwards, as when a write in doubt is settled, says nothing of it."""

    __slots__ = ("_ended", "_error", "_permit", "_protection", "_slot", "_tokens", "_trial", "began")

    def __init__(self, protection: Protection, slot: Slot | None, permit: Permit | None, trial: int = 0) -> None:
        self._trial = trial
        self._protection: Protection | None = protection
        self._slot = slot
        self._permit = permit
        self.began: float | None = None
        """When the component was asked; None until then."""
        self._ended: float | None = None
        self._error: BaseException | None = None
        self._tokens = 0

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
        self._error = error
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
        if self._slot is not None:
            self._slot.leave(now, took_s, failed=failed, tokens=self._tokens)
        elif protection.latency is not None:
            protection.latency.note(took_s, failed=failed)
        if protection.streak is not None:
            protection.heard(self._trial, now, error, is_over=ended is not None)
        if self._permit is not None:
            if ended is None or not says_something(error):
                self._permit.drop(now)
            else:
                self._permit.done(now, is_components_fault(error), took_s)


def says_something(error: BaseException | None) -> bool:
    """Whether a call that ended so is one by which a component can be judged: not when it was stopped from outside, or
    when what it called in turn was refused."""
    return error is None or (isinstance(error, ComponentError) and not isinstance(error, BreakerOpenError | ShedError))


def is_components_fault(error: BaseException | None) -> bool:
    """Whether a call that ended so says that the component is failing."""
    return isinstance(error, ContractError) or (
        isinstance(error, ComponentError) and error.rpc_code in COMPONENTS_FAULT
    )


def _bulkhead(component: str, rule: BulkheadRule) -> Bulkhead:
    return Bulkhead(limit_of(rule), rule.queue, name=component)


class Guards(dict[str, Protection]):
    """Of one plan's components, by name, those that a call must pass.

    What only failures in a row protect comes in with the first of them: a component that never failed costs nothing.
    """

    __slots__ = ("_resting",)

    def __init__(self, guarding: Mapping[str, Protection], resting: Mapping[str, Protection]) -> None:
        super().__init__(guarding)
        self._resting = resting

    def failed(self, component: str, now: float, error: ErrorInfo) -> None:
        """A call of a component that was asked failed, and nothing more is tried."""
        protection = self.get(component) or self._resting.get(component)
        if protection is None or protection.streak is None or not _tells_of_fault(error):
            return
        self[component] = protection
        if protection.streak.state is StreakState.TRYING:
            protection.streak.failed(protection.streak.phase, now, error.message)


def _tells_of_fault(error: ErrorInfo) -> bool:
    """`is_components_fault` of an error as it is recorded."""
    if error.code in (BreakerOpenError.code, ShedError.code):
        return False
    return error.code == ContractError.code or error.rpc_code in COMPONENTS_FAULT


class Protections:
    """Of all components that a workflow and those made from it reach: what one run learns of one holds for the next.

    Each event loop that lives has its own, since what waits in one can only be woken in it; one that begins after the
    last has ended goes on with what that one learnt.
    """

    def __init__(self) -> None:
        self._known: dict[_Key, list[Protection]] = {}
        self._lock = threading.Lock()
        self._retuned: Mapping[str, ProtectionRules] = {}
        """By component, what holds in place of the plan's own figures."""
        self._last: tuple[Plan, asyncio.AbstractEventLoop, Guards] | None = None

    def of(self, plan: Plan) -> Guards:
        """Those of a plan's components, by name, in the running event loop; made when they are first asked for."""
        if not plan.protections and not plan.streaks:
            return _NONE
        loop = asyncio.get_running_loop()
        last = self._last
        if last is not None and last[0] is plan and last[1] is loop:
            found = last[2]
        else:
            with self._lock:
                found = self._made(plan, loop)
            self._last = plan, loop, found
        for protection in found.values():
            protection.seen = loop.time()
        return found

    def retune(self, rules: Mapping[str, ProtectionRules]) -> None:
        """Let components be protected by other figures than the plan's, also those met later; from any thread."""
        with self._lock:
            self._retuned = rules
            for (name, _, own, _), protections in self._known.items():
                for protection in protections:
                    protection.retune(rules.get(name, own or ProtectionRules()))

    @property
    def stats(self) -> dict[str, ProtectionStats]:
        """By component, of all event loops together; limit and state are those of the loop that came last."""
        found: dict[str, ProtectionStats] = {}
        for (name, _, rules, _), protections in list(self._known.items()):
            for protection in protections if rules is not None else ():
                found[name] = protection.stats.added_to(found.get(name))
        return found

    @property
    def streaks(self) -> dict[str, Streak]:
        """Failures in a row, by component; of the event loop that came last."""
        known = list(self._known.items())
        return {key[0]: each.streak for key, protections in known for each in protections if each.streak is not None}

    def _made(self, plan: Plan, loop: asyncio.AbstractEventLoop) -> Guards:
        every = {
            name: self._get((name, plan.components[name].card.digest, rules, plan.streaks.get(name)), loop)
            for name in [*plan.protections, *(plan.streaks.keys() - plan.protections.keys())]
            for rules in (plan.protections.get(name),)
        }
        guarding = {
            name: each
            for name, each in every.items()
            if name in plan.protections or (each.streak is not None and each.streak.failures)
        }
        return Guards(guarding, {name: each for name, each in every.items() if name not in guarding})

    def _get(self, key: "_Key", loop: asyncio.AbstractEventLoop) -> Protection:
        known = self._known.setdefault(key, [])
        for protection in known:
            if protection.loop is loop:
                return protection
        for protection in known:
            if protection.loop.is_closed() and protection.seen <= loop.time():  # else it is another clock
                protection.move(loop)
                return protection
        name, _, rules, streak = key
        known[:] = [protection for protection in known if not protection.loop.is_closed()]
        declared = rules or ProtectionRules()
        known.append(Protection(name, declared, loop, streak))
        known[-1].retune(self._retuned.get(name, declared))
        return known[-1]


_Key: TypeAlias = tuple[str, Digest, ProtectionRules | None, StreakRule | None]
"""Name and digest of a component, what was declared to protect it, and when fallbacks stand in for it."""

_NONE: Final = Guards({}, {})
