"""Which keys of a workflow file may be given another value while it runs: the one table of them.

The keys themselves, with their ranges, units and words, are those of the file. What is no figure of operations, as
which component answers, is not here: it belongs to the version of the workflow that a run is pinned to.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec

from stretto.spec.contract import SEMANTICS
from stretto.spec.domain_keys import ALIGNER, MODE, THRESHOLD
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
from stretto.spec.workflow_keys import (
    BUDGET_KEY,
    COST,
    DEADLINE,
    FALLBACK as BUSINESS_KEY,
    RESERVE,
    RETRIES,
    TOKENS,
)
from stretto.types.meaning import MeaningMode
from stretto.types.protection import BreakerRule, BulkheadRule, HedgeRule, QuotaRule, StreakRule
from stretto.types.setting import SettingValue

Path = tuple[str, ...]

NOTHING_SAID: Final[Mapping[Key[Any], str]] = {}


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Keys that stand in one mapping of a step, or of the file."""

    name: str
    """What their names begin with: ``retry``; empty for those that stand alone."""
    holder: str = ""
    """Mapping of the step that they stand in or below; empty where that is the step, or the file, itself."""
    under: Path = ()
    """Where their mapping stands in that."""
    defaults: Mapping[Key[Any], SettingValue]
    """Each key, with what holds where the file does not give it."""
    needs: Path = ()
    """The mapping that the file must have declared: a setting changes a figure, it brings in no mechanism."""
    example: str = ""
    """How that is declared."""
    unsaid: Mapping[Key[Any], str] = NOTHING_SAID
    """What holds where no value does, in words, for those of which "none" would say something else."""

    @property
    def declaration(self) -> str:
        """How a step declares what they are figures of."""
        return f"{self.holder}: {{{self.example}}}" if self.holder else self.example

    def of(self, name: str) -> "Group":
        """The same group of one thing among several that the file gives names: ``semantics.intent``."""
        return msgspec.structs.replace(self, name=f"{self.name}.{name}")

    def key_of(self, key: Key[Any]) -> str:
        """The last part of a setting's name: ``retry.attempts``."""
        return f"{self.name}.{key.name}" if self.name else key.name


def _span(seconds: float) -> str:
    return render(timedelta(seconds=seconds))


_RETRY: Final = RetrySpec()
_QUOTA: Final = QuotaRule()
_BREAKER: Final = BreakerRule()
_BULKHEAD: Final = BulkheadRule()
_STREAK: Final[Mapping[Key[Any], SettingValue]] = {
    FALLBACK_AFTER: StreakRule().after,
    RETRY_AFTER: _span(StreakRule().retry_after_s),
}

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
        defaults={RATIO: _QUOTA.ratio, FLOOR: _QUOTA.floor, QUOTA_WINDOW: _span(_QUOTA.window_s)},
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
            BREAKER_WINDOW: _span(_BREAKER.window_s),
            WINDOW_CALLS: _BREAKER.window_calls,
            MIN_CALLS: _BREAKER.min_calls,
            OPEN_FOR: _span(_BREAKER.open_s),
            MAX_OPEN: _span(_BREAKER.max_open_s),
            PROBES: _BREAKER.probes,
            LEASE: _span(_BREAKER.lease_s),
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
        defaults=_STREAK,
        needs=(FALLBACK_KEY.name,),
        example=FALLBACK_KEY.example,
    ),
)
"""Under ``components.NAME``: for all steps that call it, wherever the file declares it."""

OF_WORKFLOW: Final = (
    Group(
        name=BUDGET_KEY.name,
        under=(BUDGET_KEY.name,),
        defaults={DEADLINE: None, RESERVE: None, RETRIES: None, TOKENS: None, COST: None},
        needs=(BUDGET_KEY.name,),
        example=BUDGET_KEY.example,
    ),
    Group(
        name=BUSINESS_KEY.name,
        under=(BUSINESS_KEY.name,),
        defaults=_STREAK,
        needs=(BUSINESS_KEY.name,),
        example=BUSINESS_KEY.example,
    ),
)
"""On their own, of the workflow that is run. Below ``steps.NAME`` of one inside it, but for its fallback, which
answers for runs of its own alone."""

OF_DOMAIN: Final = (
    Group(
        name=SEMANTICS.name,
        defaults={THRESHOLD: None},
        needs=(ALIGNER.name,),
        example=ALIGNER.example,
        unsaid={THRESHOLD: "the aligner's own"},
    ),
    Group(name=SEMANTICS.name, defaults={MODE: MeaningMode.ENFORCE.value}),
)
"""Of each semantic domain of the contract, by its name: ``semantics.intent.threshold``."""

NOT_INSIDE: Final = (f"{BUSINESS_KEY.name}.",)
"""What keys begin with that mean nothing of a workflow inside another."""
