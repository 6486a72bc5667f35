"""A value that a schema takes, to show somebody who gave another."""

from collections.abc import Mapping
from typing import Any, Final

from stretto.plan.check import Check
from stretto.record.canonical import snapshot
from stretto.types.errors import NotJsonError
from stretto.types.json import Json, JsonObject, Schema

_PLACEHOLDER: Final = "..."
"""Text to be replaced."""

_DEEPEST: Final = 8
"""Of a schema that refers to itself; a sample deeper than this explains nothing."""


_LONGEST: Final = 100
"""Characters of made-up text; a schema may ask for more than memory holds."""

_MOST: Final = 4
"""Items of a made-up list, which are as many again inside each other."""


def sample_of(schema: Schema, given: Mapping[str, Json]) -> JsonObject | None:
    """An object that the schema takes: what was given, as far as it fits, and what else is required made up.

    None when none is found: a pattern, for instance, says no to what is made up.
    """
    made = _value(schema, schema, 0) if "$ref" in schema else _object(schema, schema, 0)
    if not isinstance(made, dict):
        return None
    check = Check(schema)
    fits = {name: value for name, value in given.items() if _fits(check, {**made, name: value})}
    sample = {**made, **fits}
    return None if check.violations(sample) else sample


def _fits(check: Check, value: JsonObject) -> bool:
    try:
        snapshot(value)
    except NotJsonError:
        return False
    return not check.violations(value)


def _object(schema: Mapping[str, Any], root: Schema, depth: int) -> JsonObject:  # Any: a part of a JSON Schema
    properties = schema.get("properties", {})
    return {name: _value(properties.get(name, {}), root, depth + 1) for name in schema.get("required", ())}


def _value(schema: Any, root: Schema, depth: int) -> Json:  # Any: a part of a JSON Schema, which may be true or false
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    for ready in ("const", "default"):
        if ready in schema:
            found: Json = schema[ready]
            return found
    for several in ("enum", "examples"):
        if schema.get(several):
            first: Json = schema[several][0]
            return first
    if "$ref" in schema:
        return _value(_referred(str(schema["$ref"]), root), root, depth + 1)
    for either in ("anyOf", "oneOf", "allOf"):
        if schema.get(either):
            return _value(schema[either][0], root, depth + 1)
    return _of_type(schema, root, depth)


def _of_type(schema: Mapping[str, Any], root: Schema, depth: int) -> Json:
    match _type_of(schema):
        case "object":
            return _object(schema, root, depth)
        case "array":
            return [_value(schema.get("items", {}), root, depth + 1)] * min(int(schema.get("minItems", 1)), _MOST)
        case "string":
            text = _PLACEHOLDER.ljust(min(int(schema.get("minLength", 0)), _LONGEST), ".")
            return text[: schema.get("maxLength")]
        case "integer" | "number":
            low, high = schema.get("minimum", schema.get("exclusiveMinimum", 0)), schema.get("maximum")
            number: Json = low if high is None or high >= 1 + low else high
            return 1 + low if "exclusiveMinimum" in schema else number
        case "boolean":
            return False
        case _:
            return None


def _type_of(schema: Mapping[str, Any]) -> Any:  # Any: a part of a JSON Schema
    """The first of its types; of a text that must fit a pattern, which no made-up text does, the next one."""
    types = schema.get("type", "string")
    if not isinstance(types, list):
        return types
    return types[1] if types[0] == "string" and "pattern" in schema and len(types) > 1 else types[0]


def _referred(pointer: str, root: Schema) -> Any:  # Any: a part of a JSON Schema
    found: Any = root
    for part in pointer.removeprefix("#/").split("/"):
        found = found.get(part, {}) if isinstance(found, Mapping) else {}
    return found
