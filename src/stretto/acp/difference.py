"""The derivative along a direction, as a gradient claims it and as answers to moved inputs show it.

All sums are made in float64; arrays are of the component's own type, since it is that which it computes in.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]

Ask: TypeAlias = Callable[[Arrays], Awaitable[Arrays | None]]
"""What the component answers to other inputs; None where it does not answer to these."""

ROUNDING: Final = 32.0
"""Units of rounding that a sum may lose: the root of a thousand terms (Higham & Mary 2019, "A new approach to
probabilistic rounding error analysis", theorem 2.4)."""

_ROUND: Final = 2.0**-6
"""A number with fewer binary digits than 6 is round."""

_PLACES: Final = 6
"""Decimals that a component may round its answers to; float32 has seven digits."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A gradient, and of what."""

    inputs: Arrays
    answer: Arrays
    cotangents: Arrays
    gradients: Arrays
    """Of <cotangents, answer> with respect to the inputs, it is said."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The derivative along one direction, at one distance."""

    claimed: float
    """By the gradient."""
    found: float
    """By the answers ahead and behind."""
    usual: float
    """What the gradient claims of such a direction: its deviation over all of them."""
    noise: float
    """By which rounding, and answers that are rounder than their type, may have changed the two."""
    bend: float
    """By which the slopes ahead and behind differ: at a kink as at a curve."""

    @property
    def apart(self) -> float:
        """By how much the answers and the gradient differ, with its sign."""
        return self.found - self.claimed

    @property
    def slope(self) -> float:
        """What a difference is large or small beside."""
        return max(self.usual, abs(self.found))


async def difference(claim: Claim, ask: Ask, direction: Arrays, step: float) -> Difference | None:
    """The derivative at one distance; None where the component does not answer there."""
    ahead, behind = _moved(claim.inputs, direction, step), _moved(claim.inputs, direction, -step)
    low, high = await asyncio.gather(ask(behind), ask(ahead))
    if low is None or high is None:
        return None
    span = {name: ahead[name].astype(np.float64) - behind[name] for name in ahead}  # as the inputs were rounded
    before, here, after = (_dot(claim.cotangents, each) for each in (low, claim.answer, high))
    rounding = _rounding(claim.cotangents, low) + _rounding(claim.cotangents, high) + _rounding(claim.gradients, span)
    across = 2.0 * step
    return Difference(
        claimed=_dot(claim.gradients, span) / across,
        found=(after - before) / across,
        usual=math.sqrt(sum(float(np.sum((reach(x) * claim.gradients[n]) ** 2)) for n, x in claim.inputs.items())),
        noise=(ROUNDING * rounding + _grain(claim.cotangents, (low, claim.answer, high))) / across,
        bend=abs(after - 2.0 * here + before) / step,
    )


def drawn(claim: Claim, rng: np.random.Generator, *, with_zeros: bool) -> dict[str, npt.NDArray[np.float64]]:
    """A direction of independent normal numbers, each times the reach of its input; without zeros, inputs that are 0
    stay so, unless all are."""
    stays = with_zeros or not any(np.any(x) for x in claim.inputs.values())
    return {
        name: reach(x) * rng.standard_normal(x.shape) * (1.0 if stays else x != 0.0) for name, x in claim.inputs.items()
    }


def reach(x: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """By how much each input is moved for a step of 1: its own size, of small ones that of the others, at most 1."""
    size: npt.NDArray[np.float64] = np.abs(x.astype(np.float64))
    there = size[size > 0]
    least = min(1.0, float(np.median(there))) if there.size else 1.0
    return np.maximum(size, least)


def _moved(inputs: Arrays, direction: Arrays, step: float) -> dict[str, npt.NDArray[Any]]:
    return {name: (x.astype(np.float64) + step * direction[name]).astype(x.dtype) for name, x in inputs.items()}


def _dot(weights: Arrays, values: Arrays) -> float:
    return sum(float(np.sum(each.astype(np.float64) * values[name])) for name, each in weights.items())


def _rounding(weights: Arrays, values: Arrays) -> float:
    """What a unit of rounding of each value, in the type of its weights, may do to their sum."""
    units = {name: float(np.finfo(each.dtype).eps) / 2.0 for name, each in weights.items()}
    sums = {name: float(np.sum(np.abs(each.astype(np.float64) * values[name]))) for name, each in weights.items()}
    return sum(units[name] * each for name, each in sums.items())


def _grain(weights: Arrays, answers: Sequence[Arrays]) -> float:
    """What one grain of each answer does to their sum: the lowest binary digit that any of them has.

    Where a component computes with large numbers between, its answers are multiples of what those lost. One that is
    the same in all, and round, has no grain: it is 1, and not 1.0000 to some digits. Where all answers are decimals of
    few places, they may have been rounded to these.
    """
    total = 0.0
    for name, each in weights.items():
        values = np.stack([answer[name] for answer in answers])
        grain = np.min(_lowest_digit(values), 0)
        has_one = (values != values[0]).any(0) | (grain <= _ROUND * np.abs(values[0]))
        grain = np.maximum(np.where(has_one & np.isfinite(grain), grain, 0.0), _decimal(values))
        total += float(np.sum(np.abs(each) * grain))
    return total


def _decimal(values: npt.NDArray[Any]) -> float:
    """What numbers are multiples of: 0.01 of those with two decimals; 0 of integers and of those with many."""
    exact = values.astype(np.float64)
    places = (each for each in range(_PLACES + 1) if np.array_equal(np.round(exact, each).astype(values.dtype), values))
    fewest = next(places, 0)
    return 10.0**-fewest if fewest else 0.0


def _lowest_digit(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Of each number, the power of 2 that its last binary digit stands for; infinite of 0, which has none."""
    digits = np.finfo(values.dtype).nmant + 1
    fraction, exponent = np.frexp(values.astype(np.float64))
    whole = np.abs(np.ldexp(fraction, digits)).astype(np.int64)
    lowest = np.ldexp((whole & -whole).astype(np.float64), exponent - digits)
    return np.where(whole == 0, np.inf, lowest)
