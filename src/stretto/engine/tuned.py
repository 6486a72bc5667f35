"""What holds in place of a plan's own figures of operations: time-outs, retries, shares, thresholds, the budget."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from stretto.plan.meaning import Crossing
from stretto.plan.model import AnyOp, Block, BusinessFallback, CallOp, Fallback, LoopOp, MapOp, Plan, SubOp, block_in

OF_CALL: Final = (
    "timeout_s",
    "retry",
    "rejects_source",
    "hedge",
    "priority",
    "estimate_tokens",
    "estimate_cost",
    "share",
)
"""Fields of a call that say how it is made, not what: another value leaves the plan what it is."""

_COMPILED: Final = ("rejects", "input_check", "crossings_in", "crossings_out", "fallback")
"""Those that come of them, and of the figures of domains: taken over with them."""


class Tuned:
    """One plan under the settings of now. One object for all runs, so that one under way sees a change with its next
    call."""

    def __init__(self) -> None:
        self.ops: dict[int, AnyOp] = {}
        """What stands in the place of the plan's own operations, by their `id`."""
        self.revision = 0
        """Of the settings that it goes by; 0 is none."""
        self._plans: tuple[Plan, Plan] | None = None
        """The plan, and itself with what a run goes by from its beginning to its end."""

    def of(self, plan: Plan) -> Plan:
        """A plan as a run that begins now goes by it: its budget, and what its own input and output are held to; and
        the figures of what goes on beside runs, of probes and of exercises."""
        plans = self._plans
        return plans[1] if plans is not None and plans[0] is plan else plan

    def take(self, plan: Plan, other: Plan, revision: int) -> None:
        """Let the figures of `other`, the same plan compiled under settings, hold in place of those of `plan`.

        What a run looks up in between is whole: each operation is replaced at once, and none is missing meanwhile.
        """
        ops = dict(_changed(plan, other))
        self.ops.update(ops)
        for gone in self.ops.keys() - ops.keys():
            del self.ops[gone]
        self._plans = None if other is plan else (plan, _begun(plan, other))
        self.revision = revision


def _changed(plan: Plan, other: Plan) -> Iterator[tuple[int, AnyOp]]:
    for own, new in zip(_ops(plan.body), _ops(other.body), strict=True):
        if _figures(own) != _figures(new):
            yield id(own), _retuned(own, new)


def _ops(block: Block) -> Iterator[AnyOp]:
    """Every operation of a block and of what is inside it, in the plan's order, which settings do not change."""
    for op in block.ops:
        yield op
        if (inner := block_in(op)) is not None:
            yield from _ops(inner)


# one operation: its body stays its own, whose operations are replaced for themselves


def _figures(op: AnyOp) -> tuple[object, ...]:
    """All that settings can change of an operation, to compare."""
    if isinstance(op, CallOp):
        meaning = [_held(each) for each in (op.crossings_in, op.crossings_out, *_of_fallback(op.fallback))]
        return *(getattr(op, name) for name in OF_CALL), op.input_check is None, meaning
    if isinstance(op, MapOp):
        return op.share, op.max_parallel
    if isinstance(op, LoopOp):
        return op.share, op.max_rounds
    return op.share, op.plan.budget, [_held(each) for each in (op.crossings_in, op.crossings_out, *_ends(op.plan))]


def _retuned(own: AnyOp, new: AnyOp) -> AnyOp:
    """An operation with the figures of another."""
    if isinstance(own, CallOp):
        figures: dict[str, Any] = {name: getattr(new, name) for name in (*OF_CALL, *_COMPILED)}  # Any: as its field
        return replace(own, **figures)
    if isinstance(own, MapOp) and isinstance(new, MapOp):
        return replace(own, share=new.share, max_parallel=new.max_parallel)
    if isinstance(own, LoopOp) and isinstance(new, LoopOp):
        return replace(own, share=new.share, max_rounds=new.max_rounds)
    assert isinstance(own, SubOp)
    assert isinstance(new, SubOp)
    plan, into, out_of = _begun(own.plan, new.plan), new.crossings_in, new.crossings_out
    return replace(own, share=new.share, plan=plan, crossings_in=into, crossings_out=out_of)


# a plan, from its beginning to its end


def _begun(plan: Plan, other: Plan) -> Plan:
    return replace(
        plan,
        budget=other.budget,
        crossings_in=other.crossings_in,
        crossings_out=other.crossings_out,
        nested={name: _inner_call(op, other.nested[name]) for name, op in plan.nested.items()},
        business=_business(plan.business, other.business),
        resources=other.resources,
    )


def _business(own: BusinessFallback | None, new: BusinessFallback | None) -> BusinessFallback | None:
    """Its rule of failures in a row stays, by which what is known of it is found."""
    if own is None or new is None:
        return own
    return replace(own, exercise=new.exercise, crossings_out=new.crossings_out)


def _inner_call(own: CallOp, new: CallOp) -> CallOp:
    return replace(own, crossings_in=new.crossings_in, crossings_out=new.crossings_out)


def _ends(plan: Plan) -> tuple[tuple[Crossing, ...], tuple[Crossing, ...]]:
    return plan.crossings_in, plan.crossings_out


def _of_fallback(fallback: Fallback | None) -> tuple[tuple[Crossing, ...], ...]:
    if fallback is None:
        return ()
    return fallback.crossings, () if fallback.op is None else fallback.op.crossings_out


def _held(crossings: tuple[Crossing, ...]) -> list[tuple[object, ...]]:
    """How sure each must be, and what becomes of what is not."""
    return [(each.at, each.domain.name, each.domain.threshold, each.domain.mode) for each in crossings]
