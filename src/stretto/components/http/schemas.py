"""What a service takes and gives, as schemas."""

from collections.abc import Iterable, Mapping
from typing import Final

from stretto.components.http.action import Action
from stretto.components.http.settings import ONLY
from stretto.plan.valuetype import Kind, ValueType
from stretto.types.json import Json, JsonObject

_SCALARS: Final = frozenset({Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.STRING})

WHOLE_ANSWER: Final[JsonObject] = {
    "type": "object",
    "properties": {"status": {"type": "integer"}, "body": {}},
    "required": ["status", "body"],
    "additionalProperties": False,
}
"""What is given where nothing says what the answer is."""


def of_fields(names: Iterable[str]) -> JsonObject:
    """An object of which only the names are known."""
    listed: list[Json] = [*names]
    properties: JsonObject = {name: {} for name in listed if isinstance(name, str)}
    return {"type": "object", "properties": properties, "required": listed, "additionalProperties": False}


def of_built(built: ValueType) -> JsonObject:
    """An object whose fields are built by expressions, as far as their types say what they give."""
    schema = of_fields(built.fields)
    schema["properties"] = {name: _of_type(kind) for name, kind in built.fields.items()}
    return schema


def _of_type(kind: ValueType) -> JsonObject:
    if kind.kind not in _SCALARS:
        return {}
    return {"type": [kind.kind.value, "null"] if kind.nullable else kind.kind.value}


def implied_input(names: Iterable[str]) -> JsonObject:
    """What a request must hold where the declaration names no fields: those that its address has a place for."""
    needed: list[Json] = [*dict.fromkeys(names)]
    properties: JsonObject = {name: {} for name in needed if isinstance(name, str)}
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": True}


def input_schema(actions: Mapping[str, Action], action_field: str) -> JsonObject:
    """The one action's input, or the name of an action beside the input of that.

    By condition and not by alternative: what a request lacks is then said of the action that it names.
    """
    if ONLY in actions:
        return actions[ONLY].input
    names: list[Json] = [*actions]
    fields: JsonObject = {}
    for action in actions.values():
        for field, schema in _fields(action.input).items():
            fields[field] = schema if fields.get(field, schema) == schema else {}
    conditions: list[Json] = [_condition(name, action.input, action_field) for name, action in actions.items()]
    return {
        "type": "object",
        "properties": {action_field: {"type": "string", "enum": names}, **fields},
        "required": [action_field],
        "additionalProperties": any(
            action.input.get("additionalProperties") is not False for action in actions.values()
        ),
        "allOf": conditions,
    }


def output_schema(actions: Mapping[str, Action]) -> JsonObject:
    """The one action's output, or any of theirs."""
    if ONLY in actions:
        return actions[ONLY].output
    outputs: list[Json] = []
    for action in actions.values():
        if action.output not in outputs:
            outputs.append(action.output)
    if len(outputs) == 1 and isinstance(outputs[0], dict):
        return outputs[0]
    return {"type": "object", "anyOf": outputs}


def _condition(name: str, schema: JsonObject, action_field: str) -> JsonObject:
    then = {**schema, "properties": {action_field: {}, **_fields(schema)}}
    return {"if": {"properties": {action_field: {"const": name}}}, "then": then}


def _fields(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}
