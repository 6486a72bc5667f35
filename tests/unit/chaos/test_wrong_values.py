"""Values that fit their schema and are not what was meant."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from stretto.chaos.wrong_values import Site, has_wrong_values, put, sites, standing
from stretto.plan.check import Check

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["a", "b", None, 1]},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "count": {"type": "integer", "minimum": 0},
        "sure": {"type": "boolean"},
        "free": {"type": "string"},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
        "either": {"anyOf": [{"type": "null"}, {"enum": ["x", "y"]}]},
    },
    "required": ["kind"],
    "$defs": {"tag": {"type": "object", "properties": {"name": {"enum": ["r", "g"]}}}},
}

OUTPUTS = st.fixed_dictionaries(
    {"kind": st.sampled_from(["a", "b", None, 1])},
    optional={
        "share": st.floats(0, 1),
        "count": st.integers(0, 2**53),
        "sure": st.booleans(),
        "free": st.text(max_size=3),
        "tags": st.lists(st.fixed_dictionaries({"name": st.sampled_from(["r", "g"])}), max_size=3),
        "either": st.sampled_from([None, "x", "y"]),
    },
)


@given(OUTPUTS)
def test_every_wrong_value_fits_the_schema_and_is_another(output: dict[str, Any]) -> None:
    check = Check(SCHEMA)
    for site in sites(output, SCHEMA, {}):
        for other in site.others:
            changed = put(output, site, other)
            assert check.is_valid(changed)
            assert changed != output or isinstance(other, bool) is not isinstance(site.value, bool)


@given(OUTPUTS)
def test_an_output_is_left_as_it_was(output: dict[str, Any]) -> None:
    before = repr(output)
    for site in sites(output, SCHEMA, {}):
        put(output, site, site.others[0])
    assert repr(output) == before


def test_where_wrong_values_are_found() -> None:
    output: Any = {
        "kind": "a",
        "share": 0.5,
        "count": 3,
        "sure": True,
        "free": "?",
        "tags": [{"name": "r"}],
        "either": "x",
    }
    found = {site.field: site.others for site in sites(output, SCHEMA, {})}
    assert found == {
        "kind": ("b", None, 1),
        "share": (0.0, 1.0),
        "count": (0, 6),
        "sure": (False,),
        "tags[0].name": ("g",),
        "either": ("y",),
    }
    assert [site.field for site in sites(output, SCHEMA, {}, "tags")] == ["tags[0].name"]


DOMAIN: Any = {"plan.intent": ["track", "cancel", "refund"]}


def test_a_domain_of_the_contract_goes_before_the_schema() -> None:
    (site,) = sites({"plan": {"intent": "track"}}, {"type": "object"}, DOMAIN)
    assert (site.field, site.others) == ("plan.intent", ("cancel", "refund"))


def test_a_value_of_a_domain_fits_the_schema_too() -> None:
    schema: Any = {"properties": {"x": {"enum": ["a", "b"]}}}
    (site,) = sites({"x": "a"}, schema, {"x": ["a", "b", "c"]})
    assert site.others == ("b",)


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ({"a": [{"b": 1}]}, [1]),
        ({"a": [{"b": None}]}, [None]),
        ({"a": [{}]}, []),
        ({"a": []}, []),
        ({"a": {"0": 1}}, []),
        ({"a": "text"}, []),
        ("text", []),
        (None, []),
    ],
)
def test_what_stands_at_a_site_of_another_output(output: Any, found: list[Any]) -> None:
    assert standing(output, Site(("a", 0, "b"), 1, (2,))) == found


@pytest.mark.parametrize(
    ("schema", "bounded"),
    [
        ({"type": "object"}, False),
        ({"properties": {"a": {"type": "string"}}}, False),
        ({"properties": {"a": {"enum": ["one"]}}}, False),
        ({"properties": {"a": {"enum": ["one", "two"]}}}, True),
        ({"properties": {"a": {"type": ["boolean", "null"]}}}, True),
        ({"properties": {"a": {"type": "array", "items": {"type": "number", "maximum": 1}}}}, True),
        ({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}}, False),
    ],
)
def test_whether_there_is_anything_to_draw_is_known_before(schema: dict[str, Any], *, bounded: bool) -> None:
    assert has_wrong_values(schema, {}) is bounded
    assert has_wrong_values(schema, {}, "b") is False


def test_a_domain_bounds_what_its_schema_leaves_free() -> None:
    schema: dict[str, Any] = {"properties": {"reply": {"type": "string"}}}
    assert not has_wrong_values(schema, {})
    assert has_wrong_values(schema, {"reply.text": ["a", "b"]})
    assert has_wrong_values({"type": "object"}, {"intent": ["a", "b"]}, "intent")
