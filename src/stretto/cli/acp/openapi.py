"""`stretto acp openapi`: the HTTP form of the protocol, for those who generate clients and servers."""

import typer

from stretto.acp.server.openapi import openapi as document
from stretto.cli.help import VerbCommand
from stretto.cli.options import AsJson
from stretto.cli.terminal import print_json

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def openapi(
    as_json: AsJson = False,  # noqa: ARG001  # the result is JSON either way; the flag is there because all verbs have it
) -> None:
    """Print the OpenAPI 3.1 document of the HTTP form; a server has it at /acp/v1/openapi.json."""
    print_json(document())
