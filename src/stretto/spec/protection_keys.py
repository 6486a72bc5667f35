"""What may be declared of a component's protection, its quota of retries, breaker and bulkhead."""

from datetime import timedelta
from typing import Any, Final, TypeVar

import msgspec

from stretto.spec.codes import SpecCode
from stretto.spec.durations import render, seconds
from stretto.spec.model import BulkheadSpec
from stretto.spec.records import Fields, Key, Record
from stretto.spec.shapes import Duration, Number, Whole
from stretto.types.protection import BreakerRule, BulkheadRule, QuotaRule

R = TypeVar("R", bound=msgspec.Struct)

SPAN: Final = Duration(minimum=timedelta(seconds=1), maximum=timedelta(hours=1))
"""How far back what happened may count."""

# its quota

RATIO: Final = Key(
    "ratio",
    Number(minimum=0, maximum=1),
    means="retries for each call of the last window",
    example="ratio: 0.2",
    akin=("percent", "budget"),
)
FLOOR: Final = Key(
    "floor",
    Whole(minimum=0, maximum=100_000),
    means="retries a window that are allowed however few calls there were",
    example="floor: 10",
)
QUOTA_WINDOW: Final = Key(
    "window", SPAN, means="how long a call allows for retries", example="window: 60s", also=("ttl",)
)

QUOTA: Final = Record(
    "quota",
    means="how much a component's retries may add to its load, over all runs",
    keys=(RATIO, FLOOR, QUOTA_WINDOW),
    build=lambda fields: _filled(
        QuotaRule(),
        ratio=fields.get(RATIO),
        floor=fields.get(FLOOR),
        window_s=seconds(fields.get(QUOTA_WINDOW)),
    ),
    is_thing=False,
)

# its breaker

FAILURE_RATE: Final = Key(
    "failure_rate",
    Number(above=0, maximum=1),
    means="opens when this share of the calls of the window failed",
    example="failure_rate: 0.5",
    akin=("failures", "threshold", "failure_threshold", "max_failures"),
)
SLOW_RATE: Final = Key(
    "slow_rate",
    Number(above=0, maximum=1),
    means="opens when this share was slower than `slow_after`",
    example="slow_rate: 0.8",
)
SLOW_AFTER: Final = Key(
    "slow_after",
    Duration(),
    means="a call that takes longer is slow; without it none is",
    example="slow_after: 2s",
    also=("slow_call", "slow"),
)
BREAKER_WINDOW: Final = Key(
    "window", SPAN, means="how old a call may be to count", example="window: 60s", also=("interval",)
)
WINDOW_CALLS: Final = Key(
    "window_calls",
    Whole(minimum=1, maximum=10_000),
    means="how many of the last calls count",
    example="window_calls: 50",
)
MIN_CALLS: Final = Key(
    "min_calls",
    Whole(minimum=1, maximum=10_000),
    means="calls in the window before it may open",
    example="min_calls: 10",
    also=("minimum", "volume"),
)
OPEN_FOR: Final = Key(
    "open_for",
    Duration(),
    means="how long it stays open before it lets probes through; doubled each time they fail",
    example="open_for: 5s",
    also=("wait", "cooldown", "reset_timeout", "sleep"),
)
MAX_OPEN: Final = Key(
    "max_open", Duration(maximum=timedelta(hours=1)), means="longest it ever stays open", example="max_open: 2m"
)
PROBES: Final = Key(
    "probes",
    Whole(minimum=1, maximum=100),
    means="calls that are let through to see whether it recovered; all must succeed",
    example="probes: 2",
    also=("half_open_calls", "permitted"),
)
LEASE: Final = Key(
    "lease", SPAN, means="how long a probe may stay silent before another takes its place", example="lease: 30s"
)


def _breaker(fields: Fields) -> BreakerRule:
    rule = _filled(
        BreakerRule(),
        failure_rate=fields.get(FAILURE_RATE),
        slow_rate=fields.get(SLOW_RATE),
        slow_after_s=seconds(fields.get(SLOW_AFTER)),
        window_s=seconds(fields.get(BREAKER_WINDOW)),
        window_calls=fields.get(WINDOW_CALLS),
        min_calls=fields.get(MIN_CALLS),
        open_s=seconds(fields.get(OPEN_FOR)),
        max_open_s=seconds(fields.get(MAX_OPEN)),
        probes=fields.get(PROBES),
        lease_s=seconds(fields.get(LEASE)),
    )
    _hold_in_order(fields, (MIN_CALLS, rule.min_calls), (WINDOW_CALLS, rule.window_calls), "it could never open")
    _hold_in_order(fields, (OPEN_FOR, rule.open_s), (MAX_OPEN, rule.max_open_s), "its waits can only grow")
    if SLOW_RATE in fields and rule.slow_after_s is None:
        message = "`slow_rate` without `slow_after`: no call is slow"
        fields.problem(
            SLOW_RATE, SpecCode.CONFLICT, message, expected="`slow_after` too", suggestion=SLOW_AFTER.example
        )
    return rule


BREAKER: Final = Record(
    "breaker",
    means="stops calls to a component that fails or has become slow, until it has recovered",
    keys=(
        FAILURE_RATE,
        SLOW_RATE,
        SLOW_AFTER,
        BREAKER_WINDOW,
        WINDOW_CALLS,
        MIN_CALLS,
        OPEN_FOR,
        MAX_OPEN,
        PROBES,
        LEASE,
    ),
    build=_breaker,
    rules={"dependentRequired": {"slow_rate": ["slow_after"]}},
    is_thing=False,
)

# its bulkhead

LIMIT: Final = Key(
    "limit",
    Whole(minimum=1, maximum=100_000),
    means="calls at once; without it the limit adapts to how the component's service time answers to load",
    example="limit: 8",
    also=("max_concurrent", "concurrency", "max"),
)
MIN_LIMIT: Final = Key(
    "min_limit", Whole(minimum=1, maximum=100_000), means="the adaptive limit is never lower", example="min_limit: 2"
)
MAX_LIMIT: Final = Key(
    "max_limit", Whole(minimum=1, maximum=100_000), means="the adaptive limit is never higher", example="max_limit: 64"
)
QUEUE: Final = Key(
    "queue",
    Whole(minimum=0, maximum=1_000_000),
    means="calls that may wait for a place; one more is refused at once",
    example="queue: 100",
    also=("max_wait", "queue_size"),
)
PRIORITY: Final = Key(
    "priority",
    Whole(minimum=-100, maximum=100),
    means="whose call goes first when others wait: the step with the higher number",
    example="priority: 1",
)


def _bulkhead(fields: Fields) -> BulkheadSpec:
    rule = _filled(
        BulkheadRule(),
        limit=fields.get(LIMIT),
        min_limit=fields.get(MIN_LIMIT),
        max_limit=fields.get(MAX_LIMIT),
        queue=fields.get(QUEUE),
    )
    for key in (MIN_LIMIT, MAX_LIMIT):
        if key in fields and LIMIT in fields:
            message = f"`{key.name}` bounds an adaptive limit, and `limit` fixes it"
            fields.problem(key, SpecCode.CONFLICT, message, expected="`limit`, or `min_limit` and `max_limit`")
    _hold_in_order(fields, (MIN_LIMIT, rule.min_limit), (MAX_LIMIT, rule.max_limit), "the limit could have no value")
    is_only_priority = set(fields.node.entries) == {PRIORITY.name}
    return BulkheadSpec(rule=None if is_only_priority else rule, priority=fields.get(PRIORITY) or 0)


BULKHEAD: Final = Record(
    "bulkhead",
    means="how many calls to a component there may be at once, over all runs",
    keys=(LIMIT, MIN_LIMIT, MAX_LIMIT, QUEUE, PRIORITY),
    build=_bulkhead,
    rules={"allOf": [{"not": {"required": ["limit", bound]}} for bound in ("min_limit", "max_limit")]},
    is_thing=False,
)

# building


def _filled(default: R, **given: Any) -> R:  # Any: checked by the fields' shapes
    """The rule as declared: what was not given stays as it is by default."""
    return msgspec.structs.replace(default, **{name: value for name, value in given.items() if value is not None})


def _hold_in_order(fields: Fields, low: tuple[Key[Any], float], high: tuple[Key[Any], float], otherwise: str) -> None:
    """Report when what should be the lower of two is higher, at the one that was given."""
    (low_key, low_value), (high_key, high_value) = low, high
    given = low_key if low_key in fields else high_key
    if low_value <= high_value or given not in fields:
        return
    message = f"`{low_key.name}` is {_shown(low_key, low_value)}, more than `{high_key.name}`, which is "
    message += f"{_shown(high_key, high_value)}: {otherwise}"
    fields.problem(given, SpecCode.CONFLICT, message, expected=f"`{low_key.name}` no higher than `{high_key.name}`")


def _shown(key: Key[Any], value: float) -> str:
    return render(timedelta(seconds=value)) if isinstance(key.shape, Duration) else f"{value:g}"
