"""Values drawn from a schema: they fit it, they reach all that it bounds, and what it does not bound is named."""

import random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from stretto.plan.check import Check
from stretto.plan.drawn import Drawing
from stretto.types.json import Json

Schemas = st.recursive(
    st.one_of(
        st.just({"type": "boolean"}),
        st.just({"const": 4}),
        st.just({"type": ["number", "null"], "minimum": -1.5, "maximum": 2}),
        st.lists(st.integers(-3, 3), min_size=1, max_size=4, unique=True).map(lambda those: {"enum": those}),
        st.integers(-5, 5).map(lambda low: {"type": "integer", "minimum": low, "exclusiveMaximum": low + 3}),
    ),
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
            lambda those: {"type": "object", "properties": those, "required": [*those][:1]}
        ),
        st.tuples(inner, st.integers(0, 2)).map(
            lambda one: {"type": "array", "items": one[0], "minItems": one[1], "maxItems": one[1] + 2}
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda those: {"anyOf": those}),
    ),
    max_leaves=6,
)


@given(Schemas, st.integers(0, 100))
def test_what_is_drawn_fits_and_the_same_chance_draws_the_same(schema: dict[str, Any], seed: int) -> None:
    drawing = Drawing(schema)
    assert drawing.unbounded() == []
    drawn = drawing.draw(random.Random(seed))
    assert Check(schema).is_valid(drawn)
    assert drawing.draw(random.Random(seed)) == drawn


def many(schema: dict[str, Any], **domains: list[str]) -> list[Any]:
    drawing, chance = Drawing(schema, domains), random.Random(0)
    return [drawing.draw(chance) for _ in range(400)]


def test_every_alternative_is_as_likely_and_a_range_is_reached_to_its_ends() -> None:
    schema = {
        "type": "object",
        "properties": {
            "way": {"$ref": "#/$defs/way"},
            "count": {"type": "integer", "minimum": 1, "maximum": 3},
            "share": {"type": "number", "minimum": 0, "maximum": 1},
        },
        "required": ["way", "count", "share"],
        "$defs": {"way": {"enum": ["a", "b"]}},
    }
    drawn = many(schema)
    assert 150 < sum(each["way"] == "a" for each in drawn) < 250
    assert {each["count"] for each in drawn} == {1, 2, 3}
    assert min(each["share"] for each in drawn) < 0.05
    assert max(each["share"] for each in drawn) > 0.95


def test_what_is_not_required_is_there_in_half() -> None:
    drawn = many({"type": "object", "properties": {"a": {"type": "boolean"}}})
    assert 150 < sum("a" in each for each in drawn) < 250


def test_a_text_in_a_domain_is_one_of_its_values_also_in_a_list() -> None:
    text: Json = {"type": "array", "items": {"type": "object", "properties": {"is": {"type": "string"}}}, "maxItems": 2}
    schema: dict[str, Any] = {"type": "object", "properties": {"plan": text}, "required": ["plan"]}
    drawn = many(schema, **{"plan.is": ["x", "y"]})
    assert {each.get("is") for one in drawn for each in one["plan"]} == {"x", "y", None}


@pytest.mark.parametrize(
    ("schema", "free"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}}}, ["a"]),
        ({"type": "object", "properties": {"a": {"type": "number", "minimum": 0}}}, ["a"]),
        ({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "boolean"}}}}, ["a"]),
        ({"type": "object", "properties": {"a": {"properties": {"b": {}}}}}, ["a.b"]),
        ({"type": "object"}, ["the whole"]),
        ({"anyOf": [{"type": "string"}, {"type": "object", "properties": {"a": {"type": "string"}}}]}, ["the whole"]),
        ({"$defs": {"x": {"properties": {"x": {"$ref": "#/$defs/x"}}}}, "$ref": "#/$defs/x"}, None),
    ],
)
def test_what_is_not_bounded_is_named(schema: dict[str, Any], free: list[str] | None) -> None:
    found = Drawing(schema).unbounded()
    assert found == free if free is not None else found


def test_a_schema_that_says_more_than_types_may_take_none_of_what_is_drawn() -> None:
    with pytest.raises(LookupError, match="none of 20 values"):
        Drawing({"type": "boolean", "not": {"type": "boolean"}}).draw(random.Random(0))
