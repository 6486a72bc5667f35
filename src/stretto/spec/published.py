"""The JSON Schemas of the files that people write, for editors to complete and check: from the tables that the parser
reads by."""

from typing import Any

from stretto.spec.chaos import CHAOS
from stretto.spec.contract import CONTRACT
from stretto.spec.json_schema import DIALECT
from stretto.spec.records import Record
from stretto.spec.workflow_keys import FORMAT_VERSION, WORKFLOW
from stretto.types.json import JsonObject


def workflow_schema() -> JsonObject:
    """JSON Schema 2020-12 of a workflow file.

    What a schema cannot say is left to the parser: names that stand once, files that are there, expressions.
    """
    return _document(WORKFLOW, "Stretto workflow")


def contract_schema() -> JsonObject:
    """JSON Schema 2020-12 of a contract file."""
    return _document(CONTRACT, "Stretto contract")


def chaos_schema() -> JsonObject:
    """JSON Schema 2020-12 of a chaos plan."""
    return _document(CHAOS, "Stretto chaos plan")


def _document(record: Record[Any], title: str) -> JsonObject:
    defs: JsonObject = {}
    body = record.body(defs)
    return {
        "$schema": DIALECT,
        "$id": f"urn:stretto:schema:{record.name}:{FORMAT_VERSION}",
        "title": title,
        **body,
        "$defs": dict(sorted(defs.items())),
    }
