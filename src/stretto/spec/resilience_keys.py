"""What may stand under a step's `resilience`: the tables, and how each becomes its model."""

from typing import Final, TypeVar

from stretto.spec.codes import SpecCode
from stretto.spec.durations import render
from stretto.spec.hedge_keys import HEDGE
from stretto.spec.model import FallbackSpec, ResilienceSpec, RetrySpec
from stretto.spec.nested import Items, ObjectValue
from stretto.spec.protection_keys import BREAKER, BULKHEAD, QUOTA
from stretto.spec.records import Fields, Key, Record
from stretto.spec.shapes import Choice, Duration, Whole
from stretto.spec.source import Located
from stretto.spec.streak_keys import AFTER, RETRY_AFTER, streak_of
from stretto.spec.texts import EXPRESSION, REFERENCE
from stretto.types.errors import Code
from stretto.types.protection import Jitter

T = TypeVar("T")

ATTEMPTS: Final = Key(
    "attempts",
    Whole(minimum=1, maximum=100),
    means="how often to try, the first time counted",
    example="attempts: 3",
    also=("max_attempts", "times", "count"),
    akin=("retries",),
)
BASE: Final = Key(
    "base",
    Duration(may_be_zero=True),
    means="longest wait after the first failure, doubled after each further one",
    example="base: 100ms",
    also=("backoff", "delay", "initial"),
)
CAP: Final = Key(
    "cap", Duration(may_be_zero=True), means="longest wait ever", example="cap: 10s", also=("max_delay", "max")
)
ON: Final = Key(
    "on",
    Items(item=Choice(Code), what="error codes"),
    means="errors to retry on; without it, what the error says of itself decides",
    example="on: [unavailable]",
    also=("codes", "errors"),
)
WHEN: Final = Key(
    "when",
    EXPRESSION,
    means="answers that count as none, as a condition on `output` and `input`",
    example="when: \"output.text == ''\"",
    also=("if", "until", "condition"),
)
JITTER: Final = Key(
    "jitter", Choice(Jitter), means="how the waits are drawn", example="jitter: decorrelated", also=("randomness",)
)
QUOTA_KEY: Final = Key("quota", QUOTA, means=QUOTA.means, example="quota: {ratio: 0.2}", also=("budget",))


def _located(fields: Fields, key: Key[T]) -> Located[T] | None:
    """The value of a key, and where the key stands."""
    value = fields.get(key)
    return None if value is None else Located(value, fields.key_span(key))


def _retry(fields: Fields) -> RetrySpec:
    default = RetrySpec()
    base, cap = fields.get(BASE), fields.get(CAP)
    spec = RetrySpec(
        attempts=fields.get(ATTEMPTS) or default.attempts,
        base=default.base if base is None else base,
        cap=default.cap if cap is None else cap,
        on=fields.get(ON) or (),
        when=fields.get(WHEN),
        jitter=fields.get(JITTER) or default.jitter,
        quota=_located(fields, QUOTA_KEY),
    )
    if spec.base > spec.cap and BASE in fields:
        message = f"`base` is {render(spec.base)}, longer than `cap`, which is {render(spec.cap)}"
        fields.problem(BASE, SpecCode.CONFLICT, message, expected="`base` no longer than `cap`")
    return spec


RETRY: Final = Record(
    "retry",
    means="how often, and after what waits, a failed call is made again",
    keys=(ATTEMPTS, BASE, CAP, JITTER, ON, WHEN, QUOTA_KEY),
    build=_retry,
    is_thing=False,
)

FALLBACK_COMPONENT: Final = Key(
    "component", REFERENCE, means="the component that is asked the same", example="component: faq-card"
)
FALLBACK_OUTPUT: Final = Key(
    "output",
    ObjectValue(),
    means="a fixed output",
    example='output: {text: "We call you back."}',
    also=("value", "default"),
)


def _fallback(fields: Fields) -> FallbackSpec:
    if FALLBACK_COMPONENT in fields and FALLBACK_OUTPUT in fields:
        fields.problem(
            FALLBACK_OUTPUT,
            SpecCode.CONFLICT,
            "a fallback has one answer, and `component` gives it already",
            expected="`component` or `output`, not both",
        )
    for key in (AFTER, RETRY_AFTER):
        if key in fields and FALLBACK_COMPONENT not in fields and FALLBACK_OUTPUT not in fields:
            message = f"`{key.name}` without an answer: nothing stands in for the step"
            fields.problem(key, SpecCode.NO_EFFECT, message, expected="`component` or `output` beside it")
            break
    streak = streak_of(fields)
    at = fields.key_span(AFTER if AFTER in fields else RETRY_AFTER) if streak is not None else None
    return FallbackSpec(
        component=fields.get(FALLBACK_COMPONENT),
        output=fields.get(FALLBACK_OUTPUT),
        streak=None if streak is None or at is None else Located(streak, at),
    )


FALLBACK: Final = Record(
    "fallback",
    means="what answers when the step failed",
    keys=(FALLBACK_COMPONENT, FALLBACK_OUTPUT, AFTER, RETRY_AFTER),
    build=_fallback,
    rules={"oneOf": [{"required": ["component"]}, {"required": ["output"]}]},
    may_be_empty=False,
)

TIMEOUT: Final = Key(
    "timeout",
    Duration(),
    means="how long one attempt may take",
    example="timeout: 800ms",
    also=("deadline", "max_latency"),
)
RETRY_KEY: Final = Key("retry", RETRY, means=RETRY.means, example="retry: {attempts: 3}", also=("retries",))
FALLBACK_KEY: Final = Key(
    "fallback", FALLBACK, means=FALLBACK.means, example="fallback: {component: faq-card}", also=("on_error", "default")
)

BREAKER_KEY: Final = Key(
    "breaker", BREAKER, means=BREAKER.means, example="breaker: {failure_rate: 0.5}", also=("circuit_breaker",)
)
BULKHEAD_KEY: Final = Key(
    "bulkhead", BULKHEAD, means=BULKHEAD.means, example="bulkhead: {limit: 8}", also=("concurrency", "limit")
)

HEDGE_KEY: Final = Key(
    "hedge", HEDGE, means=HEDGE.means, example="hedge: {after: 500ms}", also=("hedging", "backup", "speculate")
)

RESILIENCE: Final = Record(
    "resilience",
    means="how the step copes with failure",
    keys=(TIMEOUT, RETRY_KEY, BREAKER_KEY, BULKHEAD_KEY, HEDGE_KEY, FALLBACK_KEY),
    is_thing=False,
    build=lambda fields: ResilienceSpec(
        timeout=fields.get(TIMEOUT),
        retry=fields.get(RETRY_KEY),
        breaker=_located(fields, BREAKER_KEY),
        bulkhead=_located(fields, BULKHEAD_KEY),
        hedge=_located(fields, HEDGE_KEY),
        fallback=fields.get(FALLBACK_KEY),
        places={name: entry.key for name, entry in fields.node.entries.items()},
    ),
    may_be_empty=False,
)
