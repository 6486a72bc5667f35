"""`stretto acp wrap`: what was not made for the protocol, behind it, by its declaration alone."""

import typer

from stretto.cli.acp.serve import serve
from stretto.cli.help import VerbCommand

app = typer.Typer(add_completion=False)

app.command(
    "wrap",
    cls=VerbCommand,
    help="Answer the protocol for what a file declares, a legacy program or an HTTP service; the same as serve.",
)(serve)
