"""`stretto config set`: another value for one figure, from the next call on."""

from typing import Annotated

import typer

from stretto.cli.config.changing import By, File, Key, Reason, change
from stretto.cli.help import VerbCommand
from stretto.cli.options import AsJson, StorePath

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def set_setting(
    file: File,
    key: Key,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="As in the file: 800ms, 5, 0.2.", show_default=False)],
    by: By = None,
    reason: Reason = "",
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """Change one figure of a workflow, in every process that runs it on this store, from its next call on.

    A value that the file could not hold, or that contradicts another, is refused. Who, when and why is kept.
    """
    return change(file, key, value, by, reason, store, as_json=as_json)
