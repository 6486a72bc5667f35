"""What may flow where, and what is proved to fit: checked against a validator on generated schemas and values."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import example, given, settings, strategies as st

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
    from_schema,
    may_be_null,
    mismatch,
    object_of,
    proves,
)

AB = ValueType(kind=Kind.STRING, values=("a", "b"))
CD = ValueType(kind=Kind.STRING, values=("c", "d"))
BC = ValueType(kind=Kind.STRING, values=("b", "c"))
PLAN = object_of({"steps": array_of(object_of({"type": STRING}))})


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (STRING, INT, "a string is not an integer"),
        (STRING.or_null(), INT.or_null(), "a string is not an integer"),
        (BOOL, INT, "a boolean is not an integer"),
        (array_of(INT), object_of({}), "an array is not an object"),
        (array_of(STRING), array_of(INT), "at '[]', a string is not an integer"),
        (NULL, STRING, "the value is always null, expected a string"),
        (AB, CD, "none of 'a', 'b' is one of 'c', 'd'"),
        (object_of({"a": INT}), object_of({"b": INT}), "the object lacks the required field 'b' (has only 'a')"),
        (
            object_of({"a": INT, "z": INT}),
            object_of({"a": INT}),
            "the object's field 'z' is not allowed (allowed: 'a')",
        ),
        (
            PLAN,
            object_of({"steps": array_of(object_of({"type": INT}))}),
            "at 'steps[].type', a string is not an integer",
        ),
    ],
)
def test_a_definite_mismatch_says_where_and_why(source: ValueType, target: ValueType, message: str) -> None:
    assert mismatch(source, target) == message


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (INT, FLOAT),
        (FLOAT, INT),  # it may be integral
        (INT.or_null(), INT),  # it may not be null
        (NULL, STRING.or_null()),
        (DYN, INT),
        (INT, DYN),
        (AB, BC),
        (AB, STRING),
        (array_of(DYN), array_of(INT)),
        (object_of({"a": INT}), object_of({"a": INT, "b": INT}, optional=["b"])),
        (ValueType(kind=Kind.OBJECT, rest=DYN), object_of({"b": INT})),
    ],
)
def test_what_may_fit_is_no_mismatch(source: ValueType, target: ValueType) -> None:
    assert mismatch(source, target) is None


@pytest.mark.parametrize(
    ("value_type", "expected"), [(STRING.or_null(), True), (NULL, True), (STRING, False), (DYN, False)]
)
def test_null_is_seen_where_a_type_says_so(value_type: ValueType, expected: bool) -> None:
    assert may_be_null(value_type) is expected


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (STRING, STRING, True),
        (INT, FLOAT, True),
        (FLOAT, INT, False),
        (STRING.or_null(), STRING, False),
        (STRING, STRING.or_null(), True),
        (NULL, STRING.or_null(), True),
        (DYN, STRING, False),
        (STRING, DYN, True),
        (AB, STRING, True),
        (STRING, AB, False),
        (AB, ValueType(kind=Kind.STRING, values=("a", "b", "c")), True),
        (array_of(INT), array_of(FLOAT), True),
        (array_of(DYN), array_of(FLOAT), False),
        (PLAN, PLAN, True),
        (object_of({"a": INT}), object_of({"a": FLOAT, "b": INT}, optional=["b"]), True),
        (object_of({"a": INT}, optional=["a"]), object_of({"a": INT}), False),
        (from_schema({"properties": {"a": {"type": "integer"}}}), object_of({"a": INT}, optional=["a"]), False),
    ],
)
def test_only_what_surely_fits_is_proved(source: ValueType, target: ValueType, expected: bool) -> None:
    assert proves(source, target) is expected


def test_a_constraint_is_proved_by_the_same_constraint_only() -> None:
    short: Any = {"type": "string", "maxLength": 5}
    assert proves(from_schema(short), from_schema(short))
    assert not proves(from_schema({"type": "string"}), from_schema(short))
    assert not proves(from_schema({"type": "string", "maxLength": 4}), from_schema(short))
    assert proves(from_schema(short), from_schema({"type": "string"}))


# Against a validator

names = st.sampled_from(["a", "b"])
scalar_schemas = st.sampled_from(
    [
        {},
        True,
        False,
        {"type": "string"},
        {"type": "string", "minLength": 2},
        {"type": "integer"},
        {"type": "integer", "minimum": 1},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "null"},
        {"type": ["string", "null"]},
        {"type": ["integer", "string"]},
        {"enum": ["x", "yy"]},
        {"enum": ["x", None]},
        {"enum": [1, None]},
        {"enum": [True, None]},
        {"const": 1},
        {"const": "x"},
        {"minLength": 2},
        {"not": {"type": "null"}},
        {"$ref": "#/$defs/d"},
    ]
)


def _wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    fields = {"properties": st.dictionaries(names, inner, max_size=2), "required": st.lists(names, unique=True)}
    objects = st.fixed_dictionaries({}, optional={**fields, "additionalProperties": inner})
    arrays = st.fixed_dictionaries(
        {}, optional={"items": inner, "prefixItems": some, "contains": inner, "minItems": st.just(1)}
    )
    return st.one_of(
        objects,
        objects.map(lambda schema: {**schema, "type": "object"}),
        arrays,
        arrays.map(lambda schema: {**schema, "type": "array"}),
        st.builds(lambda key, of: {key: of}, st.sampled_from(["anyOf", "oneOf", "allOf"]), some),
        st.builds(lambda one, other: {**one, "allOf": [other]} if isinstance(one, dict) else one, inner, inner),
    )


schemas = st.recursive(scalar_schemas, _wider, max_leaves=5)
documents = st.builds(
    lambda schema, shared: {**(schema if isinstance(schema, dict) else {"allOf": [schema]}), "$defs": {"d": shared}},
    schemas,
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
            {"enum": [1]},
        ]
    ),
)
values = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 2, 1.0, 1.5, "", "x", "yy", "zzz"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=2),
    max_leaves=5,
)


def _belongs(value: Any, value_type: ValueType) -> bool:
    """Whether a value is in the set that a type stands for."""
    kind = value_type.kind
    if kind is Kind.DYN or (value is None and value_type.nullable):
        return True
    if value is None or kind is Kind.NULL:
        return value is None and kind is Kind.NULL
    if kind is Kind.STRING:
        return isinstance(value, str) and (not value_type.values or value in value_type.values)
    if kind is Kind.BOOL or isinstance(value, bool):
        return kind is Kind.BOOL and isinstance(value, bool)
    if kind in (Kind.INT, Kind.FLOAT):
        return isinstance(value, (int, float)) and (kind is Kind.FLOAT or value == int(value))
    if kind is Kind.ARRAY:
        return isinstance(value, list) and all(_belongs(item, value_type.item or DYN) for item in value)
    return isinstance(value, dict) and _object_belongs(value, value_type)


def _object_belongs(value: dict[str, Any], value_type: ValueType) -> bool:
    if not value_type.required <= value.keys() or (value_type.sealed and not value.keys() <= value_type.fields.keys()):
        return False
    return all(_belongs(one, value_type.fields.get(name, value_type.rest or DYN)) for name, one in value.items())


@settings(max_examples=400, deadline=None)
@given(document=documents, value=values)
def test_a_type_holds_every_value_that_its_schema_allows(document: Any, value: Any) -> None:
    if jsonschema_rs.Draft202012Validator(document).is_valid(value):
        untyped_top = "properties" in document and "type" not in document and not isinstance(value, dict)
        assert untyped_top or _belongs(value, from_schema(document))


@settings(max_examples=400, deadline=None)
@example({"type": "null"}, {"type": "string", "allOf": [{"type": "null"}]}, None)
@given(source=documents, target=documents, value=values)
def test_what_is_proved_to_fit_fits(source: Any, target: Any, value: Any) -> None:
    if proves(from_schema(source), from_schema(target)) and jsonschema_rs.Draft202012Validator(source).is_valid(value):
        untyped_top = "properties" in source and "type" not in source and not isinstance(value, dict)
        assert untyped_top or jsonschema_rs.Draft202012Validator(target).is_valid(value)


@settings(max_examples=400, deadline=None)
@given(source=documents, target=documents, value=values)
def test_no_value_crosses_a_definite_mismatch(source: Any, target: Any, value: Any) -> None:
    spoken = _speaks_of_others(source) and _speaks_of_others(target)
    if spoken and _is_full(value) and mismatch(from_schema(source), from_schema(target)):
        assert not all(jsonschema_rs.Draft202012Validator(one).is_valid(value) for one in (source, target))


def _is_full(value: Any) -> bool:
    """Without what a mismatch leaves aside: null, empty arrays, optional fields that are absent."""
    if isinstance(value, dict):
        return {"a", "b"} <= value.keys() and all(map(_is_full, value.values()))
    return bool(value) and all(map(_is_full, value)) if isinstance(value, list) else value is not None


def _speaks_of_others(schema: Any) -> bool:
    """Whether every object's schema says what it holds beside its declared fields; without that, names are closed by
    Stretto's own rule, not by the schema."""
    if isinstance(schema, list):
        return all(map(_speaks_of_others, schema))
    if not isinstance(schema, dict):
        return True
    if "properties" in schema and not ("additionalProperties" in schema and "type" in schema):
        return False
    return all(map(_speaks_of_others, schema.values()))
