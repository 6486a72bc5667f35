"""What holds in place of a plan's own figures of operations: time-outs, retries, priorities, the budget."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from stretto.plan.model import Block, CallOp, Plan, block_in
from stretto.types.budget import BudgetSpec

OPERATIONAL: Final = ("timeout_s", "retry", "hedge", "priority")
"""Fields of a call that say how it is made, not what: another value leaves the plan what it is."""


class Tuned:
    """The calls of one plan under the settings of now. One object for all runs, so that one under way sees a change
    with its next call."""

    def __init__(self) -> None:
        self.calls: dict[int, CallOp] = {}
        """By the `id` of the plan's own call."""
        self.budget: BudgetSpec | None = None
        """What runs may spend from the next one on; None where that is the plan's own."""
        self.revision = 0
        """Of the settings that it goes by; 0 is none."""

    def take(self, plan: Plan, other: Plan, revision: int) -> None:
        """Let the figures of `other`, the same plan compiled under settings, hold in place of those of `plan`.

        What a run looks up in between is whole: each call is replaced at once, and none is missing meanwhile.
        """
        calls = dict(_changed(plan, other))
        self.calls.update(calls)
        for gone in self.calls.keys() - calls.keys():
            del self.calls[gone]
        self.budget = None if other.budget == plan.budget else other.budget
        self.revision = revision


def _changed(plan: Plan, other: Plan) -> Iterator[tuple[int, CallOp]]:
    for own, new in zip(_calls(plan.body), _calls(other.body), strict=True):
        figures: dict[str, Any] = {name: getattr(new, name) for name in OPERATIONAL}  # Any: each as its field has it
        if any(getattr(own, name) != figure for name, figure in figures.items()):
            yield id(own), replace(own, **figures)


def _calls(block: Block) -> Iterator[CallOp]:
    """Every call of a block and of what is inside it, in the plan's order, which settings do not change."""
    for op in block.ops:
        if isinstance(op, CallOp):
            yield op
        elif (inner := block_in(op)) is not None:
            yield from _calls(inner)
