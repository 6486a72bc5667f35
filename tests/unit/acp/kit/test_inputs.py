"""What a component might be asked too, and how an input is written."""

from typing import Any

import pytest

from stretto.acp import messages as m
from stretto.acp.blob import name_of
from stretto.acp.kit.case import Exchange, Form, Named
from stretto.acp.kit.inputs import another_than, asked_with


def card(**properties: Any) -> m.WireCard:
    """One whose input has these, and nothing else."""
    schema: Any = {"type": "object", "properties": properties, "additionalProperties": False}
    return m.WireCard(name="x", input=schema, action_field="do")


@pytest.mark.parametrize(
    ("schema", "given", "another"),
    [
        ({"s": {"type": "string"}}, {"s": "..."}, {"s": "...x"}),
        ({"s": {"type": "string", "maxLength": 3}}, {"s": "..."}, {"s": ".."}),
        ({"s": {"enum": ["a", "b"]}}, {"s": "a"}, {"s": "b"}),
        ({"n": {"type": "integer", "maximum": 7}}, {"n": 7}, {"n": 6}),
        ({"b": {"type": "boolean"}}, {"b": True}, {"b": False}),
        ({"l": {"type": "array", "maxItems": 1}}, {"l": [1]}, {"l": []}),
        ({"o": {"type": "object"}}, {"o": {}}, {"o": {"kit": 1}}),
        ({"o": {"type": ["string", "null"]}}, {"o": None}, {"o": "x"}),
        ({"c": {"const": 1}, "n": {"type": "number"}}, {"c": 1, "n": 2}, {"c": 1, "n": 3}),
        ({"do": {"enum": ["a", "b"]}}, {"do": "a"}, None),
        ({"c": {"const": "a"}}, {"c": "a"}, None),
    ],
)
def test_another_input_fits_the_schema_too(schema: Any, given: Any, another: Any) -> None:
    assert another_than(given, card(**schema)) == another


def test_where_anything_goes_there_is_always_another() -> None:
    assert another_than({}, m.WireCard(name="x")) == {"kit": "x"}


def test_an_input_is_written_as_the_exchange_has_it() -> None:
    given: Any = {"a": "x", "n": 1}
    other: Any = {"a": "y", "n": 1}
    assert asked_with(given, other, Exchange()) == {"input": given}
    assert asked_with(given, other, Exchange(another=True)) == {"input": other}
    assert asked_with(given, other, Exchange(input=False)) == {"input": {}}
    assert asked_with(given, other, Exchange(input_as=Form.TEXT)) == {"inputJson": '{"a":"x","n":1}'}


@pytest.mark.parametrize(
    ("how", "is_its_name", "content"),
    [(Named.SENT, True, "Ingi"), (Named.WRONG, False, "Ingi"), (Named.UNKNOWN, False, None)],
)
def test_a_field_is_named_by_its_content(how: Named, is_its_name: bool, content: str | None) -> None:
    asked: Any = asked_with({"a": "x", "n": 1}, {}, Exchange(blob=how))
    [blob] = asked["blobs"]
    assert asked["input"] == {"a": {"$blob": blob["digest"]}, "n": 1}
    assert (blob["digest"] == name_of(b'"x"'), blob.get("content")) == (is_its_name, content)
