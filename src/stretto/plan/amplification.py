"""Where declared retries multiply: how many calls one request may come to, at worst.

One retry in one place is what a fault needs. A retry around a retry multiplies: three attempts at a component that
makes three itself are nine calls of what is behind it, and so are three attempts of which each is hedged with two
copies. The engine bounds what comes of it (a quota for each component, the run's budget, and only the layer directly
above a failure tries again); that it may is told here.

The rounds of a loop are requests of their own, and multiply no retry. What they come to while a component stays down
is told to who asks for more. That takes a fallback, or a map that lets an item fail: where nothing answers for the
step, its failure ends the loop, and the rounds before were no retries.
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
    rounds: tuple[Factor, ...] = ()
    """Of the loops that go on when the step fails, from the outside in; empty where its own rules multiply."""
    own: tuple[Factor, ...]
    """Its attempts and their copies."""
    calls_others: bool = False
    """Whether what multiplies are the calls that the component itself makes."""

    @property
    def calls(self) -> int:
        """At worst, for one request, or in one run where rounds count."""
        return prod(factor.times for factor in (*self.rounds, *self.own))

    def __str__(self) -> str:
        factors = (*self.rounds, *self.own)
        why = " in each of ".join(factor.what for factor in reversed(factors))
        told = " x ".join(str(factor.times) for factor in factors)
        if self.rounds:
            return (
                f"while '{self.component}' fails, one run may call it {told} = {self.calls} times ({why}). "
                "`budget: {retries: N}` bounds what is tried again in all"
            )
        if self.calls_others:
            return (
                f"'{self.component}' may call others, and each attempt makes its calls again: {self.calls} times for "
                f"one request at worst ({why}). Let the step try again or the component inside, not both"
            )
        return (
            f"retries multiply: {told} = {self.calls} calls of '{self.component}' for one request at worst ({why}). "
            f"`budget: {{retries: N}}` with N below {self.calls - 1} bounds both; else take `retry` or "
            "`hedge` off the step"
        )


def multiplied(plan: Plan) -> Iterator[Multiplied]:
    """The steps whose attempts stand around other attempts, and those that are tried again in rounds that go on; but
    not where the budget allows one run fewer retries, of which copies count as well."""
    most = plan.budget.retries
    for found in _in_block(plan.body, (), ""):
        if most is None or (not found.rounds and found.calls <= 1 + most):
            yield found


def _in_block(
    block: Block, around: tuple[Factor, ...], prefix: str, *, lasting: tuple[Factor, ...] = ()
) -> Iterator[Multiplied]:
    """`lasting` are those of the rounds around that go on when a step of the block fails."""
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
            inside = _in_block(op.plan.body, around, f"{path}/", lasting=lasting)
            yield from (found for found in inside if found.rounds)


def _of_call(op: CallOp, rounds: tuple[Factor, ...], path: str) -> Iterator[Multiplied]:
    attempts, copies = op.retry.max_attempts, 1 if op.hedge is None else 1 + op.hedge.copies
    if attempts == 1:
        return
    own = [Factor(times=attempts, what=f"{attempts} attempts of '{path}'")]
    if copies > 1:
        own.append(Factor(times=copies, what=f"{copies} copies"))
        yield Multiplied(path=path, component=op.component_name, own=tuple(own))
    if op.calls_others:
        yield Multiplied(path=path, component=op.component_name, own=tuple(own), calls_others=True)
    if rounds:
        yield Multiplied(path=path, component=op.component_name, rounds=rounds, own=tuple(own))
