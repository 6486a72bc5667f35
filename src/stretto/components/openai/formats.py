"""The forms of answer that can be asked for: text, any JSON object, or JSON of a schema."""

from enum import StrEnum
from typing import Final

from stretto.spec.suggest import nearest
from stretto.types.errors import UsageError
from stretto.types.json import Json, JsonObject

PARSED: Final = "parsed"
"""Output field with the JSON that the text holds."""


class Format(StrEnum):
    """`response_format.type` of the OpenAI API reference."""

    TEXT = "text"
    JSON_OBJECT = "json_object"
    JSON_SCHEMA = "json_schema"


def check_format(given: JsonObject, what: str) -> None:
    """Raise UsageError when a `response_format` is not of the API's form."""
    kind = given.get("type")
    if kind not in list(Format):
        near = nearest(str(kind), list(Format))
        raise UsageError(f"{what} has type {kind!r}; expected {near or 'text, json_object or json_schema'}")
    named = given.get("json_schema")
    if kind != Format.JSON_SCHEMA:
        return
    if not (isinstance(named, dict) and isinstance(named.get("name"), str) and isinstance(named.get("schema"), dict)):
        expected = "{type: json_schema, json_schema: {name: ..., schema: {...}, strict: true}}"
        raise UsageError(f"{what} holds no named schema; expected {expected}")


def wants_json(given: Json) -> bool:
    """Whether the text that a `response_format` leads to is JSON."""
    return isinstance(given, dict) and given.get("type") in (Format.JSON_OBJECT, Format.JSON_SCHEMA)


def schema_of_parsed(given: JsonObject) -> JsonObject:
    """What `parsed` then holds, as a schema that stands under ``properties/parsed`` of the output's."""
    named = given.get("json_schema")
    schema = named.get("schema") if isinstance(named, dict) else None
    if not isinstance(schema, dict):
        return {"type": "object"}
    moved = {key: _moved(value) for key, value in schema.items() if key not in ("$schema", "$id")}
    return {"type": "object", **moved} if "properties" in moved else moved


def _moved(schema: Json) -> Json:
    """The same with every reference into the document pointing to where it now stands."""
    if isinstance(schema, list):
        return [_moved(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {key: _moved(value) for key, value in schema.items()}
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#"):
        moved["$ref"] = f"#/properties/{PARSED}{reference[1:]}"
    return moved
