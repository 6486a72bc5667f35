"""A run on a time line: one bar a step, waiting and working told apart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from stretto.cli.rows import BETWEEN, longest_word
from stretto.cli.step_tree import StepNode, step_tree, walk
from stretto.cli.terminal import is_unicode
from stretto.cli.words import EFFECT_STYLES, STATUS_STYLES, count_text, ms_text, status_text
from stretto.engine.hedge import copies_of
from stretto.record.model import Attempt, Run, StepRecord
from stretto.types.enums import StepStatus
from stretto.types.errors import BreakerOpenError, ShedError

WIDEST_BAR: Final = 72
NARROWEST_BAR: Final = 10
_WIDEST_NOTES: Final = 44


@dataclass(frozen=True, slots=True)
class Glyphs:
    """What bars are drawn with."""

    work: str
    queue: str
    failed: str
    pause: str
    span: str


_STYLE_OF: Final = itemgetter(1)

UNICODE: Final = Glyphs(work="█", queue="░", failed="▒", pause="·", span="─")
ASCII: Final = Glyphs(work="#", queue=".", failed="x", pause=" ", span="-")


@dataclass(frozen=True, slots=True)
class _Row:
    """What stands in a step's row, besides its bar."""

    node: StepNode
    label: Text
    time: str
    status: Text
    notes: Text


@dataclass(frozen=True, slots=True)
class _Layout:
    """The rows of a run, and how wide their bars are."""

    rows: Sequence[_Row]
    total_ms: float
    width: int
    is_beside: bool
    """Bars stand beside names and notes, not below them."""
    glyphs: Glyphs

    def bar(self, row: _Row) -> Text:
        """The bar of a row."""
        return bar(row.node, self.total_ms, self.width, self.glyphs)


def timeline(run: Run, console: Console) -> RenderableType:
    """Every step as a row: its place, its bar, how long it took, how it ended, what it did.

    Where names and notes leave no room for a bar beside them, they stand above it.
    """
    layout = _layout(run, console)
    return _beside(layout) if layout.is_beside else _above(layout)


def _layout(run: Run, console: Console) -> _Layout:
    nodes = list(walk(step_tree(run.steps)))
    rows = [
        _Row(node, label, ms_text(node.ended_ms - node.started_ms), _status(node.record), _notes(node.record))
        for (node, _), label in zip(nodes, _labels(nodes), strict=True)
    ]
    total = max([run.duration_ms, *(node.ended_ms for node, _ in nodes)]) or 1.0
    glyphs = UNICODE if is_unicode(console) else ASCII
    figures = _longest([row.time for row in rows]) + _longest([row.status for row in rows]) + 2 * BETWEEN
    labels, notes = _longest([row.label for row in rows]), [row.notes for row in rows]
    beside = console.width - figures - labels - 2 * BETWEEN
    if beside - NARROWEST_BAR >= max(map(longest_word, notes)):
        width = max(NARROWEST_BAR, min(WIDEST_BAR, beside - min(_longest(notes), _WIDEST_NOTES) - BETWEEN))
        return _Layout(rows, total, width, True, glyphs)
    return _Layout(rows, total, max(NARROWEST_BAR, min(WIDEST_BAR, console.width - figures - BETWEEN)), False, glyphs)


def _beside(layout: _Layout) -> Table:
    table = Table.grid(padding=(0, BETWEEN))
    for right in (False, False, True, False):
        table.add_column(justify="right" if right else "left", no_wrap=True)
    table.add_column()
    table.add_row("", _scale(layout.total_ms, layout.width))
    for row in layout.rows:
        table.add_row(row.label, layout.bar(row), Text(row.time, "dim"), row.status, row.notes)
    return table


def _above(layout: _Layout) -> Group:
    longest = _longest([row.time for row in layout.rows])
    parts = [_scale(layout.total_ms, layout.width)]
    for row in layout.rows:
        parts.append(Text("  ").join(each for each in (row.label, row.notes) if each.plain))
        figures = Text.assemble(f"  {row.time:>{longest}}  ", row.status)
        parts.append(Text.assemble(layout.bar(row), figures))
    return Group(*parts)


def _scale(total_ms: float, width: int) -> Text:
    end = ms_text(total_ms)
    return Text("0".ljust(width - len(end)) + end, "dim")


def legend(run: Run, console: Console) -> Text:
    """What the shades mean, of those that occur."""
    layout = _layout(run, console)
    glyphs, attempts = layout.glyphs, [each for step in run.steps for each in step.attempts]
    occurs = {
        f"{glyphs.work} working": any(glyphs.work in layout.bar(row).plain for row in layout.rows),
        f"{glyphs.queue} waiting": any(map(_waits, run.steps)),
        f"{glyphs.failed} failed attempt": any(each.error and _was_made(each) for each in attempts),
        f"{glyphs.pause} not asked, or between attempts": glyphs.pause.strip() and any(map(_pauses, run.steps)),
    }
    return Text("  ".join(told for told, is_there in occurs.items() if is_there), "dim")


def bar(node: StepNode, total_ms: float, width: int, glyphs: Glyphs) -> Text:
    """A step's bar on a line `width` columns long that stands for `total_ms`; at least one column when it ran."""
    cells = [(" ", "")] * width

    def fill(start_ms: float, end_ms: float, char: str, style: str) -> None:
        first = min(width - 1, max(0, int(start_ms / total_ms * width)))
        last = min(width, max(first + 1, round(end_ms / total_ms * width)))
        cells[first:last] = [(char, style)] * (last - first)

    record = node.record
    if record is None or (not record.component and node.children):
        fill(node.started_ms, node.ended_ms, glyphs.span, "dim")
    elif record.status is not StepStatus.SKIPPED:
        style = STATUS_STYLES.get(record.status) or "green"
        if record.attempts:
            fill(record.started_ms, record.ended_ms, glyphs.pause, "dim")
        for attempt in record.attempts or (_sole_attempt(record),):
            worked_ms = attempt.started_ms + attempt.queue_ms
            if attempt.queue_ms:
                fill(attempt.started_ms, worked_ms, glyphs.queue, style)
            if not _was_made(attempt):
                continue
            failed = attempt.error is not None
            fill(worked_ms, worked_ms + attempt.service_ms, glyphs.failed if failed else glyphs.work,
                 "red" if failed else style)  # fmt: skip
    return Text.assemble(*(("".join(char for char, _ in same), style) for style, same in groupby(cells, _STYLE_OF)))


def _was_made(attempt: Attempt) -> bool:
    """Whether its component was asked: not when an open breaker or a full bulkhead refused it."""
    return attempt.error is None or attempt.error.code not in (BreakerOpenError.code, ShedError.code)


def _sole_attempt(record: StepRecord) -> Attempt:
    """The only attempt, which the record does not spell out; whatever was no waiting counts as work."""
    queue_ms = record.queue_ms
    service_ms = record.ended_ms - record.started_ms - queue_ms
    return Attempt(started_ms=record.started_ms, queue_ms=queue_ms, service_ms=max(0.0, service_ms))


def _labels(nodes: list[tuple[StepNode, int]]) -> list[Text]:
    """Names under one another; a round's number stands at its first step only."""
    labels = []
    shown: tuple[str, int | None] = ("", None)
    for node, depth in nodes:
        here = (node.path.rpartition("[")[0], node.index)
        index = "" if node.index is None else f"[{node.index}] "
        if here == shown and node.name:
            index = " " * len(index)
        shown = here
        style = "" if node.record is None or node.record.component else "bold"
        labels.append(Text.assemble("  " * depth, (index, "dim"), (node.name, style)))
    return labels


def _status(record: StepRecord | None) -> Text:
    return Text("not ended", "dim") if record is None else status_text(record.status, record.reason)


def _notes(record: StepRecord | None) -> Text:
    return Text("") if record is None else Text(", ").join(_facts(record))


def _facts(record: StepRecord) -> Iterator[Text]:
    if record.component and record.status is not StepStatus.SKIPPED:
        action = f" {record.action}" if record.action else ""
        yield Text(f"{record.effect.value}{action}", EFFECT_STYLES[record.effect])
    for choice in record.actions:
        chance = " forced" if choice.forced else f" p={choice.propensity:.2f}"
        yield Text.assemble(f"{choice.name} = ", (choice.chosen, "bold"), (chance, "dim"))
    made = sum(map(_was_made, record.attempts))
    if made > 1:
        yield Text(f"{made} attempts", "yellow")
    if turned_away := len(record.attempts) - made:
        yield Text(f"not asked {count_text(turned_away, 'time')}", "yellow")
    if copies := copies_of(record):
        yield Text(f"hedged by {count_text(copies, 'copy', 'copies')}", "yellow")
    if record.is_quarantined:
        yield Text("quarantined", "yellow")
    if record.reused_from:
        yield Text("reused", "dim")
    if record.simulated:
        yield Text("simulated", "magenta")


def _waits(step: StepRecord) -> bool:
    return step.queue_ms > 0 or any(attempt.queue_ms > 0 for attempt in step.attempts)


def _pauses(step: StepRecord) -> bool:
    return len(step.attempts) > 1 or not all(map(_was_made, step.attempts))


def _longest(texts: "list[Text] | list[str]") -> int:
    return max(map(len, texts), default=0)
