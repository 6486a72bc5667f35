"""`stretto config unset`: what the file says holds again."""

import typer

from stretto.cli.config.changing import By, File, Key, Reason, change
from stretto.cli.help import VerbCommand
from stretto.cli.options import AsJson, StorePath

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def unset_setting(
    file: File,
    key: Key,
    by: By = None,
    reason: Reason = "",
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """Take a change back: what the file says holds again, from the next call on."""
    return change(file, key, None, by, reason, store, as_json=as_json)
