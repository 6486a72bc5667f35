"""Values that fit their schema and are not what was meant."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from stretto.chaos.wrong_values import Domains, has_wrong_values, put, sites
from stretto.plan.check import Check
from stretto.spec.contract import parse_contract

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


def test_a_domain_of_the_contract_goes_before_the_schema() -> None:
    contract = parse_contract("semantics: {intent: {values: [track, cancel, refund], at: [planner.plan.intent]}}")
    domains = Domains(contract.semantics)
    output: Any = {"plan": {"intent": "track"}}
    (site,) = sites(output, {"type": "object"}, domains.at("talk/planner"))
    assert (site.field, site.others) == ("plan.intent", ("cancel", "refund"))
    assert sites(output, {"type": "object"}, domains.at("executor")) == []


def test_a_value_may_be_of_the_wrong_domain_where_the_schema_lets_it() -> None:
    text = "semantics: {here: {values: [a, b], at: [one.x]}, there: {values: [b, c], at: [two.y]}}"
    domains = Domains(parse_contract(text).semantics)
    (site,) = sites({"x": "a"}, {"type": "object"}, domains.at("one"))
    assert site.others == ("b", "c")
    (site,) = sites({"x": "a"}, {"properties": {"x": {"enum": ["a", "b"]}}}, domains.at("one"))
    assert site.others == ("b",)


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


def test_a_domain_of_a_steps_input_is_none_of_its_answer() -> None:
    schema: dict[str, Any] = {"properties": {"reply": {"type": "string"}}}
    assert not has_wrong_values(schema, {"intent": ["a", "b"]})
    assert has_wrong_values(schema, {"reply.text": ["a", "b"]})
    assert has_wrong_values({"type": "object"}, {"intent": ["a", "b"]}, "intent")
