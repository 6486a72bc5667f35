"""Compose what the steps promise over a plan.

A step that its condition may leave out counts as taken; a loop counts all its rounds; a map counts one item, since how
many there are is not known before a run. A sub-workflow counts as it composes itself, or as its own contract promises
where that is not whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from stretto.plan.model import AnyOp, Block, CallOp, LoopOp, MapOp, Plan, SubOp
from stretto.plan.sla.call import Terms, figures_of
from stretto.plan.sla.figures import NONE, Bound, Figures, all_of, any_of, names_of, repeated
from stretto.plan.sla.promise import NOTHING, Promise
from stretto.plan.sla.terms import Known, Retold, as_told, sole_call
from stretto.types.budget import BudgetSpec

WORKFLOW = "workflow"
"""By which a contract names the whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A step, or the workflow, with what it comes to."""

    path: str
    """With the steps that it stands in; empty for the workflow."""
    composed: Figures
    """From its parts, or from what is promised of its calls."""
    figures: Figures
    """What counts further up: of a step with parts, its own promise where `composed` is not whole."""
    promise: Promise = NOTHING
    terms: Terms | None = None
    """Of a step that calls a component itself."""
    parts: tuple["Part", ...] = ()
    before: tuple[frozenset[int], ...] = ()
    """For each part, those that it waits for; parts are in an order that keeps to it."""
    rounds: int = 1
    """How often its parts are done."""
    per_item: bool = False
    """Its figures are those of one item."""
    tolerates: bool = False
    """What fails in it fails nothing outside."""

    @property
    def name(self) -> str:
        """Of the step."""
        return self.path.rpartition("/")[2]


@dataclass(slots=True)
class _Composer:
    """Composes one workflow."""

    promises: Mapping[str, Promise]
    known: Known

    def block(self, block: Block, prefix: str) -> tuple[tuple[Part, ...], tuple[frozenset[int], ...], Figures]:
        parts = tuple(self.part(op, prefix) for op in block.ops)
        before = waits_of(block)
        return parts, before, together([part.figures for part in parts], before)

    def part(self, op: AnyOp, prefix: str) -> Part:
        path = prefix + op.name
        if isinstance(op, CallOp):
            return self._call(op, path)
        if isinstance(op, SubOp):
            whole = compose(op.plan)
            part = Part(path=path, composed=whole.figures, figures=whole.figures)
        elif isinstance(op, MapOp | LoopOp):
            sole = sole_call(op)
            part = self._body(op, path) if sole is None else self._call(sole, path)
        else:
            assert_never(op)
        if isinstance(op, MapOp):
            part = replace(part, per_item=True)
            if op.null_on_error:
                tolerant = replace(part.composed, success=Bound(1.0))
                part = replace(part, composed=tolerant, figures=tolerant, tolerates=True)
        if part.terms is None:
            promise = self.promises.get(op.name, NOTHING)
            part = replace(part, promise=promise, figures=held(part.composed, promise))
        return part

    def _call(self, op: CallOp, path: str) -> Part:
        terms = self.known.terms(op)
        figures = figures_of(terms)
        promise = self.promises.get(op.name, NOTHING)
        return Part(path=path, composed=figures, figures=figures, promise=promise, terms=terms)

    def _body(self, op: MapOp | LoopOp, path: str) -> Part:
        rounds = op.max_rounds if isinstance(op, LoopOp) else 1
        parts, before, figures = self.block(op.body, f"{path}/")
        composed = repeated(figures, rounds)
        return Part(path=path, composed=composed, figures=composed, parts=parts, before=before, rounds=rounds)


def compose(plan: Plan, retold: Retold = as_told) -> Part:
    """What a plan's steps come to, by its contract, and what of it is promised of the whole."""
    composer = _Composer(plan.promises, Known(plan, retold))
    parts, before, figures = composer.block(plan.body, "")
    promise = plan.promises.get(WORKFLOW, NOTHING)
    whole = held(within(figures, plan.budget), promise)
    return Part(path="", composed=figures, figures=whole, promise=promise, parts=parts, before=before)


def within(figures: Figures, budget: BudgetSpec) -> Figures:
    """A run ends by its deadline, whatever its steps do."""
    if budget.deadline is None:
        return figures
    deadline_s = budget.deadline.total_seconds()
    return replace(figures, worst_s=_at_most(figures.worst_s, deadline_s), p95_s=_at_most(figures.p95_s, deadline_s))


def held(composed: Figures, promise: Promise) -> Figures:
    """What counts of a step with parts: what they come to, or what is promised where that is not whole or is worse."""
    latest = promise.max_s if promise.p95_s is None else promise.p95_s
    return Figures(
        worst_s=_at_most(composed.worst_s, promise.max_s),
        p95_s=_at_most(composed.p95_s, latest),
        success=_at_least(composed.success, promise.min_success),
        fallback=_at_most(composed.fallback, promise.max_fallback),
    )


def together(figures: list[Figures], before: tuple[frozenset[int], ...]) -> Figures:
    """Steps in their order: the longest way through takes the time, and all must succeed."""
    if not figures:
        return NONE
    return Figures(
        worst_s=_longest([each.worst_s for each in figures], before),
        p95_s=_longest([each.p95_s for each in figures], before),
        success=all_of(each.success for each in figures),
        fallback=any_of(each.fallback for each in figures),
    )


def ends(times: list[float], before: tuple[frozenset[int], ...]) -> list[float]:
    """When each step of a block ends at the latest, from the block's beginning."""
    found: list[float] = []
    for time, waits in zip(times, before, strict=True):
        found.append(time + max((found[each] for each in waits), default=0.0))
    return found


def waits_of(block: Block) -> tuple[frozenset[int], ...]:
    """For each op of a block, those that it waits for."""
    if block.linear:
        return tuple(frozenset({index - 1} if index else ()) for index in range(len(block.ops)))
    before: list[set[int]] = [set() for _ in block.ops]
    for index, children in enumerate(block.children):
        for child in children:
            before[child].add(index)
    return tuple(map(frozenset, before))


def _longest(times: list[Bound], before: tuple[frozenset[int], ...]) -> Bound:
    return Bound(max(ends([time.value for time in times], before)), names_of(times))


def _at_most(bound: Bound, limit: float | None) -> Bound:
    return bound if limit is None or (bound.is_whole and bound.value <= limit) else Bound(limit)


def _at_least(bound: Bound, limit: float | None) -> Bound:
    return bound if limit is None or (bound.is_whole and bound.value >= limit) else Bound(limit)
