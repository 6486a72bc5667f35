"""A sample of a schema is one that the schema takes, and keeps what was given and fits."""

from typing import Any

import pytest

from stretto.plan.check import Check
from stretto.plan.sample import sample_of
from stretto.types.json import Schema


def of(required: dict[str, Any], **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": required, "required": list(required), **more}
    return {**schema, "additionalProperties": False}


def test_a_schema_that_is_a_reference_is_followed() -> None:
    schema: Schema = {"$ref": "#/$defs/order", "$defs": {"order": of({"id": {"type": "integer"}})}}
    number: Schema = {"$ref": "#/$defs/no", "$defs": {"no": {"type": "integer"}}}
    assert sample_of(schema, {}) == {"id": 0}
    assert sample_of(number, {}) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ({"type": "string"}, "..."),
        ({"type": "string", "minLength": 5}, "....."),
        ({"type": "string", "maxLength": 2}, ".."),
        ({"enum": ["a", "b"]}, "a"),
        ({"const": 7}, 7),
        ({"type": "string", "examples": ["an order"]}, "an order"),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "integer", "exclusiveMinimum": 3}, 4),
        ({"type": "number", "minimum": 0, "maximum": 1}, 0),
        ({"type": "boolean"}, False),
        ({"type": ["null", "string"]}, None),
        ({"type": ["string", "number"], "pattern": "^[0-9]+$", "minimum": 0, "maximum": 9}, 0),
        ({"type": "array", "items": {"type": "integer"}}, [0]),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2}, ["...", "..."]),
        (of({"id": {"type": "string"}}), {"id": "..."}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 0),
        ({"$ref": "#/$defs/order"}, {"id": 0}),
        (True, None),
    ],
)
def test_a_required_field_is_made_up_so_that_it_fits(field: Any, value: Any) -> None:
    schema = of({"it": field}, **{"$defs": {"order": of({"id": {"type": "integer"}})}})
    assert sample_of(schema, {}) == {"it": value}
    assert not Check(schema).violations({"it": value})


def test_what_was_given_stays_where_it_fits_and_goes_where_it_does_not() -> None:
    schema = of({"query": {"type": "string"}, "size": {"type": "integer"}})
    assert sample_of(schema, {"query": "oslo", "size": "big", "colour": "red"}) == {"query": "oslo", "size": 0}


@pytest.mark.parametrize("value", [2**63, float("nan"), "\ud800", [[2**63]]])
def test_what_was_given_and_is_not_json_is_not_given_back(value: Any) -> None:
    assert sample_of({"type": "object"}, {"query": "oslo", "size": value}) == {"query": "oslo"}


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "pattern": "^[0-9]+$"},
        {"not": {}},
        {"type": "string", "minLength": 10**12},
        {"type": "array", "minItems": 10**12},
    ],
)
def test_where_none_is_found_there_is_none(field: Any) -> None:
    assert sample_of(of({"it": field}), {}) is None


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = of({"it": {"$ref": "#/$defs/it"}}, **{"$defs": {"it": {"$ref": "#/$defs/it"}}})
    assert sample_of(schema, {}) is None or sample_of(schema, {}) == {"it": None}
