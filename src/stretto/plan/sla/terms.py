"""What is known of a step's calls: from the contract, from its time-out and its rules."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from stretto.plan.model import AnyOp, Block, CallOp, LoopOp, MapOp, ProtectionRules, Retry
from stretto.plan.sla.call import FIXED, Stand, Terms
from stretto.plan.sla.promise import NOTHING, Promise
from stretto.types.protection import Jitter, QuotaRule
from stretto.types.protocols import RetryRule

_UNKNOWN: Final = Stand(success=None, p95_s=None, worst_s=None)


class Known:
    """Looks up what is known of the calls of one workflow."""

    def __init__(
        self,
        body: Block,
        promises: Mapping[str, Promise],
        protections: Mapping[str, ProtectionRules],
        retries: int | None,
    ) -> None:
        self._promises = promises
        self._protections = protections
        self._retries = retries
        """That one run may make in all; None is no limit."""
        self._stands: dict[str, Stand] = {}
        """What is known of a component by the steps that call it, for those whose fallback it is."""
        for op in calls_in(body):
            if op.name in promises:
                known = self._own(op)
                stand = Stand(success=known.success, p95_s=known.p95_s, worst_s=known.worst_s)
                self._stands.setdefault(op.component_name, stand)

    def terms(self, op: CallOp) -> Terms:
        """Of a step that calls a component; `op` has the step's name."""
        promise = self._promises.get(op.name, NOTHING)
        return replace(
            self._own(op),
            waits_s=self._waits(op.retry),
            ratio=self._ratio(op.component_name),
            max_fallback=promise.max_fallback,
            stand=self._stand(op),
        )

    def _own(self, op: CallOp) -> Terms:
        promise = self._promises.get(op.name, NOTHING)
        limits = [limit for limit in (promise.max_s, op.timeout_s) if limit is not None]
        worst_s = min(limits, default=None)
        p95_s = promise.max_s if promise.p95_s is None else promise.p95_s
        return Terms(
            name=op.name,
            p95_s=p95_s if p95_s is None or worst_s is None else min(p95_s, worst_s),  # a time-out alone promises none
            worst_s=worst_s,
            success=promise.min_success,
        )

    def _waits(self, retry: RetryRule) -> tuple[float, ...]:
        count = retry.max_attempts - 1
        if self._retries is not None:
            count = min(count, self._retries)
        return longest_waits_s(retry)[:count]

    def _ratio(self, component: str) -> float:
        rules = self._protections.get(component)
        quota = None if rules is None else rules.quota
        return (quota or QuotaRule()).ratio

    def _stand(self, op: CallOp) -> Stand | None:
        fallback = op.fallback
        if fallback is None:
            return None
        return FIXED if fallback.op is None else self._stands.get(fallback.op.component_name, _UNKNOWN)


def longest_waits_s(retry: RetryRule) -> tuple[float, ...]:
    """Seconds before each retry at most; a rule of one's own that does not say so is counted as waiting for nothing."""
    count = retry.max_attempts - 1
    if not isinstance(retry, Retry):
        return (0.0,) * count
    growth = 3.0 if retry.jitter is Jitter.DECORRELATED else 2.0  # as `Retry` has it
    return tuple(min(retry.cap_s, retry.base_s * growth**number) for number in range(count))


def calls_in(block: Block) -> Iterator[CallOp]:
    """The calls of a block and of the bodies in it, each with its step's name; sub-workflows are left out."""
    for op in block.ops:
        yield from _calls_of(op)


def sole_call(op: AnyOp) -> CallOp | None:
    """The one component that a map calls when its body has no steps of its own, by the map's name."""
    if not isinstance(op, MapOp):
        return None
    only = op.body.ops[0] if op.body.ops else None
    return replace(only, name=op.name) if isinstance(only, CallOp) and not only.name else None


def _calls_of(op: AnyOp) -> Iterator[CallOp]:
    if isinstance(op, CallOp):
        yield op
    elif isinstance(op, MapOp | LoopOp):
        sole = sole_call(op)
        if sole is not None:
            yield sole
        else:
            yield from calls_in(op.body)
