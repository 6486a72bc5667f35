"""Checks that a JSON Schema is one. The only place of this layer that loads the validator, and only when it is used:
loading costs 50 ms, and most contracts are in shorthand."""

from typing import Final

from stretto.spec.codes import SpecCode
from stretto.spec.nodes import ListNode, MapNode, Node, ScalarNode, describe, node_at
from stretto.spec.report import Report
from stretto.spec.source import printable
from stretto.types.errors import Problem
from stretto.types.json import JsonObject, ValuePath

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_IS_NO_SCHEMA: Final = 'is not of types "boolean", "object"'
"""In the validator's message, when something stands where a schema should."""


def check_json_schema(node: MapNode, schema: JsonObject, report: Report) -> bool:
    """Whether a mapping is a JSON Schema 2020-12 that needs nothing from the network; reports what is wrong with it."""
    dialect = node.get("$schema")
    if dialect is not None and not (isinstance(dialect, ScalarNode) and dialect.text.rstrip("#") == DIALECT):
        expected = f"{DIALECT}, or no `$schema` at all"
        report.add(dialect.span.problem(SpecCode.SCHEMA, "this dialect of JSON Schema is not read", expected=expected))
        return False
    import jsonschema_rs

    try:
        jsonschema_rs.Draft202012Validator(schema, offline=True)
    except jsonschema_rs.ValidationError as error:
        report.add(_problem(node, error.instance_path, error.message))
        return False
    return True


def _problem(node: MapNode, path: ValuePath, message: str) -> Problem:
    reference = None if path else _reference_in(node, message)
    if reference is not None:
        what, expected = f"{describe(reference)} leads nowhere", "a place inside this schema, like #/$defs/order"
        return reference.span.problem(SpecCode.SCHEMA, what, expected=expected)
    place = node_at(node, path)
    expected, suggestion = printable(message), ""
    if path and path[-1] == "type":
        expected = "one of string, number, integer, boolean, array, object, null, or a list of these"
    elif isinstance(place, ScalarNode) and _IS_NO_SCHEMA in message:
        expected, suggestion = "a schema: shorthand cannot stand inside plain JSON Schema", f"{{type: {place.text}}}"
    what = f"{describe(place)} cannot stand here in a JSON Schema 2020-12"
    return place.span.problem(SpecCode.SCHEMA, what, expected=expected, suggestion=suggestion)


def _reference_in(node: Node, message: str) -> Node | None:
    """The `$ref` that a message is about: the validator names the target, not the place."""
    if isinstance(node, ListNode):
        children = node.items
    elif isinstance(node, MapNode):
        target = node.get("$ref")
        if isinstance(target, ScalarNode) and target.text.removeprefix("#") in message:
            return target
        children = tuple(entry.node for entry in node.entries.values())
    else:
        return None
    found = (_reference_in(child, message) for child in children)
    return next((place for place in found if place is not None), None)
