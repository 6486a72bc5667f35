"""How much later, or less reliable, one call of each step may be with what is promised of the whole still kept.

From the top: what the whole may take, less what the longest way through a part takes besides it, is what that part may
take; in a loop, the rounds share it. All other steps are as promised. A time is held against the promises of its kind
alone, success against those of success and, since what fails is tried again, of the 95th percentile. At the figure
given here the promise is met, beyond it broken, unless the step's own time-out keeps it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from stretto.plan.model import Plan
from stretto.plan.sla.call import (
    NEARLY,
    ROUNDING,
    Terms,
    attempts_at_p95,
    besides_calls_s,
    least_success,
    turning_point,
)
from stretto.plan.sla.compose import Part, compose, ends
from stretto.plan.sla.figures import Figures
from stretto.plan.sla.promise import Promise
from stretto.plan.sla.terms import Retold, calls_in, of_both

_MOST_SHARED: Final = 50
"""Steps whose component stands in for others, times all steps: each is composed anew some thirty times for each of its
figures, which comes to 0.2 s of one core."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What the whole must keep; None is nothing."""

    p95_s: float | None = None
    worst_s: float | None = None
    success: float | None = None
    answered: float | None = None
    """Share that no fallback answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What one call of a step may do, or the whole step where it is a sub-workflow; None where nothing is asked for,
    where no figure would do, or where it takes too long to find."""

    part: Part
    p95_s: float | None
    worst_s: float | None
    success: float | None


def rooms(plan: Plan, targets: Targets) -> Iterator[Room]:
    """One for each step that calls something, in the order of the plan."""
    calls = list(calls_in(plan.body))
    standing_in = {
        op.fallback.op.component_name for op in calls if op.fallback is not None and op.fallback.op is not None
    }
    shared = {op.name for op in calls if op.component_name in standing_in}
    is_few = len(shared) * len(calls) <= _MOST_SHARED
    for room in _rooms(compose(plan), targets):
        terms = room.part.terms
        if terms is None or terms.name not in shared:
            yield room
        elif is_few:
            yield _shared(plan, targets, room, terms.name)
        else:
            yield replace(room, p95_s=None, worst_s=None, success=None)


def _rooms(whole: Part, targets: Targets) -> Iterator[Room]:
    for part, wanted in _shares(whole, targets):
        if part.parts:
            yield from _rooms(part, _with_own(wanted, part.promise))
        elif part.terms is not None:
            yield _room(part, part.terms, wanted)
        else:
            yield Room(part=part, p95_s=wanted.p95_s, worst_s=wanted.worst_s, success=wanted.success)


def _shares(whole: Part, targets: Targets) -> Iterator[tuple[Part, Targets]]:
    """What each part of a step may do."""
    rounds = whole.rounds
    p95 = _times([part.figures.p95_s.value for part in whole.parts], whole.before, _divided(targets.p95_s, rounds))
    worst = _times(
        [part.figures.worst_s.value for part in whole.parts], whole.before, _divided(targets.worst_s, rounds)
    )
    success = _rates([part.figures.success.value for part in whole.parts], targets.success, rounds)
    answered = _rates([1 - part.figures.fallback.value for part in whole.parts], targets.answered, rounds)
    for index, part in enumerate(whole.parts):
        rate = success[index]
        yield (
            part,
            Targets(
                p95_s=p95[index],
                worst_s=worst[index],
                success=0.0 if part.tolerates and rate is not None else rate,
                answered=answered[index],
            ),
        )


def _times(times: list[float], before: tuple[frozenset[int], ...], limit: float | None) -> list[float | None]:
    """What each part may take; None for all where another way through is too long already."""
    if limit is None:
        return [None] * len(times)
    ended = ends(times, before)
    after = _after(times, before)
    found: list[float | None] = []
    for index, time in enumerate(times):
        without = max(ends([0.0 if each == index else t for each, t in enumerate(times)], before), default=0.0)
        left = limit - (ended[index] - time) - after[index]
        found.append(left if left >= 0 and without <= limit * (1 + ROUNDING) else None)
    return found


def _after(times: list[float], before: tuple[frozenset[int], ...]) -> list[float]:
    """What the longest way takes from the end of each part to the end of the block."""
    after = [0.0] * len(times)
    for index in range(len(times) - 1, -1, -1):
        for each in before[index]:
            after[each] = max(after[each], times[index] + after[index])
    return after


def _rates(rates: list[float], limit: float | None, rounds: int) -> list[float | None]:
    if limit is None:
        return [None] * len(rates)
    share = limit ** (1 / rounds)
    found: list[float | None] = []
    for index in range(len(rates)):
        others = prod(rate for each, rate in enumerate(rates) if each != index)
        found.append(share / others if others and share <= others * (1 + ROUNDING) else None)
    return found


def _room(part: Part, terms: Terms, wanted: Targets) -> Room:
    besides_p95, besides_worst = besides_calls_s(terms)
    return Room(
        part=part,
        p95_s=_of_one(wanted.p95_s, besides_p95, attempts_at_p95(terms)),
        worst_s=_of_one(wanted.worst_s, besides_worst, 1 + len(terms.waits_s)),
        success=_success_of_one(terms, wanted),
    )


def _success_of_one(terms: Terms, wanted: Targets) -> float | None:
    own = None if terms.max_fallback is None else 1 - terms.max_fallback
    limits = [limit for limit in (own, wanted.answered) if limit is not None and terms.stand is not None]
    if wanted.success is None and not limits:
        return None
    return least_success(terms, min(1.0, wanted.success or 0.0), min(1.0, max(limits, default=0.0)), wanted.p95_s)


def _shared(plan: Plan, targets: Targets, room: Room, name: str) -> Room:
    """The same of a step whose component stands in for others too, which it makes later with itself."""

    def kept(wanted: Targets, change: Retold) -> bool:
        whole = compose(plan, lambda terms: change(terms) if terms.name == name else terms)
        return _is_kept(whole.composed, wanted)

    p95, worst = Targets(p95_s=targets.p95_s), Targets(worst_s=targets.worst_s)
    rates = replace(targets, worst_s=None)  # what fails more often is tried again, and takes longer
    return replace(
        room,
        p95_s=_turned(room.p95_s, 0.0, lambda time: kept(p95, lambda terms: replace(terms, p95_s=time))),
        worst_s=_turned(room.worst_s, 0.0, lambda time: kept(worst, lambda terms: replace(terms, worst_s=time))),
        success=_turned(room.success, 1.0, lambda rate: kept(rates, lambda terms: replace(terms, success=rate))),
    )


def _turned(alone: float | None, best: float, does: Callable[[float], bool]) -> float | None:
    return None if alone is None else turning_point(best, alone, does)


def _is_kept(composed: Figures, wanted: Targets) -> bool:
    return (
        _is_within(composed.p95_s.value, wanted.p95_s)
        and _is_within(composed.worst_s.value, wanted.worst_s)
        and _is_within(-composed.success.value, _negative(wanted.success))
        and _is_within(composed.fallback.value - 1, _negative(wanted.answered))
    )


def _is_within(value: float, limit: float | None) -> bool:
    return limit is None or value <= limit + abs(limit) * NEARLY


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


def _with_own(wanted: Targets, promise: Promise) -> Targets:
    """What the steps inside must keep: their share of the whole, and what is promised of what they stand in."""
    latest = promise.max_s if promise.p95_s is None else promise.p95_s
    answered = None if promise.max_fallback is None else 1 - promise.max_fallback
    return Targets(
        p95_s=of_both(min, wanted.p95_s, latest),
        worst_s=of_both(min, wanted.worst_s, promise.max_s),
        success=of_both(max, wanted.success, promise.min_success),
        answered=of_both(max, wanted.answered, answered),
    )


def _of_one(limit: float | None, besides: float, count: int) -> float | None:
    return None if limit is None or limit < besides else (limit - besides) / count


def _divided(limit: float | None, count: int) -> float | None:
    return None if limit is None else limit / count
