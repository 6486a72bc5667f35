"""`stretto runs import`: runs that another store exported."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from stretto.cli.help import VerbCommand
from stretto.cli.options import AsJson, StorePath
from stretto.cli.terminal import print_json, show
from stretto.cli.words import count_text
from stretto.runtime.load import store_path
from stretto.store.sqlite import Store

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def import_runs(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What an export wrote.", show_default=False)],
    blobs: Annotated[
        Path | None,
        typer.Option("--blobs", metavar="FOLDER", help="Where arrays are. [default: FILE with .blobs for its ending]"),
    ] = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Take in exported runs; what is there already stays as it is. The whole file is checked first.

    Imported runs can be listed, shown, replayed and learnt from, not resumed: their own store may be doing that.
    """
    with Store(store_path(store)) as kept:
        taken = kept.import_(file, blobs_dir=blobs)
        path = kept.path
    if as_json:
        print_json({**msgspec.to_builtins(taken), "store": str(path)})
        return
    parts = [
        count_text(taken.runs, "run"), count_text(taken.effects, "write"), count_text(taken.annotations, "annotation")
    ]  # fmt: skip
    known = f"; {count_text(taken.already_here, 'record')} known already" if taken.already_here else ""
    show(f"{', '.join(parts)} imported into {path}{known}")
