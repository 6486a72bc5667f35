"""Schemas without references, so that whoever follows a path into one finds plain ``properties``."""

from typing import Final, cast

from stretto.types.json import Json, JsonObject

PREFIX: Final = "#/$defs/"


def inlined(schema: JsonObject) -> JsonObject:
    """The same schema with each reference replaced by what it stands for; only recursive types keep theirs."""
    definitions = cast("dict[str, Json]", schema.get("$defs", {}))
    recursive = {name for name in definitions if name in _reached(definitions[name], definitions, set())}
    body = {key: value for key, value in schema.items() if key != "$defs"}
    flat = cast("JsonObject", _replaced(body, definitions, recursive))
    if recursive:
        flat["$defs"] = {name: _replaced(definitions[name], definitions, recursive) for name in sorted(recursive)}
    return flat


def _reached(node: Json, definitions: dict[str, Json], seen: set[str]) -> set[str]:
    """Names of all definitions that a part of a schema refers to, directly or not."""
    if isinstance(node, list):
        for item in node:
            _reached(item, definitions, seen)
    elif isinstance(node, dict):
        name = _target(node)
        if name in definitions and name not in seen:
            seen.add(name)
            _reached(definitions[name], definitions, seen)
        for item in node.values():
            _reached(item, definitions, seen)
    return seen


def _replaced(node: Json, definitions: dict[str, Json], recursive: set[str]) -> Json:
    if isinstance(node, list):
        return [_replaced(item, definitions, recursive) for item in node]
    if not isinstance(node, dict):
        return node
    name = _target(node)
    if name not in definitions or name in recursive:
        return {key: _replaced(value, definitions, recursive) for key, value in node.items()}
    beside = {key: _replaced(value, definitions, recursive) for key, value in node.items() if key != "$ref"}
    return {**cast("JsonObject", _replaced(definitions[name], definitions, recursive)), **beside}


def _target(node: JsonObject) -> str:
    """The definition that a node refers to; empty when it refers to none."""
    reference = node.get("$ref")
    return reference.removeprefix(PREFIX) if isinstance(reference, str) and reference.startswith(PREFIX) else ""
