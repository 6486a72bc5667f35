"""`stretto runs delete`: runs, with everything that is theirs alone."""

import sys
from typing import Annotated

import typer

from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.opened import opened
from stretto.cli.options import AsJson, StorePath
from stretto.cli.terminal import note, print_json, show
from stretto.cli.words import count_text
from stretto.runtime.finding import find_run
from stretto.types.errors import UsageError

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def delete_runs(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN", help="Ids, or their beginnings, or `last`.", show_default=False)
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also runs with a write in doubt, whose only trace the record is.")
    ] = False,
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """Delete runs with their steps, writes, annotations and content. It cannot be undone."""
    with opened(store) as kept:
        found = list(dict.fromkeys(find_run(kept, run).id for run in runs))
        if not yes and not _confirmed(len(found)):
            note("nothing was deleted")
            return Exit.FAILED
        count = kept.delete(found, force=force)
    if as_json:
        print_json({"deleted": count, "runs": list(found)})
    else:
        show(f"{count_text(count, 'run')} deleted")
    return Exit.OK


def _confirmed(count: int) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(f"deleting {count_text(count, 'run')} needs a yes, and nobody can be asked here; pass --yes")
    return typer.confirm(f"Delete {count_text(count, 'run')} for good?", err=True)
