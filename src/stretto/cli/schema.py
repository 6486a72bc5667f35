"""`stretto schema`: the published JSON Schemas, for editors and other tools."""

import json
from enum import StrEnum
from typing import Annotated, Final

import typer

from stretto.cli.help import VerbCommand
from stretto.cli.options import AsJson
from stretto.cli.values import read_choice
from stretto.record.schema import json_schema
from stretto.spec.published import chaos_schema, contract_schema, workflow_schema

app = typer.Typer(add_completion=False)


class Document(StrEnum):
    """What has a published schema."""

    WORKFLOW = "workflow"
    CONTRACT = "contract"
    CHAOS = "chaos"
    RUN = "run"


_SCHEMAS: Final = {
    Document.WORKFLOW: workflow_schema,
    Document.CONTRACT: contract_schema,
    Document.CHAOS: chaos_schema,
    Document.RUN: json_schema,
}


@app.command(cls=VerbCommand)
def schema(
    of: Annotated[
        str, typer.Argument(metavar="WHAT", help="Whose: workflow, contract, chaos or run.", show_default=False)
    ],
    as_json: AsJson = False,  # noqa: ARG001  # the result is JSON either way; the flag is there because all verbs have it
) -> None:
    """Print the JSON Schema (2020-12) of a workflow, a contract, a chaos plan or a run."""
    typer.echo(json.dumps(_SCHEMAS[read_choice(of, Document, "schema")](), indent=2, ensure_ascii=False))
