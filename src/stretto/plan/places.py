"""The calls of a plan, and the steps that make them."""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from stretto.plan.model import CallOp, LoopOp, MapOp, Plan, SubOp
from stretto.types.card import Card

_INDEX: Final = re.compile(r"\[\d+\]")


class Place(msgspec.Struct, frozen=True):
    """One call of a plan."""

    step: str
    """Its step path without indices: ``talk/executor``; empty when no step makes it."""
    op: CallOp
    plan: Plan
    """Of the workflow that it stands in."""

    @property
    def component(self) -> str:
        """Name of the component that is called."""
        return self.op.component_name

    @property
    def card(self) -> Card:
        """Of the component that is called."""
        return self.op.component.card


def places_of(plan: Plan) -> tuple[Place, ...]:
    """Every call that a run may make: of steps, of fallbacks, of components, and of the memory."""
    others = [*plan.nested.values(), *(() if plan.memory is None else (plan.memory,))]
    others += [] if plan.business is None else [plan.business.op]
    found = [*_steps(plan, ""), *(Place("", op, plan) for op in others)]
    fallbacks = [(place.op.fallback.op, place.plan) for place in found if place.op.fallback is not None]
    return (*found, *(Place("", op, inside) for op, inside in fallbacks if op is not None))


def _steps(plan: Plan, above: str) -> Iterator[Place]:
    todo = [(above, op) for op in plan.body.ops]
    while todo:
        inside, op = todo.pop(0)
        path = f"{inside}{op.name}"
        if isinstance(op, CallOp):
            yield Place(path, op, plan)
        elif isinstance(op, LoopOp | MapOp):
            todo += [(f"{path}/", each) for each in op.body.ops]
        elif isinstance(op, SubOp):
            yield from _steps(op.plan, f"{path}/")


def step_of(path: str) -> str:
    """A step path without its indices: ``talk[3]/executor`` is ``talk/executor``."""
    return _INDEX.sub("", path)
