"""Runs the data cases of `expr/`: what expressions give, and what is said of wrong ones (format: expr/README.md)."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from stretto.plan.expr import ExprProblems, compile_expression
from stretto.plan.valuetype import from_schema, render
from stretto.types.errors import ExpressionError
from tests.unit.plan.expr.scopes import SchemaScope

CASES_DIR = Path(__file__).parent / "expr"
KEYS = {"name", "expression", "expect", "values", "value", "type", "fails", "problems"}
OUTCOMES = ("value", "fails", "problems")


def _all_cases() -> list[dict[str, Any]]:
    yaml = YAML(typ="safe", pure=True)
    files = [yaml.load(file) for file in sorted(CASES_DIR.glob("*.yaml"))]
    return [
        {"values": file["values"], **case, "roots": file["roots"], "own": set(case)}
        for file in files
        for case in file["cases"]
    ]


CASES = _all_cases()


def _compiled(case: dict[str, Any]) -> tuple[Any, list[Any]]:
    scope = SchemaScope(case["roots"])
    expect = from_schema({"type": case["expect"]}) if "expect" in case else None
    return compile_expression(case["expression"], scope, expect=expect), scope.frame(case["values"])


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _ids(outcome: str) -> pytest.MarkDecorator:
    cases = [case for case in CASES if outcome in case]
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def test_cases_are_well_formed_and_many() -> None:
    assert [case["name"] for case in CASES if case["own"] - KEYS] == []
    assert [case["name"] for case in CASES if sum(outcome in case for outcome in OUTCOMES) != 1] == []
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names) >= 200


@_ids("value")
def test_an_expression_gives_its_value(case: dict[str, Any]) -> None:
    expression, frame = _compiled(case)
    assert _same(expression.evaluate(frame), case["value"])
    if "type" in case:
        assert render(expression.type) == case["type"]


@_ids("fails")
def test_an_expression_without_a_value_says_why(case: dict[str, Any]) -> None:
    expression, frame = _compiled(case)
    with pytest.raises(ExpressionError) as raised:
        expression.evaluate(frame)
    message = str(raised.value)
    assert case["fails"] in message
    assert f"`{case['expression']}`" in message


@_ids("problems")
def test_a_wrong_expression_is_refused_with_its_place(case: dict[str, Any]) -> None:
    with pytest.raises(ExprProblems) as raised:
        _compiled(case)
    problems = raised.value.problems
    source = case["expression"]
    places = [(str(one.code), one.offset, source[one.offset : one.offset + one.width]) for one in problems]
    assert places == [(one["code"], one["offset"], one["under"]) for one in case["problems"]]
    for problem, wanted in zip(problems, case["problems"], strict=True):
        assert problem.suggestion == wanted.get("suggestion", problem.suggestion)
        assert wanted.get("message", "") in problem.message
        assert wanted.get("expected", "") in problem.expected
