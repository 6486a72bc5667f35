"""`stretto acp proto`: the schema itself."""

import sys

import typer

from stretto.acp.v1.words import proto as schema
from stretto.cli.help import VerbCommand
from stretto.cli.options import AsJson
from stretto.cli.terminal import print_json

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def proto(as_json: AsJson = False) -> None:
    """Print acp/v1/acp.proto, from which protoc makes clients and servers in other languages."""
    if as_json:
        print_json({"file": "acp/v1/acp.proto", "proto": schema()})
    else:
        sys.stdout.write(schema())
