"""JSON Schema of a message, from its fields: what the card says, and the engine holds every call to."""

from collections.abc import Sequence

from stretto.components.exec.declared_field import Field
from stretto.types.json import Json, JsonObject


def input_schema(fields: Sequence[tuple[Field, JsonObject]], rows: str) -> JsonObject:
    """Of a request: an optional field may be null or missing."""
    return _message(fields, rows, [field.name for field, _ in fields if not field.optional])


def output_schema(fields: Sequence[tuple[Field, JsonObject]], rows: str) -> JsonObject:
    """Of an answer: an optional field may be null."""
    return _message(fields, rows, [field.name for field, _ in fields])


def _message(fields: Sequence[tuple[Field, JsonObject]], rows: str, required: Sequence[str]) -> JsonObject:
    row = closed_object({field.name: _of_field(field, schema) for field, schema in fields}, required)
    return with_rows(row, rows)


def with_rows(row: JsonObject, rows: str) -> JsonObject:
    """Of a message whose rows are listed under a name; of one row when there is no name."""
    return closed_object({rows: {"type": "array", "items": row}}, [rows]) if rows else row


def closed_object(properties: JsonObject, required: Sequence[str]) -> JsonObject:
    """An object of these properties and no others."""
    names: list[Json] = [*required]
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def _of_field(field: Field, schema: JsonObject) -> JsonObject:
    if field.optional:
        schema = {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "description": field.means} if field.means else schema
