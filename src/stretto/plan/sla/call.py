"""One step with its retries and its fallback, from what is promised of one call.

* Retry: calls fail independently with q = 1 - p. With at most n attempts, 1 + q + ... + q^(n-1) are made on average.
  Each attempt that is made succeeds in a share p, and no call succeeds twice, so the share of calls that succeed is p
  times the attempts for each: without a quota 1 - q^n, and with one, which allows r retries for each call, p (1 + r)
  at most. The quota's floor is left out: it counts when there are few calls.
* 95 of 100 need no more than k attempts, the least k with q^k <= 0.05; the step takes k calls and the longest waits
  between them.
* At worst every attempt takes its whole time-out, and each wait is the longest; a component that asks for a longer one
  (Retry-After) is not counted, the run's deadline bounds that.
* A fallback answers in a share 1 - s of the calls: the step succeeds in 1 - (1 - s)(1 - f). Its time counts in the
  95th percentile only where it answers more often than in 5 of 100.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from stretto.plan.sla.figures import Bound, Figures

TAIL: Final = 0.05
"""What a 95th percentile leaves out."""

NEARLY: Final = 1e-12
"""By which rounding may make a share larger than it is: 0.05 is not 1 - 0.95."""


ROUNDING: Final = 1e-9
"""Relative: two sums of the same numbers may differ by their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """What answers when all attempts failed. None is unknown."""

    success: float | None
    p95_s: float | None
    worst_s: float | None


FIXED: Final = Stand(success=1.0, p95_s=0.0, worst_s=0.0)
"""An answer that is there already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is known of a step's calls. None is unknown."""

    name: str
    p95_s: float | None
    """Of one call."""
    worst_s: float | None
    """Of one call."""
    success: float | None
    """Of one call."""
    waits_s: tuple[float, ...] = ()
    """The longest before each retry: as many as there are retries."""
    ratio: float = 1.0
    """Retries that the quota allows for each call."""
    max_fallback: float | None = None
    """Promised."""
    stand: Stand | None = None


def figures_of(terms: Terms) -> Figures:
    """What the step does, its retries and its fallback counted."""
    retried = retried_success(terms)
    return Figures(
        worst_s=_worst(terms), p95_s=_p95(terms), success=_success(terms, retried), fallback=_fallback(terms, retried)
    )


def retried_success(terms: Terms) -> Bound:
    """The share of calls that succeed in some attempt."""
    p = terms.success
    if p is None:
        return Bound(1.0, frozenset({terms.name}))
    q, retries = 1 - p, len(terms.waits_s)
    wanted = sum(q**number for number in range(1, retries + 1))
    return Bound(min(1.0, p * (1 + min(terms.ratio, wanted))))


def attempts_at_p95(terms: Terms) -> int:
    """Attempts that 95 of 100 calls need at most; 1 where nobody knows."""
    most, q = 1 + len(terms.waits_s), 1 - (1.0 if terms.success is None else terms.success)
    count = 1
    while count < most and q**count > TAIL + NEARLY:
        count += 1
    return count


def besides_calls_s(terms: Terms) -> tuple[float, float]:
    """Seconds that are not spent in the step's own calls: of the 95th percentile, and at worst."""
    stand, waits = terms.stand, terms.waits_s
    p95 = sum(waits[: attempts_at_p95(terms) - 1])
    worst = sum(waits)
    if stand is not None:
        worst += stand.worst_s or 0.0
        if retried_success(terms).value < 1 - TAIL - NEARLY:
            p95 += stand.p95_s or 0.0
    return p95, worst


def least_success(terms: Terms, wanted: float, answered: float, p95_s: float | None) -> float | None:
    """The least success of one call with which the step still succeeds in at least `wanted` of its calls, in `answered`
    without its fallback, and within `p95_s` though more is tried again; None when there is none."""

    def does(success: float) -> bool:
        changed = replace(terms, success=success)
        retried = retried_success(changed)
        is_in_time = p95_s is None or _p95(changed).value <= p95_s * (1 + ROUNDING)
        return is_in_time and _success(changed, retried).value >= wanted and retried.value >= answered

    return turning_point(1.0, 0.0, does)


def turning_point(good: float, bad: float, does: Callable[[float], bool]) -> float | None:
    """The figure nearest to `bad` that still does, when all up to it from `good` do; None when `good` does not."""
    if not does(good):
        return None
    if does(bad):
        return bad
    while abs(good - bad) > ROUNDING * max(good, bad):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if does(middle) else (good, middle)
    return good


def _worst(terms: Terms) -> Bound:
    _, besides = besides_calls_s(terms)
    stand = terms.stand
    unknown = terms.worst_s is None or (stand is not None and stand.worst_s is None)
    return Bound((1 + len(terms.waits_s)) * (terms.worst_s or 0.0) + besides, _names(terms, unknown))


def _p95(terms: Terms) -> Bound:
    besides, _ = besides_calls_s(terms)
    stand, success = terms.stand, terms.success
    needs_success = bool(terms.waits_s) or (stand is not None and stand.p95_s != 0)
    falls_back = retried_success(terms).value < 1 - TAIL - NEARLY
    unknown = (
        terms.p95_s is None
        or (success is None and needs_success)
        or (falls_back and stand is not None and stand.p95_s is None)
    )
    return Bound(attempts_at_p95(terms) * (terms.p95_s or 0.0) + besides, _names(terms, unknown))


def _success(terms: Terms, retried: Bound) -> Bound:
    if terms.stand is None:
        return retried
    stand = terms.stand.success
    if stand == 1:
        return Bound(1.0)
    unknown = retried.unknown if stand is not None or retried == Bound(1.0) else _names(terms, True)
    return Bound(1 - (1 - retried.value) * (1 - (1.0 if stand is None else stand)), unknown)


def _fallback(terms: Terms, retried: Bound) -> Bound:
    if terms.stand is None:
        return Bound(0.0)
    rate = Bound(1 - retried.value, retried.unknown)
    promised = terms.max_fallback
    if promised is None or (rate.is_whole and rate.value <= promised):
        return rate
    return Bound(promised)


def _names(terms: Terms, unknown: bool) -> frozenset[str]:
    return frozenset({terms.name}) if unknown else frozenset()
