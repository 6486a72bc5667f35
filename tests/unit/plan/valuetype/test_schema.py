"""Reading JSON Schema as types."""

from typing import Any

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from stretto.plan.valuetype import (
    BOOL,
    DYN,
    FLOAT,
    INT,
    NULL,
    STRING,
    Kind,
    ValueType,
    array_of,
    at,
    from_schema,
    render,
)
from stretto.plan.valuetype.model import OPAQUE

AB = ValueType(kind=Kind.STRING, values=("a", "b"))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, STRING),
        ({"type": "integer"}, INT),
        ({"type": "number"}, FLOAT),
        ({"type": "boolean"}, BOOL),
        ({"type": "null"}, NULL),
        ({"type": ["string", "null"]}, STRING.or_null()),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, STRING.or_null()),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, STRING.or_null()),
        ({"enum": ["a", "b"]}, AB),
        ({"enum": ["a", "b", None]}, AB.or_null()),
        ({"type": "string", "enum": ["a", "b", None]}, AB),
        ({"const": "a"}, ValueType(kind=Kind.STRING, values=("a",))),
        ({"type": "array", "items": {"type": "integer"}}, array_of(INT)),
        ({"type": "array"}, array_of(DYN)),
        ({}, DYN),
        (True, DYN),
        ({"description": "whatever it is", "default": 3}, DYN),
        ({"enum": [True, False]}, BOOL),
        ({"type": "object"}, ValueType(kind=Kind.OBJECT, rest=DYN)),
    ],
)
def test_schemas_read_as_types(schema: Any, expected: ValueType) -> None:
    assert from_schema(schema) == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "minLength": 1}, {("minLength", "1")}),
        ({"enum": [1, 2]}, {("enum", "[1,2]")}),
        ({"enum": [True]}, {("enum", "[true]")}),
        ({"enum": [True, None]}, {("enum", "[true,null]")}),
        ({"type": "string", "not": {"const": "x"}}, {(OPAQUE, "")}),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, {(OPAQUE, "")}),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, {(OPAQUE, "")}),
        ({"anyOf": [{"enum": [1, 2]}, {"type": "null"}]}, {(OPAQUE, "")}),
        ({"type": ["string", "integer"]}, {(OPAQUE, "")}),
        (False, None),
        ({"items": {"properties": {"a": {}}}}, {(OPAQUE, "")}),
    ],
)
def test_what_a_type_does_not_show_is_kept_as_a_constraint(schema: Any, expected: set[tuple[str, str]] | None) -> None:
    if expected is not None:
        assert from_schema(schema).constraints == expected


def test_items_after_a_prefix_do_not_type_the_whole_array() -> None:
    schema: Any = {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}}
    assert from_schema(schema).item == DYN


@pytest.mark.parametrize(
    ("schema", "readable", "sealed"),
    [
        ({"properties": {"a": {}}}, False, False),
        ({"properties": {"a": {}}, "additionalProperties": False}, False, True),
        ({"properties": {"a": {}}, "additionalProperties": True}, True, False),
        ({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}, True, False),
        ({"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": False}, True, False),
        ({"type": "object"}, True, False),
        ({"type": "object", "required": ["a"]}, True, False),
        ({"type": "object", "additionalProperties": False}, False, True),
    ],
)
def test_declared_fields_close_an_object_to_reading_unless_others_are_spoken_of(
    schema: Any, readable: bool, sealed: bool
) -> None:
    found = from_schema(schema)
    assert isinstance(at(found, "other"), ValueType) is readable
    assert found.sealed is sealed


def test_an_alternative_of_objects_can_be_read_by_the_fields_of_all() -> None:
    card = {
        "type": "object",
        "properties": {"kind": {"const": "card"}, "last4": {"type": "string"}},
        "required": ["kind"],
    }
    bank = {
        "type": "object",
        "properties": {"kind": {"const": "bank"}, "iban": {"type": "string"}},
        "required": ["kind"],
    }
    choices: Any = {"oneOf": [card, bank]}
    found = from_schema(choices)
    assert found.kind is Kind.OBJECT
    kind = at(found, "kind")
    assert isinstance(kind, ValueType)
    assert kind.values == ("card", "bank")
    assert isinstance(at(found, "iban"), ValueType)
    assert not isinstance(at(found, "ibna"), ValueType)


def test_all_of_narrows() -> None:
    base: Any = {"type": "object", "properties": {"a": {"type": "number"}}}
    more: Any = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}
    both: Any = {"allOf": [base, more]}
    found = from_schema(both)
    assert (found.fields["a"], found.fields["b"], found.required) == (INT, STRING, frozenset({"a"}))


class Item(BaseModel):
    sku: str = Field(min_length=1)
    note: str | None = None
    children: "list[Item]" = []


class Order(BaseModel):
    items: list[Item]
    status: "Status"
    meta: dict[str, int] = {}


class Status(BaseModel):
    code: int


def test_references_of_pydantic_models_are_followed_and_recursion_ends_in_dyn() -> None:
    found = from_schema(TypeAdapter(Order).json_schema())
    assert render(found.fields["items"]) == "array[object]"
    assert found.fields["status"].fields["code"] == INT
    item = found.fields["items"].item
    assert item is not None
    assert at(item, "note") == STRING.or_null()
    children = item.fields["children"].item
    assert children is not None
    assert children.kind is Kind.DYN
    assert at(found.fields["meta"], "any") == INT.or_null()


@pytest.mark.parametrize("reference", ["#/$defs/none", "other.json", "#/$defs/a/type/x", "#/$defs/loop"])
def test_a_reference_that_leads_nowhere_is_dyn_and_proves_nothing(reference: str) -> None:
    document: Any = {"$ref": reference, "$defs": {"a": {"type": "string"}, "loop": {"$ref": "#/$defs/loop"}}}
    found = from_schema(document)
    assert found.kind is Kind.DYN
    assert found.constraints == {(OPAQUE, "")}


def test_references_that_multiply_do_not_blow_up() -> None:
    definitions: dict[str, Any] = {"n0": {"type": "string"}}
    for level in range(1, 30):
        two = {"$ref": f"#/$defs/n{level - 1}"}
        definitions[f"n{level}"] = {"type": "object", "properties": {"a": two, "b": two}}
    assert from_schema({"$ref": "#/$defs/n29", "$defs": definitions}).kind is Kind.OBJECT
