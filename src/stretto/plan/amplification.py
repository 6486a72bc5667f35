"""Where declared retries multiply: how many calls one request may come to, at worst.

One retry in one place is what a fault needs. A retry around a retry multiplies: three attempts in each of three rounds
are nine calls of a component that fails, for one request. The engine bounds what comes of it (a quota for each
component, the run's budget, and only the layer directly above a failure tries again); that it may is told here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from stretto.plan.model import AnyOp, Block, CallOp, LoopOp, MapOp, Plan, SubOp


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """What makes one request several calls."""

    times: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Multiplied:
    """A step whose calls multiply."""

    step: str
    """Its name, with those of the steps that it stands in."""
    component: str
    factors: tuple[Factor, ...]

    @property
    def calls(self) -> int:
        """Of the component, for one request, at worst."""
        return prod(factor.times for factor in self.factors)

    def __str__(self) -> str:
        told = " x ".join(str(factor.times) for factor in self.factors)
        why = " in each of ".join(factor.what for factor in reversed(self.factors))
        return (
            f"retries multiply: {told} = {self.calls} calls of '{self.component}' for one request at worst: {why}. "
            "Let one place try again: take `retry` off the inner step, or end the loop when it fails"
        )


def multiplied(plan: Plan) -> Iterator[Multiplied]:
    """The steps that are tried again inside something that repeats them."""
    return _in_block(plan.body, (), "")


def retrying_callers(plan: Plan) -> Iterator[CallOp]:
    """Steps that are tried again and whose component calls others: each attempt makes all of those calls again."""
    for op in _calls(plan.body):
        if op.calls_others and op.retry.max_attempts > 1:
            yield op


def _in_block(block: Block, around: tuple[Factor, ...], prefix: str) -> Iterator[Multiplied]:
    for op in block.ops:
        name = prefix + op.name
        if isinstance(op, CallOp):
            yield from _of_call(op, around, name or prefix)
        elif isinstance(op, LoopOp):
            factor = Factor(times=op.max_rounds, what=f"{op.max_rounds} rounds of '{name}'")
            yield from _in_block(op.body, (*around, factor) if op.max_rounds > 1 else around, f"{name}/")
        elif isinstance(op, MapOp):
            yield from _in_block(op.body, around, f"{name}/")
        elif isinstance(op, SubOp):
            yield from _in_block(op.plan.body, around, f"{name}/")


def _of_call(op: CallOp, around: tuple[Factor, ...], name: str) -> Iterator[Multiplied]:
    own = _attempts(op, name.rstrip("/"))
    if own and around:
        yield Multiplied(step=name.rstrip("/"), component=op.component_name, factors=(*around, *own))


def _attempts(op: CallOp, name: str) -> tuple[Factor, ...]:
    """Of one step: its attempts, and the copies that each may make of itself."""
    attempts = op.retry.max_attempts
    if attempts == 1:
        return ()
    found = (Factor(times=attempts, what=f"{attempts} attempts of '{name}'"),)
    if op.hedge is None:
        return found
    copies = op.hedge.copies + 1
    return (*found, Factor(times=copies, what=f"{copies} copies"))


def _calls(block: Block) -> Iterator[CallOp]:
    for op in block.ops:
        yield from _calls_of(op)


def _calls_of(op: AnyOp) -> Iterator[CallOp]:
    if isinstance(op, CallOp):
        yield op
    elif isinstance(op, MapOp | LoopOp):
        for call in _calls(op.body):
            yield call if call.name else replace(call, name=op.name)
