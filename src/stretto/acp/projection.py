"""Whether what a component pulls back is the gradient of its answers: random projections of it, held against
differences of answers.

For a direction u, <g, u> is the derivative of <v, f> along u, where g is the gradient for the cotangents v. It is
compared with the central difference (<v, f(x + hu)> - <v, f(x - hu)>) / 2h, whose error is of order h squared where f
is smooth (Press et al. 2007, "Numerical Recipes", section 5.7). With u of independent normal numbers, <e, u> of an
error e of the gradient is normal with the length of e as its deviation, whatever its form: the share of such errors
that stay below a tolerance t is that of normal numbers below t / |e|.

What an honest component may differ by is told by its own answers, and by what rounding leaves: *noise* (units of
rounding), *bend* (what the slopes ahead and behind differ by: second difference over h) and *drift* (what the
difference itself changes by when h is halved). A gradient is a lie where it disagrees beyond all three in three
directions, at three distances, and agrees in none. A component whose answers are too rough to tell is not accused.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from stretto.acp.difference import Ask, Claim, Difference, difference, drawn

STEP: Final = 2.0**-9
"""By which inputs are moved, of their own size: between the root of float32's rounding, 2^-12, where noise is 1 % of a
slope as large as the answer, and its cube root, 2^-8, where noise and curvature are alike."""

STEPS: Final = (STEP, 8 * STEP, STEP / 8, 64 * STEP)
"""What looks like a lie at one distance may be structure that is finer, or answers that are rounder, than that."""

PROBES: Final = 2 * len(STEPS)
"""Directions at most, each with two calls, or four where the first two do not agree."""

LIES: Final = 3
"""Distances at which a disagreement makes a lie, where nothing agreed."""

CAUTION: Final = 4.0
"""How many times what bend and drift tell an honest component may differ by."""

SHARP: Final = 1.0 / 16.0
"""A tolerance above this share of the slopes lets pass what may be a lie: of those that turn the sign 1 in 40."""

CLEAR: Final = 0.25
"""A tolerance above this share of the slopes tells nothing against them."""


class Verdict(StrEnum):
    """What a check came to."""

    AGREES = "agrees"
    UNCLEAR = "unclear"
    """The answers are too rough there to tell, or were none."""
    LIES = "lies"


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What one direction told."""

    verdict: Verdict
    told: Difference
    rough: float
    """What bend and drift let an honest component differ by."""
    step: float

    @property
    def tolerance(self) -> float:
        """By how much the two may differ."""
        return self.told.noise + self.rough


async def judge(claim: Claim, ask: Ask, rng: np.random.Generator) -> tuple[Verdict, Probe | None]:
    """Whether a gradient is that of the answers, and the last direction that told something of it."""
    against: list[Probe] = []
    for number in range(PROBES):
        # inputs that are 0 are moved once: many modules have a kink there, and a gradient may be that of either side
        probe = await _probe(claim, ask, rng, STEPS[number % len(STEPS)], with_zeros=number == 0)
        if probe is None or probe.verdict is Verdict.UNCLEAR:
            continue
        if probe.verdict is Verdict.AGREES:
            return Verdict.AGREES, probe
        against.append(probe)
        if _is_lie(against):
            return Verdict.LIES, probe
    return Verdict.UNCLEAR, against[-1] if against else None


def _is_lie(against: list[Probe]) -> bool:
    """Whether disagreements are at enough distances, each beyond what any of them found rough: kinks of both signs
    cancel in one direction, and not in all."""
    roughest = max(each.rough for each in against)
    beyond = [each for each in against if abs(each.told.apart) > each.told.noise + roughest]
    return len({each.step for each in beyond}) >= LIES


async def _probe(claim: Claim, ask: Ask, rng: np.random.Generator, step: float, *, with_zeros: bool) -> Probe | None:
    """One direction; None where the component does not answer there."""
    direction = drawn(claim, rng, with_zeros=with_zeros)
    far = await difference(claim, ask, direction, step)
    if far is None:
        return None
    if abs(far.apart) <= far.noise + far.bend:
        return _told(far, far.bend, step)
    near = await difference(claim, ask, direction, step / 2)
    if near is None:
        return None
    return _told(near, CAUTION * (near.bend + abs(far.apart - near.apart)), step)


def _told(told: Difference, rough: float, step: float) -> Probe:
    """What is to be made of a difference."""
    tolerance = told.noise + rough
    agrees = abs(told.apart) <= tolerance
    is_flat = told.slope == 0.0  # and said to be; what is below the noise is not known to be flat
    is_clear = is_flat or tolerance <= (SHARP if agrees else CLEAR) * told.slope
    verdict = (Verdict.AGREES if agrees else Verdict.LIES) if is_clear else Verdict.UNCLEAR
    return Probe(verdict=verdict, told=told, rough=rough, step=step)
