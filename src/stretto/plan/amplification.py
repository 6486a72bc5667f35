"""Where declared retries multiply: how many calls one request may come to, at worst.

One retry in one place is what a fault needs. A retry around a retry multiplies: three attempts in each of three rounds
are nine calls of a component that fails, for one request. That takes a fallback, or a map that lets an item fail: where
nothing answers for the step, its failure ends the loop, and the rounds before were no retries. The engine bounds what
comes of it (a quota for each component, the run's budget, and only the layer directly above a failure tries again);
that it may is told here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from stretto.plan.model import Block, CallOp, LoopOp, MapOp, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """What makes one request several calls."""

    times: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Multiplied:
    """A step whose calls multiply."""

    path: str
    """Of the step, with those that it stands in."""
    component: str
    factors: tuple[Factor, ...]
    """From the outside in."""
    calls_others: bool = False
    """Whether what multiplies are the calls that the component itself makes."""

    @property
    def calls(self) -> int:
        """For one request, at worst."""
        return prod(factor.times for factor in self.factors)

    def __str__(self) -> str:
        why = " in each of ".join(factor.what for factor in reversed(self.factors))
        if self.calls_others:
            return (
                f"'{self.component}' may call others, and each attempt makes its calls again: {self.calls} times for "
                f"one request at worst ({why}). Let the step try again or the component inside, not both"
            )
        told = " x ".join(str(factor.times) for factor in self.factors)
        return (
            f"retries multiply: {told} = {self.calls} calls of '{self.component}' for one request at worst ({why}). "
            "Try again in one place: take `retry` off the step, or end the loop when it fails"
        )


def multiplied(plan: Plan) -> Iterator[Multiplied]:
    """The steps that are tried again inside something that repeats them, and those that repeat the calls of others."""
    return _in_block(plan.body, (), "")


def _in_block(
    block: Block, around: tuple[Factor, ...], prefix: str, *, lasting: tuple[Factor, ...] = ()
) -> Iterator[Multiplied]:
    """`lasting` are those of the factors around that go on when a step of the block fails."""
    for op in block.ops:
        path = (prefix + op.name).rstrip("/")
        if isinstance(op, CallOp):
            yield from _of_call(op, lasting if op.fallback is None else around, path)
        elif isinstance(op, LoopOp):
            factor = Factor(times=op.max_rounds, what=f"{op.max_rounds} rounds of '{path}'")
            rounds = (*around, factor) if op.max_rounds > 1 else around
            yield from _in_block(op.body, rounds, f"{path}/", lasting=lasting)
        elif isinstance(op, MapOp):
            yield from _in_block(op.body, around, f"{path}/", lasting=around if op.null_on_error else lasting)
        elif around:  # what multiplies inside a sub-workflow alone, its own check tells
            yield from _in_block(op.plan.body, around, f"{path}/", lasting=lasting)


def _of_call(op: CallOp, around: tuple[Factor, ...], path: str) -> Iterator[Multiplied]:
    attempts, copies = op.retry.max_attempts, 1 if op.hedge is None else 1 + op.hedge.copies
    if attempts == 1:
        return
    own = [Factor(times=attempts, what=f"{attempts} attempts of '{path}'")]
    if copies > 1:
        own.append(Factor(times=copies, what=f"{copies} copies"))
    if len(own) + len(around) > 1:
        yield Multiplied(path=path, component=op.component_name, factors=(*around, *own))
    if op.calls_others:
        yield Multiplied(path=path, component=op.component_name, factors=(*around, *own), calls_others=True)
