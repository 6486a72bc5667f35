"""Whether a gradient from elsewhere is that of the answers from there: one random projection of it, held against
differences of answers.

For a direction u, <g, u> is the derivative of <v, f> along u, where g is the gradient for the cotangents v. It is
compared with the central difference (<v, f(x + hu)> - <v, f(x - hu)>) / 2h, whose error is of order h squared where f
is smooth (Press et al. 2007, "Numerical Recipes", section 5.7). With u of independent normal numbers, <e, u> of an
error e of the gradient is normal with the length of e as its deviation, whatever its form: the share of such errors
that stay below a tolerance t is that of normal numbers below t / |e|.

What an honest component may differ by is told by its own answers, and by what rounding leaves:
- *noise*: sums of float32 lose about the root of their length in units of rounding (Higham & Mary 2019, "A new approach
  to probabilistic rounding error analysis", theorem 2.4);
- *bend*: the second difference |f(x + hu) - 2 f(x) + f(x - hu)|, which is h times what the slopes at both sides
  differ by, at a kink as at a curve;
- *drift*: what the difference itself changes by when h is halved.
No more than a disagreement that is beyond all three, in several directions and at two distances, is a lie.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]

Ask: TypeAlias = Callable[[Arrays], Awaitable[Arrays | None]]
"""What the component answers to other inputs; None where it does not answer to these."""

EVERY_ROWS: Final = 64
"""Of so many rows one is checked by default: two calls more in a hundred and twenty-eight."""

STEP: Final = 2.0**-9
"""By which inputs are moved, of their own size: between the root of float32's rounding, 2^-12, where noise is 1 % of a
slope as large as the answer, and its cube root, 2^-8, where noise and curvature are alike."""

STEPS: Final = (STEP, STEP / 8, STEP / 64)
"""What looks like a lie at one distance may be finer structure than that."""

PROBES: Final = 2 * len(STEPS)
"""Directions at most, each with its two or four calls."""

LIES: Final = 3
"""Disagreements, at two distances or more, that make a lie, where nothing agreed."""

ROUNDING: Final = 32.0
"""Units of rounding that a sum may lose: the root of a thousand terms."""

CAUTION: Final = 4.0
"""How many times what bend and drift tell an honest component may differ by."""

CLEAR: Final = 0.25
"""A tolerance above this share of the slopes tells nothing of them."""


class Verdict(StrEnum):
    """What a check came to."""

    AGREES = "agrees"
    UNCLEAR = "unclear"
    """The answers are too rough there to tell, or were none."""
    LIES = "lies"


@dataclass(kw_only=True)
class Checking:
    """Which rows of a step are checked, and what came of it."""

    every: int = EVERY_ROWS
    """The first row and then one in so many; 0 checks none."""
    rows: int = 0
    """That were pulled back so far."""
    came_to: Counter[Verdict] = field(default_factory=Counter)

    def is_due(self) -> bool:
        """Count a row; whether it is to be checked."""
        self.rows += 1
        return self.every > 0 and (self.rows - 1) % self.every == 0


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A gradient, and of what."""

    inputs: Arrays
    answer: Arrays
    cotangents: Arrays
    gradients: Arrays


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What one direction told."""

    verdict: Verdict
    claimed: float
    """The derivative along the direction by the gradient."""
    found: float
    """By the component's own answers."""
    tolerance: float
    step: float


async def judge(claim: Claim, ask: Ask, rng: np.random.Generator) -> tuple[Verdict, Probe | None]:
    """Whether a gradient is that of the answers, and the last direction that told something of it."""
    against: list[Probe] = []
    for number in range(PROBES):
        probe = await _probe(claim, ask, rng, STEPS[number % len(STEPS)])
        if probe is None or probe.verdict is Verdict.UNCLEAR:
            continue
        if probe.verdict is Verdict.AGREES:
            return Verdict.AGREES, probe
        against.append(probe)
        if len(against) >= LIES and len({each.step for each in against}) > 1:
            return Verdict.LIES, probe
    return Verdict.UNCLEAR, against[-1] if against else None


async def _probe(claim: Claim, ask: Ask, rng: np.random.Generator, step: float) -> Probe | None:
    """One direction; None where the component does not answer there."""
    direction = {name: sizes(x) * rng.standard_normal(x.shape) for name, x in claim.inputs.items()}
    far = await _difference(claim, ask, direction, step)
    if far is None:
        return None
    if far.residual <= far.noise + far.bend:
        return far.probe(far.noise + far.bend)
    near = await _difference(claim, ask, direction, step / 2)
    if near is None:
        return None
    drift = abs(far.signed - near.signed)
    return near.probe(near.noise + CAUTION * (near.bend + drift), step)


@dataclass(frozen=True, kw_only=True)
class _Difference:
    """Derivatives along a direction at one distance."""

    claimed: float
    found: float
    noise: float
    bend: float
    step: float

    @property
    def signed(self) -> float:
        return self.found - self.claimed

    @property
    def residual(self) -> float:
        return abs(self.signed)

    def probe(self, tolerance: float, step: float | None = None) -> Probe:
        slope = max(abs(self.claimed), abs(self.found))
        is_clear = tolerance <= CLEAR * slope or slope <= self.noise  # flat, and said to be
        agrees = Verdict.AGREES if self.residual <= tolerance else Verdict.LIES
        return Probe(
            verdict=agrees if is_clear else Verdict.UNCLEAR,
            claimed=self.claimed,
            found=self.found,
            tolerance=tolerance,
            step=self.step if step is None else step,
        )


async def _difference(claim: Claim, ask: Ask, direction: Arrays, step: float) -> _Difference | None:
    ahead, back = _moved(claim.inputs, direction, step), _moved(claim.inputs, direction, -step)
    before, after = await asyncio.gather(ask(back), ask(ahead))
    if before is None or after is None:
        return None
    span = {name: ahead[name].astype(np.float64) - back[name] for name in ahead}  # as the inputs were rounded
    here, low, high = (_dot(claim.cotangents, each) for each in (claim.answer, before, after))
    rounding = ROUNDING * sum(_rounding(claim.cotangents[n], after[n], before[n]) for n in claim.cotangents)
    rounding += ROUNDING * sum(_rounding(claim.gradients[name], span[name]) for name in span)
    across = 2.0 * step
    return _Difference(
        claimed=_dot(claim.gradients, span) / across,
        found=(high - low) / across,
        noise=rounding / across,
        bend=abs(high - 2.0 * here + low) / step,
        step=step,
    )


def sizes(x: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """By how much each input is moved for a step of 1: its own size, of small ones that of the others, at most 1."""
    size: npt.NDArray[np.float64] = np.abs(x.astype(np.float64))
    there = size[size > 0]
    least = min(1.0, float(np.median(there))) if there.size else 1.0
    return np.maximum(size, least)


def _moved(inputs: Arrays, direction: Arrays, step: float) -> dict[str, npt.NDArray[Any]]:
    return {name: (x.astype(np.float64) + step * direction[name]).astype(x.dtype) for name, x in inputs.items()}


def _dot(weights: Arrays, values: Arrays) -> float:
    return float(sum(np.sum(each.astype(np.float64) * values[name]) for name, each in weights.items()))


def _rounding(weights: npt.NDArray[Any], *values: npt.NDArray[Any]) -> float:
    """What rounding of these values, in the type of the weights, does to their sum under the weights."""
    unit = float(np.finfo(weights.dtype).eps) / 2.0
    return unit * float(sum(np.sum(np.abs(weights.astype(np.float64) * each)) for each in values))
