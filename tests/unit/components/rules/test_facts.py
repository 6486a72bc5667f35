"""What is known of the values that come into a table; a chain of tables is never held to be sounder than it is."""

import json
from decimal import Decimal
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import zen
from hypothesis import given, settings, strategies as st

from stretto.components.rules.analysis import check_rules
from stretto.components.rules.codes import RuleCode
from stretto.components.rules.facts import constants_in, field_facts, possible
from stretto.components.rules.values import Sort, parts_of
from stretto.types.errors import SpecError
from tests.unit.components.rules.building import fields, line, node, table, write


@pytest.mark.parametrize(
    ("schema", "sorts"),
    [
        ({"type": "string"}, {Sort.OTHER_TEXT}),
        ({"type": ["string", "null"]}, {Sort.OTHER_TEXT, Sort.NULL}),
        ({"enum": ["a", None]}, {Sort.TEXT, Sort.NULL}),
        ({"const": True}, {Sort.FLAG}),
        ({"type": "integer", "minimum": 3, "maximum": 3}, {Sort.NUMBER}),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2}, {Sort.LIST}),
        ({"type": "object", "required": ["x"]}, {Sort.OBJECT}),
        ({"type": "string", "pattern": "^x", "minLength": 9}, {Sort.OTHER_TEXT}),
        ({"anyOf": [{"type": "boolean"}, {"type": "string", "format": "date"}]}, {Sort.FLAG, Sort.OTHER_TEXT}),
        ({}, set(Sort) - {Sort.TEXT, Sort.MISSING}),
    ],
)
def test_a_field_holds_what_its_schema_allows(schema: dict[str, Any], sorts: set[Sort]) -> None:
    facts = field_facts(fields(f=schema), "f")
    parts = parts_of(*constants_in(facts.schema))
    assert {parts[index].sort for index in possible(parts, facts)} == sorts


def test_a_reference_inside_the_schema_is_followed() -> None:
    schema = {**fields(f={"$ref": "#/$defs/risk"}), "$defs": {"risk": {"enum": ["low", "high"]}}}
    facts = field_facts(schema, "f")
    parts = parts_of(["low", "high"], [Decimal(1)])
    assert {parts[index].value for index in possible(parts, facts)} == {"low", "high"}


@pytest.mark.parametrize(
    ("path", "may_miss"), [("a", False), ("b", True), ("a.x", False), ("a.y", True), ("b.x", True), ("other", True)]
)
def test_what_is_not_required_on_the_way_may_be_missing(path: str, may_miss: bool) -> None:
    inner = {"type": "object", "properties": {"x": {}, "y": {}}, "required": ["x"]}
    schema: dict[str, Any] = {"type": "object", "properties": {"a": inner, "b": inner}, "required": ["a"]}
    assert field_facts(schema, path).may_miss is may_miss


NUMBERS = st.sampled_from(["", "< 3", ">= 3", "[1..5)", "3", "> 8", "$ * 2 > 5"])
WORDS = st.sampled_from(["", '"x"', '"y"', '"z"', '"x", "y"', '!= "x"'])
MADE = st.sampled_from(['"x"', '"y"', "", "null", "w", '"x" + n'])
FIRST = st.lists(st.fixed_dictionaries({"n": NUMBERS, "w": MADE}), min_size=1, max_size=3)
SECOND = st.lists(st.fixed_dictionaries({"w": WORDS, "n": NUMBERS}), min_size=1, max_size=4)
N = {"type": "integer", "minimum": 0, "maximum": 10}
CLOSED = (fields(n=N, w={"enum": ["x", "z"]}), [{"w": "x"}, {"w": "z"}])
OPEN = (
    {"type": "object", "properties": {"n": N}, "required": ["n"]},
    [*CLOSED[1], {}, {"w": "y"}, {"w": "?"}, {"w": 3}],
)
"""What may come in, and all that tells its inputs apart beside n."""


@settings(max_examples=60, deadline=None)
@given(FIRST, SECOND, st.booleans(), st.sampled_from([CLOSED, OPEN]))
def test_a_table_of_a_chain_that_is_found_to_answer_always_does_and_a_row_found_silent_is(
    first: list[dict[str, str]],
    second: list[dict[str, str]],
    passes: bool,
    coming: tuple[dict[str, Any], list[dict[str, Any]]],
) -> None:
    last = [{**row, "o": str(index)} for index, row in enumerate(second)]
    model = line(
        node("a", "decisionTableNode", table(first, ["n"], ["w"], passThrough=passes)),
        node("b", "decisionTableNode", table(last, ["w", "n"], ["o"])),
        schema=coming[0],
    )
    answers, middle = _ask(model, coming[1])
    with TemporaryDirectory() as folder:
        try:
            analysis = check_rules(write(Path(folder), model))
        except SpecError as error:
            problems = error.problems
            silent = {f"row {index + 1}" for index in range(len(second)) if index not in answers}
            told = {
                problem.message.split(" of ")[0]
                for problem in problems
                if problem.code in (RuleCode.NEVER, RuleCode.UNREACHABLE) and "'b'" in problem.message
            }
            assert told <= silent
            return
    for verdict, rows in zip(analysis.tables, (middle, answers), strict=True):
        assert None not in rows or not verdict.always_answers


def _ask(model: dict[str, Any], words: list[dict[str, Any]]) -> tuple[list[int | None], list[int | None]]:
    """The rows of the last and of the first table that the engine answers by, for every input there is."""
    decision = zen.ZenEngine().create_decision(zen.ZenDecisionContent(json.dumps(model)))
    traces: list[Any] = [
        decision.evaluate(json.dumps({"n": n, **word}), {"trace": True})["trace"]
        for n, word in product(range(11), words)
    ]
    return [_row(trace["b"]) for trace in traces], [_row(trace["a"]) for trace in traces]


def _row(entry: Any) -> int | None:
    return None if entry["traceData"] is None else entry["traceData"]["index"]
