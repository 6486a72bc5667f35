"""`stretto runs list`: recorded runs, newest first."""

from collections.abc import Collection, Sequence
from typing import Annotated, Final

import msgspec
import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from stretto.cli.help import VerbCommand
from stretto.cli.opened import opened
from stretto.cli.options import AsJson, StorePath
from stretto.cli.runs.filters import Purpose, Since, Split, Status, Task, Tenant, Workflow, read_filters
from stretto.cli.terminal import note, print_json, results, show
from stretto.cli.words import count_text, ms_text, number_text, status_text, time_text
from stretto.spec.source import printable
from stretto.store.reading import RunSummary
from stretto.types.enums import RunStatus
from stretto.types.json import JsonObject

app = typer.Typer(add_completion=False)

_ROOM_FOR_TIME: Final = 100
_ROOM_FOR_LABELS: Final = 130
"""Columns of a terminal from which on these are shown."""


@app.command(cls=VerbCommand)
def list_runs(
    workflow: Workflow = None,
    status: Status = None,
    task: Task = None,
    split: Split = None,
    purpose: Purpose = None,
    tenant: Tenant = None,
    since: Since = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many. [default: 20]")] = 20,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first. Parked runs, writes in doubt and interrupted runs are marked."""
    filters = read_filters(
        workflow=workflow, status=status, task=task, split=split, purpose=purpose, tenant=tenant, since=since
    )
    with opened(store) as kept:
        found = kept.list(limit=limit + 1, **filters)
        there_are_more, found = len(found) > limit, found[:limit]
        in_doubt = {effect.run_id for effect in kept.in_doubt()}
        interrupted = {run.id for run in kept.pending()}
        path = kept.path
    if as_json:
        print_json({"runs": [_document(run, in_doubt, interrupted) for run in found], "store": str(path)})
        return
    if not found:
        note(f"no such run in {path}")
        return
    show(_table(found, in_doubt, interrupted, results().width))
    if there_are_more:
        note(f"the newest {count_text(limit, 'run')}; --limit N shows more")


def _document(run: RunSummary, in_doubt: Collection[str], interrupted: Collection[str]) -> JsonObject:
    return {
        **msgspec.to_builtins(run),
        "in_doubt": run.id in in_doubt,
        "interrupted": run.id in interrupted,
    }


def _table(found: Sequence[RunSummary], in_doubt: Collection[str], interrupted: Collection[str], width: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    with_time, with_labels = width >= _ROOM_FOR_TIME, width >= _ROOM_FOR_LABELS
    table.add_column("run", no_wrap=True)
    if with_time:
        table.add_column("started", no_wrap=True, style="dim")
    table.add_column("workflow", overflow="fold")
    table.add_column("status", overflow="fold")
    table.add_column("took", justify="right", no_wrap=True)
    table.add_column("reward", justify="right", no_wrap=True)
    if with_labels:
        table.add_column("labels", overflow="ellipsis", no_wrap=True, style="dim")
    for run in found:
        cells: list[RenderableType] = [
            run.id,
            *([time_text(run.started_at_ns)] if with_time else []),
            f"{run.workflow} {run.version}",
            _status(run, in_doubt, interrupted),
            "" if run.status is None else ms_text(run.duration_ms),
            "" if run.reward is None else number_text(run.reward),
            *([_labels(run)] if with_labels else []),
        ]
        table.add_row(*cells)
    return table


def _status(run: RunSummary, in_doubt: Collection[str], interrupted: Collection[str]) -> Text:
    text = status_text(run.status, run.reason)
    if run.id in interrupted:
        text = Text.assemble(("interrupted", "bold yellow"))
    if run.id in in_doubt and run.status is not RunStatus.PARKED:  # parked says so itself
        text.append(", write in doubt", "bold red")
    return text


def _labels(run: RunSummary) -> str:
    pairs = [f"{name}={value}" for name, value in sorted(run.labels.items())]
    return printable(" ".join([*pairs, *(["simulated"] if run.simulated else [])]))
