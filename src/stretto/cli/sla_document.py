"""What a plan's promises come to, and the room that they leave to each step, as programs read it."""

from collections.abc import Iterator
from typing import Final

import msgspec

from stretto.plan.model import Plan
from stretto.plan.sla.compose import WORKFLOW, Part, compose
from stretto.plan.sla.figures import Bound
from stretto.plan.sla.slack import Room, rooms
from stretto.plan.sla.verdict import targets_of
from stretto.spec.durations import seconds

NOTHING: Final = "the contract promises nothing, so nothing was composed"

LONGEST: Final = "max_latency_ms"


class HeldFigure(msgspec.Struct, frozen=True, kw_only=True):
    """One promise of the workflow and what its steps come to."""

    promised: float | None
    composed: float
    """A lower limit of the truth where something is unknown."""
    unknown: tuple[str, ...]
    """Steps of which too little is promised."""


class StepRoom(msgspec.Struct, frozen=True, kw_only=True):
    """One step: what one call of it is promised to do, and what would do. None is unknown, or asked by nothing."""

    path: str
    p95_ms: float | None
    p95_room_ms: float | None
    """The longest that would do."""
    p95_slack_ms: float | None
    worst_ms: float | None
    worst_room_ms: float | None
    worst_slack_ms: float | None
    success: float | None
    success_room: float | None
    """The least that would do."""
    success_slack: float | None
    per_item: bool
    """Of a map: counted as one item."""


class SlaDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a plan's promises."""

    checked: tuple[str, ...]
    """The promises of the workflow that could be held against its steps."""
    why_not: str
    """Why nothing was checked; empty when something was."""
    workflow: dict[str, HeldFigure]
    steps: tuple[StepRoom, ...]


def sla_document(plan: Plan) -> SlaDocument:
    """What is promised of a plan, composed."""
    if not plan.promises:
        return SlaDocument(checked=(), why_not=NOTHING, workflow={}, steps=())
    whole = compose(plan)
    held = dict(_held(whole))
    work_s = seconds(plan.budget.working)
    targets = targets_of(whole, plan.budget)
    is_cut = whole.promise.max_s is not None and targets.worst_s is None  # by the deadline
    checked = [
        name
        for name, each in held.items()
        if each.promised is not None and (not each.unknown or (is_cut and name == LONGEST))
    ]
    if work_s is not None and whole.composed.p95_s.is_whole:
        checked.append("deadline")
    if plan.promises.get(WORKFLOW) is None and work_s is None:
        why_not = "nothing is promised of the workflow, and it has no deadline"
    else:
        why_not = "" if checked else "too little is promised of its steps"
    return SlaDocument(
        checked=tuple(checked),
        why_not=why_not,
        workflow=held,
        steps=tuple(_step(room) for room in rooms(plan, targets)),
    )


def _held(whole: Part) -> Iterator[tuple[str, HeldFigure]]:
    promise, composed = whole.promise, whole.composed
    yield "p95_latency_ms", _figure(_ms(promise.p95_s), composed.p95_s, 1000)
    yield LONGEST, _figure(_ms(promise.max_s), composed.worst_s, 1000)
    yield "min_success_rate", _figure(promise.min_success, composed.success, 1)
    yield "max_fallback_rate", _figure(promise.max_fallback, composed.fallback, 1)


def _figure(promised: float | None, bound: Bound, scale: int) -> HeldFigure:
    return HeldFigure(promised=promised, composed=round(bound.value * scale, 6), unknown=tuple(sorted(bound.unknown)))


def _step(room: Room) -> StepRoom:
    part, terms = room.part, room.part.terms
    figures = part.figures
    p95 = terms.p95_s if terms is not None else _known(figures.p95_s)
    worst = terms.worst_s if terms is not None else _known(figures.worst_s)
    success = terms.success if terms is not None else _known(figures.success)
    return StepRoom(
        path=part.path,
        p95_ms=_ms(p95),
        p95_room_ms=_ms(room.p95_s),
        p95_slack_ms=_ms(_between(p95, room.p95_s)),
        worst_ms=_ms(worst),
        worst_room_ms=_ms(room.worst_s),
        worst_slack_ms=_ms(_between(worst, room.worst_s)),
        success=success,
        success_room=None if room.success is None else round(room.success, 9),
        success_slack=_rounded(_between(room.success, success)),
        per_item=part.per_item,
    )


def _known(bound: Bound) -> float | None:
    return bound.value if bound.is_whole else None


def _between(low: float | None, high: float | None) -> float | None:
    return None if low is None or high is None else high - low


def _ms(value: float | None) -> float | None:
    return None if value is None else round(value * 1000, 6)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 9)
