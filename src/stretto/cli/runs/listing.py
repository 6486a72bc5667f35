"""`stretto runs list`: recorded runs, newest first."""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Final

import msgspec
import typer
from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from stretto.cli.help import VerbCommand
from stretto.cli.opened import opened
from stretto.cli.options import AsJson, StorePath
from stretto.cli.runs.filters import Purpose, Since, Split, Status, Task, Tenant, Workflow, read_filters
from stretto.cli.terminal import note, print_json, results, show
from stretto.cli.words import count_text, escaped, ms_text, number_text, status_text, time_text
from stretto.store.reading import RunSummary
from stretto.types.arguments import INT64_MAX
from stretto.types.enums import RunStatus
from stretto.types.json import JsonObject

app = typer.Typer(add_completion=False)

_GAP: Final = 2
"""Cells between two columns."""

_WORKFLOW: Final = "workflow"
_LEAST_WORKFLOW: Final = 10
_LEAST_LABELS: Final = 24
"""Cells below which these say nothing any more."""


@app.command(cls=VerbCommand)
def list_runs(
    workflow: Workflow = None,
    status: Status = None,
    task: Task = None,
    split: Split = None,
    purpose: Purpose = None,
    tenant: Tenant = None,
    since: Since = None,
    limit: Annotated[
        int,
        typer.Option("--limit", metavar="N", min=1, max=INT64_MAX, help="At most so many. [default: 20]"),
    ] = 20,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first. Parked runs, writes in doubt, interrupted and quarantined runs are marked."""
    filters = read_filters(
        workflow=workflow, status=status, task=task, split=split, purpose=purpose, tenant=tenant, since=since
    )
    with opened(store) as kept:
        found = kept.list(limit=min(limit + 1, INT64_MAX), **filters)
        there_are_more, found = len(found) > limit, found[:limit]
        in_doubt = {effect.run_id for effect in kept.in_doubt()}
        marks = _Marks(
            in_doubt=in_doubt,
            interrupted={run.id for run in kept.pending()},
            quarantined=kept.quarantined([run.id for run in found]),
        )
        path = kept.path
    if as_json:
        print_json({"runs": [_document(run, marks) for run in found], "store": str(path)})
        return
    if not found:
        note(f"no such run in {path}")
        return
    show(_table(found, marks, results().width))
    if there_are_more:
        note(f"the newest {count_text(limit, 'run')}; --limit N shows more")


class _Marks(msgspec.Struct, frozen=True, kw_only=True):
    """Ids of runs that stand out."""

    in_doubt: Collection[str]
    interrupted: Collection[str]
    quarantined: Collection[str]


def _document(run: RunSummary, marks: _Marks) -> JsonObject:
    return {
        **msgspec.to_builtins(run),
        "in_doubt": run.id in marks.in_doubt,
        "interrupted": run.id in marks.interrupted,
        "quarantined": run.id in marks.quarantined,
    }


class _Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column of the listing. Ids, statuses and times stand in one piece: what is copied must not be torn apart."""

    name: str
    cells: Sequence[RenderableType]
    least: int = 0
    """Cells that it may be narrowed to; 0 when it stands in one piece."""
    options: Mapping[str, Any] = msgspec.field(default_factory=dict)  # Any: what rich takes

    @property
    def widest(self) -> int:
        """Cells that it fills, with the gap after it."""
        return max(len(self.name), *(_cells(cell) for cell in self.cells)) + _GAP

    @property
    def takes(self) -> int:
        """Cells that it needs, with the gap after it."""
        return min(self.widest, self.least + _GAP if self.least else self.widest)


def _table(found: Sequence[RunSummary], marks: _Marks, width: int) -> Table:
    table = Table(box=None, padding=(0, _GAP, 0, 0), header_style="dim", pad_edge=False)
    columns = _fitting(_columns(found, marks), width + _GAP)
    others = sum(column.takes for column in columns if column.name != _WORKFLOW)
    if others + next(column.widest for column in columns if column.name == _WORKFLOW) > width + _GAP:
        columns = _fitting(_columns(found, marks, versions=False), width + _GAP)
    for column in columns:
        if column.least:
            table.add_column(column.name, min_width=min(column.least, column.takes - _GAP), **column.options)
        else:
            table.add_column(column.name, no_wrap=True, **column.options)
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*cells)
    return table


def _columns(found: Sequence[RunSummary], marks: _Marks, *, versions: bool = True) -> tuple[_Column, ...]:
    right = {"justify": "right"}
    return (
        _Column(name="run", cells=[run.id for run in found]),
        _Column(name="started", cells=[time_text(run.started_at_ns) for run in found], options={"style": "dim"}),
        _Column(
            name=_WORKFLOW,
            cells=[escaped(f"{run.workflow} {run.version}" if versions else run.workflow) for run in found],
            least=_LEAST_WORKFLOW,
            options={"overflow": "ellipsis", "no_wrap": True},
        ),
        _Column(name="status", cells=[_status(run, marks) for run in found]),
        _Column(
            name="took", cells=["" if run.status is None else ms_text(run.duration_ms) for run in found], options=right
        ),
        _Column(
            name="reward", cells=["" if run.reward is None else number_text(run.reward) for run in found], options=right
        ),
        _Column(
            name="labels",
            cells=[_labels(run) for run in found],
            least=_LEAST_LABELS,
            options={"overflow": "ellipsis", "no_wrap": True, "style": "dim"},
        ),
    )


def _fitting(columns: Sequence[_Column], width: int) -> list[_Column]:
    """Those that say something and that there is room for: how long it took comes before when it was."""
    by_name = {column.name: column for column in columns}
    shown = {"run", _WORKFLOW, "status"}
    room = width - sum(by_name[name].takes for name in shown)
    for name in ("took", "reward", "started", "labels"):
        if not any(by_name[name].cells):
            continue
        room -= by_name[name].takes
        if room < 0:
            break
        shown.add(name)
    return [column for column in columns if column.name in shown]


def _cells(cell: RenderableType) -> int:
    return cell.cell_len if isinstance(cell, Text) else cell_len(str(cell))


def _status(run: RunSummary, marks: _Marks) -> Text:
    is_quarantined = run.id in marks.quarantined
    text = status_text(run.status, None if is_quarantined else run.reason)  # 80 columns hold no more
    if run.id in marks.interrupted:
        text = Text.assemble(("interrupted", "bold yellow"))
    if is_quarantined:
        text.append(", quarantined", "yellow")
    if run.id in marks.in_doubt and run.status is not RunStatus.PARKED:  # parked says so itself
        text.append(", write in doubt", "bold red")
    return text


def _labels(run: RunSummary) -> str:
    pairs = [f"{name}={value}" for name, value in sorted(run.labels.items())]
    return escaped(" ".join([*pairs, *(["simulated"] if run.simulated else [])]))
