"""Bounds on what a step or a workflow does, and how they add up.

Of what nothing is promised the best is counted (no time, no failure) and its name kept: a bound with names is a lower
limit of the truth, so what already breaks a promise breaks it whatever the unknown ones do.

* Times of steps in a row add up; of steps side by side the longer counts. For the worst case both are exact. For the
  95th percentile the sum is exact where the slow ones coincide (comonotone), and stands for the bound elsewhere: it is
  above the truth for independent steps, and no sum of percentiles bounds every dependence (Makarov 1981; Embrechts,
  McNeil and Straumann 2002, "Correlation and Dependence in Risk Management", section 3.2).
* Success multiplies: steps fail independently.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Bound:
    """A number that is sure as far as it goes."""

    value: float
    unknown: frozenset[str] = frozenset()
    """Steps of which nothing is promised that it needs; empty when it is whole."""

    @property
    def is_whole(self) -> bool:
        """Whether it holds for everything."""
        return not self.unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one step, body or workflow does."""

    worst_s: Bound
    """Seconds that it takes at most."""
    p95_s: Bound
    """Seconds within which 95 of 100 end."""
    success: Bound
    """Share that ends well, a fallback's answer counted, in [0, 1]: at least."""
    fallback: Bound
    """Share in which a fallback answers, in [0, 1]: at most."""


NONE: Final = Figures(worst_s=Bound(0.0), p95_s=Bound(0.0), success=Bound(1.0), fallback=Bound(0.0))
"""Of no step at all."""


def repeated(body: Figures, times: int) -> Figures:
    """A body that is done so often, one after the other."""
    return Figures(
        worst_s=Bound(times * body.worst_s.value, body.worst_s.unknown),
        p95_s=Bound(times * body.p95_s.value, body.p95_s.unknown),
        success=Bound(body.success.value**times, body.success.unknown),
        fallback=Bound(1 - (1 - body.fallback.value) ** times, body.fallback.unknown),
    )


def all_of(rates: Iterable[Bound]) -> Bound:
    """The share in which all of them hold, when each does independently."""
    value, unknown = 1.0, frozenset[str]()
    for rate in rates:
        value, unknown = value * rate.value, unknown | rate.unknown
    return Bound(value, unknown)


def any_of(rates: Iterable[Bound]) -> Bound:
    """The share in which at least one of them holds."""
    none = all_of(Bound(1 - rate.value, rate.unknown) for rate in rates)
    return Bound(1 - none.value, none.unknown)


def names_of(bounds: Iterable[Bound]) -> frozenset[str]:
    """Everything unknown in them."""
    return frozenset().union(*(bound.unknown for bound in bounds))


def rounded(value: float, digits: int, *, up: bool) -> float:
    """To so many digits, to one side; what rounding alone made of a shorter figure is that figure."""
    if value == 0:
        return value
    places = digits - 1 - math.floor(math.log10(abs(value)))
    nearest = round(value, places)
    if math.isclose(nearest, value, rel_tol=1e-9):
        return nearest
    step = math.copysign(10.0**-places, value - nearest)
    return round(nearest + step if (value > nearest) is up else nearest, places)
