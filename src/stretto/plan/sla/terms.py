"""What is known of a step's calls: from the contract, from its time-out and its rules."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from stretto.plan.model import AnyOp, Block, CallOp, LoopOp, MapOp, Plan, Retry
from stretto.plan.sla.call import FIXED, TAIL, Stand, Terms
from stretto.plan.sla.promise import NOTHING, Promise
from stretto.types.protection import QuotaRule
from stretto.types.protocols import RetryRule

_UNKNOWN: Final = Stand(success=None, p95_s=None, worst_s=None)


Retold: TypeAlias = Callable[[Terms], Terms]
"""Takes what is known of one call, and gives what is to be counted in its place."""


def as_told(terms: Terms) -> Terms:
    """What is known, as it is."""
    return terms


class Known:
    """Looks up what is known of the calls of one workflow."""

    def __init__(self, plan: Plan, retold: Retold = as_told) -> None:
        self._promises = plan.promises
        self._protections = plan.protections
        self._retries = plan.budget.retries
        """That one run may make in all; None is no limit."""
        self._retold = retold
        self._stands: dict[str, Stand] = {}
        """What is promised of a component by the steps that call it, the worst of it, for those whose fallback it is.

        A fallback has no time-out, so that of another step says nothing of it.
        """
        for op in calls_in(plan.body):
            promise = plan.promises.get(op.name)
            if promise is not None:
                told = retold(_promised(op.name, promise))
                stand = Stand(success=told.success, p95_s=told.p95_s, worst_s=told.worst_s)
                self._stands[op.component_name] = _worse(stand, self._stands.get(op.component_name, stand))

    def terms(self, op: CallOp) -> Terms:
        """Of a step that calls a component; `op` has the step's name."""
        promise = self._promises.get(op.name, NOTHING)
        return replace(
            self._own(op),
            waits_s=self._waits(op.retry),
            ratio=self._ratio(op),
            max_fallback=promise.max_fallback,
            stand=self._stand(op),
        )

    def _own(self, op: CallOp) -> Terms:
        told = _promised(op.name, self._promises.get(op.name, NOTHING))
        worst_s = of_both(min, told.worst_s, op.timeout_s)
        p95_s = None if told.p95_s is None else of_both(min, told.p95_s, worst_s)  # a time-out alone promises none
        return self._retold(replace(told, worst_s=worst_s, p95_s=p95_s))

    def _waits(self, retry: RetryRule) -> tuple[float, ...]:
        count = retry.max_attempts - 1
        if self._retries is not None:
            count = min(count, self._retries)
        return longest_waits_s(retry)[:count]

    def _ratio(self, op: CallOp) -> float:
        """Retries that the quota leaves for each call: copies of hedged calls take from it too."""
        rules = self._protections.get(op.component_name)
        quota = None if rules is None else rules.quota
        return max(0.0, (quota or QuotaRule()).ratio - self._hedged(op))

    def _hedged(self, op: CallOp) -> float:
        """Copies for each call, at most: 95 of 100 calls have none where that waits for their 95th percentile."""
        if op.hedge is None:
            return 0.0
        p95_s, after_s = self._own(op).p95_s, op.hedge.after_s
        is_rare = after_s is None or (p95_s is not None and after_s >= p95_s)
        return op.hedge.copies * (TAIL if is_rare else 1.0)

    def _stand(self, op: CallOp) -> Stand | None:
        fallback = op.fallback
        if fallback is None:
            return None
        return FIXED if fallback.op is None else self._stands.get(fallback.op.component_name, _UNKNOWN)


def _promised(name: str, promise: Promise) -> Terms:
    p95_s = promise.max_s if promise.p95_s is None else promise.p95_s
    return Terms(name=name, p95_s=p95_s, worst_s=promise.max_s, success=promise.min_success)


def _worse(one: Stand, other: Stand) -> Stand:
    return Stand(
        success=of_both(min, one.success, other.success),
        p95_s=of_both(max, one.p95_s, other.p95_s),
        worst_s=of_both(max, one.worst_s, other.worst_s),
    )


def of_both(which: Callable[[float, float], float], one: float | None, other: float | None) -> float | None:
    """Of two figures where both are there, else the one that is."""
    return one if other is None else other if one is None else which(one, other)


def longest_waits_s(retry: RetryRule) -> tuple[float, ...]:
    """Seconds before each retry at most; a rule of one's own that does not say so is counted as waiting for nothing."""
    count = retry.max_attempts - 1
    if not isinstance(retry, Retry):
        return (0.0,) * count
    return tuple(retry.longest_wait_s(attempt) for attempt in range(1, count + 1))


def calls_in(block: Block) -> Iterator[CallOp]:
    """The calls of a block and of the bodies in it, each with its step's name; sub-workflows are left out."""
    for op in block.ops:
        yield from _calls_of(op)


def sole_call(op: AnyOp) -> CallOp | None:
    """The one component that a map without steps of its own calls, by the map's name."""
    only = op.sole_call if isinstance(op, MapOp) else None
    return None if only is None else replace(only, name=op.name)


def _calls_of(op: AnyOp) -> Iterator[CallOp]:
    if isinstance(op, CallOp):
        yield op
    elif isinstance(op, MapOp | LoopOp):
        sole = sole_call(op)
        if sole is not None:
            yield sole
        else:
            yield from calls_in(op.body)
