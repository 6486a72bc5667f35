"""What a plan's promises come to, and the room that they leave to each step, as people read it.

Durations stand as a file has them, and what is shown can be pasted into one: rounded to the side that still keeps the
promise. What the steps come to is rounded to its worse side, and a limit of what is not wholly known to its sure one.
"""

import math
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from stretto.cli.rows import Row, labelled, one_piece
from stretto.cli.sla_document import LONGEST, HeldFigure, SlaDocument, StepRoom, sla_document
from stretto.plan.model import Plan
from stretto.plan.sla.compose import WORKFLOW
from stretto.plan.sla.figures import rounded
from stretto.spec.durations import render, render_s

_INDENT: Final = 2

_LEGEND: Final = "One call of each step: what is promised of it, and what would do with all others as promised."
_UNKNOWN: Final = "What is not promised counts as no time and no failure."

_DIGITS: Final = 4
"""That are shown of a figure that was worked out."""

_MINUTE_S: Final = 60.0


def sla_lines(plan: Plan, width: int) -> RenderableType:
    """For a terminal so many columns wide."""
    document = sla_document(plan)
    if not plan.promises:
        return Text(document.why_not, "dim")
    whole = list(_workflow_rows(document, plan.budget.deadline))
    steps = [_step_row(each) for each in document.steps]
    knows_all = not any(figure.unknown for figure in document.workflow.values())
    lines: list[RenderableType] = [
        *([Text(WORKFLOW, "bold"), _indented(whole, width)] if whole else []),
        Text(_LEGEND if knows_all else f"{_LEGEND} {_UNKNOWN}", "dim"),
        _indented(steps, width),
    ]
    if document.why_not:
        lines.append(Text(f"Nothing could be held: {document.why_not}.", "yellow"))
    return Group(*lines)


def _indented(rows: list[Row], width: int) -> RenderableType:
    return Padding(labelled(rows, width - _INDENT), (0, 0, 0, _INDENT))


def _workflow_rows(document: SlaDocument, deadline: timedelta | None) -> Iterator[Row]:
    held = document.workflow
    told = (
        ("p95", _time_held(held["p95_latency_ms"])),
        ("at worst", _longest(held[LONGEST], deadline)),
        ("success", _rate_held(held["min_success_rate"], best=1.0, up=False, beyond="or less")),
        ("fallback", _rate_held(held["max_fallback_rate"], best=0.0, up=True, beyond="or more")),
    )
    for what, text in told:
        if text:
            yield Text(what), [Text(text)]


def _longest(figure: HeldFigure, deadline: timedelta | None) -> str:
    """How long a run takes at most, and by what."""
    if deadline is None or (not figure.unknown and figure.composed <= deadline.total_seconds() * 1000):
        return _time_held(figure)
    alone = _time(figure.composed, up=not figure.unknown)
    more = " or longer" if figure.unknown else ""
    steps = f"; without it its steps could take {alone}{more}" if figure.composed else ""
    return f"{render(deadline)}{_promised_time(figure)}: the deadline ends every run by then{steps}"


def _time_held(figure: HeldFigure) -> str:
    told = _time(figure.composed, up=not figure.unknown) if figure.composed else ""
    return _held(figure, told, "or more", _promised_time(figure))


def _rate_held(figure: HeldFigure, *, best: float, up: bool, beyond: str) -> str:
    is_known = figure.composed != best or not figure.unknown
    told = _rate(figure.composed, up=up is not bool(figure.unknown)) if is_known else ""
    if figure.promised is None and figure.composed == best:
        return ""
    return _held(figure, told, beyond, "" if figure.promised is None else f", promised {figure.promised:.10g}")


def _held(figure: HeldFigure, told: str, beyond: str, promised: str) -> str:
    """What the steps come to, and what is promised; empty where neither says anything."""
    if not told and not promised:
        return ""
    return (f"{told} {beyond}" if figure.unknown else told) + promised if told else f"not known{promised}"


def _promised_time(figure: HeldFigure) -> str:
    return "" if figure.promised is None else f", promised {render_s(figure.promised / 1000)}"


def _step_row(step: StepRoom) -> Row:
    label = f"{step.path}, each item" if step.per_item else step.path
    cells = (
        _time_cell("p95", step.p95_ms, step.p95_room_ms),
        _time_cell("at worst", step.worst_ms, step.worst_room_ms),
        _rate_cell("success", step.success, step.success_room),
    )
    return Text(label), [one_piece(cell) for cell in cells]


def _time_cell(what: str, ms: float | None, room_ms: float | None) -> str:
    told = None if ms is None else render_s(ms / 1000)
    return _cell(what, told, None if room_ms is None else _time(room_ms, up=False), "more")


def _rate_cell(what: str, rate: float | None, room: float | None) -> str:
    told = None if rate is None else f"{rate:.10g}"
    return _cell(what, told, None if room is None else _rate(room, up=True), "less")


def _cell(what: str, promised: str | None, room: str | None, worse: str) -> str:
    if room is None:
        return "" if promised is None else f"{what} {promised}"
    if promised == room:
        return f"{what} {promised} and no {worse}"
    return f"{what} {promised or 'not promised'}, {room} would do"


def _time(ms: float, *, up: bool) -> str:
    """Four digits of it; whole seconds from a minute on."""
    seconds = ms / 1000
    if seconds < _MINUTE_S:
        return render_s(rounded(seconds, _DIGITS, up=up))
    whole = round(seconds)
    if not math.isclose(whole, seconds, rel_tol=1e-9):
        whole = math.ceil(seconds) if up else math.floor(seconds)
    return render_s(float(whole))


def _rate(value: float, *, up: bool) -> str:
    return f"{rounded(value, _DIGITS, up=up):.10g}"
