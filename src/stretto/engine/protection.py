"""What stands between all runs of a process and one component.

One attempt, from the outside in, and why in this order:

1. **Breaker, first look.** What is known to fail is refused at once, and nothing queues for it.
2. **Bulkhead.** A place, or a wait for one, if the deadline leaves time for it. A call that waits for its next attempt
   holds none.
3. **Breaker again.** It may have opened meanwhile; and the lease of a probe begins when the call is made, not before.
4. **The call**, until its deadline, which counts from before the wait. How it ends is told to both.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from stretto.engine.breaker import Breaker, BreakerState, Permit
from stretto.engine.bulkhead import Bulkhead, Slot
from stretto.engine.limit import FixedLimit, Gradient2
from stretto.engine.quota import RetryQuota
from stretto.plan.model import ProtectionRules
from stretto.types.errors import BreakerOpenError, Code, ComponentError, ContractError, StrettoError
from stretto.types.protection import BulkheadRule

COMPONENTS_FAULT: Final = frozenset(
    {
        Code.DEADLINE_EXCEEDED,
        Code.UNAVAILABLE,
        Code.INTERNAL,
        Code.UNKNOWN,
        Code.RESOURCE_EXHAUSTED,
        Code.DATA_LOSS,
    }
)
"""Codes that say something of the component. All others say something of the request, and of who made it."""


class ProtectionStats(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the calls of one component since the process began."""

    calls: int
    """Made by steps and by other components; retries are not counted."""
    attempts: int
    """That reached the component."""
    retries: int
    retries_refused: int
    """Not made, because the quota was used up."""
    shed: int
    """Refused by the bulkhead, or that waited there for too long."""
    refused: int
    """Refused by the open breaker."""
    in_flight: int
    waiting: int
    state: BreakerState | None
    """Of the breaker; None without one."""
    limit: int | None
    """Of the bulkhead, as it stands; None without one."""

    @property
    def amplification(self) -> float:
        """Attempts for each call: 1 when nothing is tried again."""
        return self.attempts / self.calls if self.calls else 0.0


class Protection:
    """One component's breaker, bulkhead and quota."""

    def __init__(self, component: str, rules: ProtectionRules) -> None:
        self.component = component
        self.rules = rules
        self.quota = RetryQuota(rules.quota)
        self.breaker = None if rules.breaker is None else Breaker(rules.breaker)
        self.bulkhead = None if rules.bulkhead is None else _bulkhead(component, rules.bulkhead)
        self.calls = self.attempts = self.retries = self.retries_refused = self.shed = self.refused = self.in_flight = 0

    def called(self, now: float) -> None:
        """Count a call, before its first attempt."""
        self.calls += 1
        self.quota.deposit(now)

    def may_retry(self, now: float, take: Callable[[], bool]) -> bool:
        """Take a retry from the quota and, with `take`, from the run's budget; from none when one of them has none."""
        if not self.quota.take(now):
            self.retries_refused += 1
            return False
        if not take():
            self.quota.give_back()
            return False
        self.retries += 1
        return True

    async def enter(self, now: Callable[[], float], deadline: float | None, priority: int) -> "Entry":
        """Wait until the component may be asked.

        Raises BreakerOpenError, or ComponentError (resource_exhausted) when there is no place, or not in time.
        """
        breaker, slot, permit = self.breaker, None, None
        if breaker is not None and breaker.state is not BreakerState.CLOSED and breaker.retry_at(now()) > now():
            raise self._refused(breaker, now())
        if self.bulkhead is not None:
            try:
                slot = await self.bulkhead.enter(now, deadline, priority)
            except ComponentError:
                self.shed += 1
                raise
        began = now()
        if breaker is not None:
            permit = breaker.permit(began, deadline)
            if permit is None:
                if slot is not None:
                    slot.leave(began, 0.0, failed=True)
                raise self._refused(breaker, began)
        self.attempts += 1
        self.in_flight += 1
        return Entry(self, began, slot, permit)

    def waited_too_long(self) -> ComponentError:
        """The error of a call whose deadline came while it waited for a place."""
        self.shed += 1
        return ComponentError(
            f"component '{self.component}' had no place for this call before its deadline; call it less, give the step "
            "a higher priority, or raise the limit of its bulkhead",
            Code.RESOURCE_EXHAUSTED,
            sent=False,
        )

    @property
    def stats(self) -> ProtectionStats:
        """What became of its calls so far."""
        bulkhead = self.bulkhead
        return ProtectionStats(
            calls=self.calls,
            attempts=self.attempts,
            retries=self.retries,
            retries_refused=self.retries_refused,
            shed=self.shed,
            refused=self.refused,
            in_flight=self.in_flight,
            waiting=0 if bulkhead is None else bulkhead.waiting,
            limit=None if bulkhead is None else bulkhead.limit.value,
            state=None if self.breaker is None else self.breaker.state,
        )

    def _refused(self, breaker: Breaker, now: float) -> BreakerOpenError:
        self.refused += 1
        tally, wait_s = breaker.tally(now), breaker.retry_at(now) - now
        return BreakerOpenError(
            f"component '{self.component}' is not asked: of its last {tally.calls} calls {tally.failed} failed and "
            f"{tally.slow} were slow, so its breaker is {breaker.state.value}; it is tried again in {wait_s:.3g} s",
            retry_after_s=wait_s,
        )


class Entry:
    """One attempt under way at the component. It is left once, however it ends."""

    __slots__ = ("_permit", "_protection", "_slot", "began")

    def __init__(self, protection: Protection, began: float, slot: Slot | None, permit: Permit | None) -> None:
        self._protection: Protection | None = protection
        self.began = began
        """When the component was asked, event-loop time: what came before was waiting."""
        self._slot = slot
        self._permit = permit

    def leave(self, now: float, error: BaseException | None) -> None:
        """Tell how the attempt ended: with an answer, with an error, or given up by who made it."""
        protection, self._protection = self._protection, None
        if protection is None:
            return
        took_s = max(0.0, now - self.began)
        is_failure = is_components_fault(error)
        if self._slot is not None:
            self._slot.leave(now, took_s, failed=error is not None)
        if self._permit is not None:
            if error is None or isinstance(error, StrettoError):
                self._permit.done(now, is_failure, took_s)
            else:
                self._permit.drop(now)
        protection.in_flight -= 1


def is_components_fault(error: BaseException | None) -> bool:
    """Whether an attempt that ended so says that the component is failing."""
    return isinstance(error, ContractError) or (
        isinstance(error, ComponentError) and error.sent and error.rpc_code in COMPONENTS_FAULT
    )


def _bulkhead(component: str, rule: BulkheadRule) -> Bulkhead:
    limit = Gradient2(least=rule.min_limit, most=rule.max_limit) if rule.limit is None else FixedLimit(rule.limit)
    return Bulkhead(limit, rule.queue, name=component)


class Protections:
    """Of all components that one engine reaches: what was learnt of one by a run holds for the next."""

    def __init__(self) -> None:
        self._known: dict[str, Protection] = {}

    def of(self, rules: Mapping[str, ProtectionRules]) -> dict[str, Protection]:
        """Those of a plan, by component; made when they are first asked for."""
        return {name: self._get(name, each) for name, each in rules.items()} if rules else _NONE

    @property
    def stats(self) -> dict[str, ProtectionStats]:
        """By component."""
        return {name: protection.stats for name, protection in self._known.items()}

    def _get(self, name: str, rules: ProtectionRules) -> Protection:
        known = self._known.get(name)
        if known is None or (known.rules is not rules and known.rules != rules):
            known = self._known[name] = Protection(name, rules)
        return known


_NONE: Final[dict[str, Protection]] = {}
