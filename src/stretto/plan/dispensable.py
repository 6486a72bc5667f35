"""Which components a workflow can do without: those that a step's fallback answers for wherever they are called."""

from collections.abc import Iterator

from stretto.plan.model import Block, CallOp, Plan, SubOp, block_in


def dispensable(plan: Plan) -> frozenset[str]:
    """Names of the components for which a fallback answers at every step that calls them, and that nothing else needs.

    What stands in must be there itself. A call that another component makes is no step: its failure is that one's to
    bear.
    """
    without, needed = set[str](), set[str]()
    for op in _calls(plan):
        (needed if op.fallback is None else without).add(op.component_name)
    return frozenset(without - needed)


def _calls(plan: Plan) -> Iterator[CallOp]:
    """Every call that a run may make by itself; those that stand in for others have no fallback."""
    yield from _calls_in(plan.body)
    if plan.memory is not None:
        yield plan.memory
    if plan.business is not None:
        yield plan.business.op


def _calls_in(block: Block) -> Iterator[CallOp]:
    for op in block.ops:
        if isinstance(op, CallOp):
            yield op
            if op.fallback is not None and op.fallback.op is not None:
                yield op.fallback.op
        elif isinstance(op, SubOp):
            yield from _calls(op.plan)
        elif (inner := block_in(op)) is not None:
            yield from _calls_in(inner)
