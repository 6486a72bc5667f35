from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, strategies as st

from stretto.spec.shorthand import ShorthandError, read_type

STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("string", STRING),
        ("string[1,512]", {"type": "string", "minLength": 1, "maxLength": 512}),
        ("string[,512]", {"type": "string", "maxLength": 512}),
        (" string [ 1 , ] ", {"type": "string", "minLength": 1}),
        ("int", {"type": "integer"}),
        ("int[-3,10]", {"type": "integer", "minimum": -3, "maximum": 10}),
        ("float[0,1]", {"type": "number", "minimum": 0, "maximum": 1}),
        ("float[-0.5,0.5]", {"type": "number", "minimum": -0.5, "maximum": 0.5}),
        ("bool", {"type": "boolean"}),
        ("object", {"type": "object"}),
        ("any", {}),
        ("array", {"type": "array"}),
        ("array[object]", {"type": "array", "items": {"type": "object"}}),
        ("array[string][1,20]", {"type": "array", "items": STRING, "minItems": 1, "maxItems": 20}),
        (
            "array[array[string[1,5]]][,3]",
            {
                "type": "array",
                "items": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 5}},
                "maxItems": 3,
            },
        ),
        ("enum[a, b c,d]", {"type": "string", "enum": ["a", "b c", "d"]}),
    ],
)
def test_a_type_becomes_json_schema(text: str, schema: dict[str, Any]) -> None:
    assert read_type(text) == (schema, False)


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("string?", {"type": ["string", "null"]}),
        ("int[0,9] ?", {"type": ["integer", "null"], "minimum": 0, "maximum": 9}),
        ("enum[a]?", {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}),
        ("any?", {}),
    ],
)
def test_an_optional_field_may_be_null(text: str, schema: dict[str, Any]) -> None:
    assert read_type(text) == (schema, True)


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("strng", 0, "'strng' is no type"),
        ("?", 0, "a type is missing"),
        ("[1,2]", 0, "'[' is no type"),
        ("array[strng]", 6, "'strng' is no type"),
        ("string[1,2", 10, "']' is missing"),
        ("string[1;2]", 7, "bounds are two numbers"),
        ("string[1,x]", 9, "'x' stands where ']' should"),
        ("string[2,1]", 7, "no value lies between 2 and 1"),
        ("string[-1,]", 7, "never negative"),
        ("array[int][1.5,2]", 11, "no whole number"),
        ("float[,]", 6, "bind nothing"),
        ("array[1,20]", 6, "the type of the items comes first"),
        ("array[int?]", 9, "cannot be optional"),
        ("int??", 3, "'?' cannot follow"),
        ("bool[0,1]", 4, "cannot follow"),
        ("enum", 4, "needs its values"),
        ("enum[a", 6, "']' is missing"),
        ("enum[a,,b]", 5, "empty or stand twice"),
        ("array[" * 9 + "int" + "]" * 9, 54, "nested deeper than 8"),
        ("array[" * 5000, 54, "nested deeper than 8"),
    ],
)
def test_what_is_no_type_is_refused_at_its_place(text: str, offset: int, message: str) -> None:
    with pytest.raises(ShorthandError, match=message.replace("[", r"\[").replace("?", r"\?")) as caught:
        read_type(text)
    assert caught.value.offset == offset


@given(st.text("stringafloeumbc[],?0123.- ", max_size=24))
def test_any_text_is_a_type_or_refused(text: str) -> None:
    try:
        schema, _ = read_type(text)
    except ShorthandError as error:
        assert 0 <= error.offset <= len(text)  # noqa: PT017  (both ends are fine, this one is looked at)
        return
    jsonschema_rs.Draft202012Validator(schema)


@pytest.mark.parametrize("text", ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.25+02:00"])
def test_a_datetime_is_rfc_3339(text: str) -> None:
    assert jsonschema_rs.Draft202012Validator(read_type("datetime")[0]).is_valid(text)


@pytest.mark.parametrize("text", ["2026-01-31", "yesterday", "2026-01-31 12:00:00"])
def test_other_dates_are_no_datetime(text: str) -> None:
    assert not jsonschema_rs.Draft202012Validator(read_type("datetime")[0]).is_valid(text)
