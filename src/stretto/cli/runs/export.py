"""`stretto runs export`: runs as JSON Lines, for another store or another tool."""

from pathlib import Path
from typing import Annotated

import typer

from stretto.cli.help import VerbCommand
from stretto.cli.opened import opened
from stretto.cli.options import AsJson, StorePath
from stretto.cli.runs.filters import Purpose, Since, Split, Status, Task, Tenant, Workflow, read_filters
from stretto.cli.runs.target import hold_to_new
from stretto.cli.terminal import print_json, show
from stretto.cli.words import bytes_text, count_text
from stretto.types.arguments import INT64_MAX
from stretto.types.errors import UsageError

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def export_runs(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the lines go.", show_default=False)],
    blobs: Annotated[
        Path | None,
        typer.Option("--blobs", metavar="FOLDER", help="Where arrays go. [default: FILE with .blobs for its ending]"),
    ] = None,
    workflow: Workflow = None,
    status: Status = None,
    task: Task = None,
    split: Split = None,
    purpose: Purpose = None,
    tenant: Tenant = None,
    since: Since = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, max=INT64_MAX, help="At most so many.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Write sealed runs, oldest first, each with its writes and annotations, as JSON Lines.

    `stretto runs import` reads them back unchanged. Arrays of model calls go into a folder beside.
    """
    filters = read_filters(
        workflow=workflow, status=status, task=task, split=split, purpose=purpose, tenant=tenant, since=since
    )
    if str(file) == "-":
        raise UsageError(
            "an export is a file with a folder of arrays beside it, so it does not go to stdout; "
            "name a FILE, and print that: stretto runs export runs.jsonl && cat runs.jsonl"
        )
    hold_to_new(file, force=force)
    with opened(store) as kept:
        if next(kept.runs(limit=1, **filters), None) is None:
            raise UsageError(f"no such run has ended in {kept.path}, so {file} was not written; widen the filters")
        count = kept.export(file, blobs_dir=blobs, limit=limit, **filters)
    size = file.stat().st_size
    if as_json:
        print_json({"runs": count, "file": str(file), "bytes": size})
    else:
        show(f"{count_text(count, 'run')} in {file}, {bytes_text(size)}")
