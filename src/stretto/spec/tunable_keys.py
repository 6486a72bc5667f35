"""Which keys of a step may be given another value while it runs. With `tunable_top_keys` the one table of them.

The keys themselves, with their ranges, units and words, are those of the file. What is no figure of operations, as
which component answers, is not here: it belongs to the version of the workflow that a run is pinned to.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from stretto.spec.durations import render
from stretto.spec.estimate_keys import COST as EXPECTED_COST, TOKENS as EXPECTED_TOKENS
from stretto.spec.hedge_keys import AFTER, COPIES, HEDGE, USUAL
from stretto.spec.model import DEFAULT_MAX_PARALLEL, RetrySpec
from stretto.spec.protection_keys import (
    BREAKER,
    BREAKER_WINDOW,
    BULKHEAD,
    FAILURE_RATE,
    FLOOR,
    LEASE,
    LIMIT,
    MAX_LIMIT,
    MAX_OPEN,
    MIN_CALLS,
    MIN_LIMIT,
    OPEN_FOR,
    PRIORITY,
    PROBES,
    QUEUE,
    QUOTA,
    QUOTA_WINDOW,
    RATIO,
    SLOW_AFTER,
    SLOW_RATE,
    WINDOW_CALLS,
)
from stretto.spec.records import Key
from stretto.spec.resilience_keys import (
    ATTEMPTS,
    BASE,
    BREAKER_KEY,
    BULKHEAD_KEY,
    CAP,
    FALLBACK_KEY,
    HEDGE_KEY,
    JITTER,
    ON,
    QUOTA_KEY,
    RETRY,
    RETRY_KEY,
    TIMEOUT,
    WHEN,
)
from stretto.spec.step_keys import ESTIMATE_KEY, MAX_PARALLEL, MAX_ROUNDS, REPEAT_KEY, RESILIENCE_KEY, SHARE
from stretto.spec.streak_keys import AFTER as FALLBACK_AFTER, RETRY_AFTER
from stretto.spec.tunable_group import Group
from stretto.types.protection import BreakerRule, BulkheadRule, HedgeRule, QuotaRule, StreakRule
from stretto.types.setting import SettingValue


def span_text(seconds: float) -> str:
    """A duration as a file has it."""
    return render(timedelta(seconds=seconds))


_RETRY: Final = RetrySpec()
_QUOTA: Final = QuotaRule()
_BREAKER: Final = BreakerRule()
_BULKHEAD: Final = BulkheadRule()
STREAK: Final[Mapping[Key[Any], SettingValue]] = {
    FALLBACK_AFTER: StreakRule().after,
    RETRY_AFTER: span_text(StreakRule().retry_after_s),
}
"""Of every fallback: after how many failures it answers without trying, and for how long."""

_IN_STEP: Final = RESILIENCE_KEY.name

OF_CALL: Final = (
    Group(name="", holder=_IN_STEP, defaults={TIMEOUT: None}),
    Group(name="", holder=_IN_STEP, under=(BULKHEAD_KEY.name,), defaults={PRIORITY: 0}),
    Group(
        name=RETRY.name,
        holder=_IN_STEP,
        under=(RETRY_KEY.name,),
        defaults={
            ATTEMPTS: _RETRY.attempts,
            BASE: render(_RETRY.base),
            CAP: render(_RETRY.cap),
            JITTER: _RETRY.jitter.value,
            ON: None,
            WHEN: None,
        },
        needs=(RETRY_KEY.name,),
        example=RETRY_KEY.example,
        unsaid={ON: "as each error says"},
    ),
    Group(
        name=HEDGE.name,
        holder=_IN_STEP,
        under=(HEDGE_KEY.name,),
        defaults={AFTER: USUAL, COPIES: HedgeRule().copies},
        needs=(HEDGE_KEY.name,),
        example=HEDGE_KEY.example,
    ),
    Group(
        name=ESTIMATE_KEY.name,
        under=(ESTIMATE_KEY.name,),
        defaults={EXPECTED_TOKENS: None, EXPECTED_COST: None},
        needs=(ESTIMATE_KEY.name,),
        example=ESTIMATE_KEY.example,
    ),
)
"""Under ``steps.NAME``, of a step that calls a component."""

OF_MAP: Final = (Group(name="", defaults={MAX_PARALLEL: DEFAULT_MAX_PARALLEL}),)
"""Of one that goes over a list."""

OF_LOOP: Final = (Group(name=REPEAT_KEY.name, under=(REPEAT_KEY.name,), defaults={MAX_ROUNDS: None}),)
"""Of one that repeats."""

OF_ANY_STEP: Final = (Group(name="", defaults={SHARE: 1}),)
"""Of every step."""

OF_STEP: Final = (*OF_CALL, *OF_MAP, *OF_LOOP, *OF_ANY_STEP)
"""All that may stand under ``steps.NAME``."""

OF_COMPONENT: Final = (
    Group(
        name=QUOTA.name,
        holder=_IN_STEP,
        under=(RETRY_KEY.name, QUOTA_KEY.name),
        defaults={RATIO: _QUOTA.ratio, FLOOR: _QUOTA.floor, QUOTA_WINDOW: span_text(_QUOTA.window_s)},
        needs=(RETRY_KEY.name,),
        example=RETRY_KEY.example,
    ),
    Group(
        name=BREAKER.name,
        holder=_IN_STEP,
        under=(BREAKER_KEY.name,),
        defaults={
            FAILURE_RATE: _BREAKER.failure_rate,
            SLOW_RATE: _BREAKER.slow_rate,
            SLOW_AFTER: None,
            BREAKER_WINDOW: span_text(_BREAKER.window_s),
            WINDOW_CALLS: _BREAKER.window_calls,
            MIN_CALLS: _BREAKER.min_calls,
            OPEN_FOR: span_text(_BREAKER.open_s),
            MAX_OPEN: span_text(_BREAKER.max_open_s),
            PROBES: _BREAKER.probes,
            LEASE: span_text(_BREAKER.lease_s),
        },
        needs=(BREAKER_KEY.name,),
        example=BREAKER_KEY.example,
    ),
    Group(
        name=BULKHEAD.name,
        holder=_IN_STEP,
        under=(BULKHEAD_KEY.name,),
        defaults={
            LIMIT: None,
            MIN_LIMIT: _BULKHEAD.min_limit,
            MAX_LIMIT: _BULKHEAD.max_limit,
            QUEUE: _BULKHEAD.queue,
        },
        needs=(BULKHEAD_KEY.name,),
        example=BULKHEAD_KEY.example,
        unsaid={LIMIT: "adaptive"},
    ),
    Group(
        name=FALLBACK_KEY.name,
        holder=_IN_STEP,
        under=(FALLBACK_KEY.name,),
        defaults=STREAK,
        needs=(FALLBACK_KEY.name,),
        example=FALLBACK_KEY.example,
    ),
)
"""Under ``components.NAME``: for all steps that call it, wherever the file declares it."""
