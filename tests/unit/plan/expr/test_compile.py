"""Compiled expressions: what they tell of themselves, and what they say when they have no value."""

from typing import Any

import pytest

from stretto.plan.expr import (
    Expression,
    ExprProblems,
    Leaf,
    UnknownPath,
    compile_expression,
    path_getter,
)
from stretto.plan.valuetype import BOOL, DYN, FLOAT, STRING, ValueType
from stretto.types.errors import ExpressionError, Fault
from stretto.types.json import PathPart
from tests.unit.plan.expr.scopes import SchemaScope

SCOPE = SchemaScope(
    {
        "input": {
            "type": "object",
            "properties": {"query": {"type": "string"}, "count": {"type": ["integer", "null"]}, "meta": {}},
            "required": ["query"],
        },
        "plan": {"type": "object", "properties": {"ready": {"type": "boolean"}, "cost": {"type": "number"}}},
        "other": {},
    }
)


def _compile(source: str, expect: ValueType | None = None) -> Expression:
    return compile_expression(source, SCOPE, expect=expect)


def _evaluate(expression: Expression, **values: Any) -> Any:
    return expression.evaluate(SCOPE.frame(values))


def test_a_path_is_known_as_one() -> None:
    assert _compile("input.query").is_path == ("input", "query")
    assert _compile(" (input).query ").is_path == ("input", "query")
    assert _compile("has(input.query)").is_path is None
    assert _compile("input.query == 'x'").is_path is None


def test_an_expression_names_the_slots_that_it_reads() -> None:
    assert _compile("input.query == 'x' && plan.ready").slots == {0, 1}
    assert _compile("1 + 1").slots == frozenset()
    assert _compile("has(other.x) || [1].exists(x, x == input.count)").slots == {0, 2}


def test_the_type_is_known_where_it_can_be() -> None:
    assert _compile("plan.cost * 2").type == FLOAT
    assert _compile("input.query + '!'").type == STRING
    assert _compile("other.a.b").type == DYN


def test_parts_that_only_run_time_types_are_listed_with_the_reason() -> None:
    source = "input.query == 'x' && other.a.b > timestamp(input.query)"
    parts = _compile(source).dyn_parts
    assert [(part.text, part.why) for part in parts] == [
        ("other.a.b", "the schemas do not say what stands there"),
        ("timestamp(input.query)", "the result of timestamp() has no JSON type"),
    ]
    assert all(source[part.offset : part.offset + part.width] == part.text for part in parts)


def test_a_fully_typed_expression_has_no_dyn_parts() -> None:
    assert _compile("input.query == 'x' && plan.cost > 1 || has(input.meta)").dyn_parts == ()


def test_without_a_value_the_error_shows_the_source_the_values_and_the_remedy() -> None:
    with pytest.raises(ExpressionError) as raised:
        _evaluate(_compile("input.count > 2 && input.query != ''"), input={"query": "hello", "count": None})
    assert str(raised.value) == (
        "the expression `input.count > 2 && input.query != ''` has no value here:"
        " `>` cannot order null and an integer\n"
        "  input.count = null\n"
        '  input.query = "hello"\n'
        "  try: ask for the missing value first: input.count != null && (...)"
    )
    assert (raised.value.code, raised.value.fault, raised.value.retryable) == ("expression", Fault.CALLER, False)


def test_a_long_value_is_cut_in_the_error() -> None:
    with pytest.raises(ExpressionError) as raised:
        _evaluate(_compile("other > 1"), other="x" * 5_000)
    assert len(str(raised.value)) < 250


def test_the_library_speaks_through_the_same_error() -> None:
    with pytest.raises(ExpressionError) as raised:
        _evaluate(_compile("double(other)"), other="x")
    assert str(raised.value) == (
        "the expression `double(other)` has no value here: double(): string parse error: invalid float literal\n"
        '  other = "x"'
    )


@pytest.mark.parametrize(("value", "expected"), [(True, True), (False, False), (None, None)])
def test_a_condition_of_unknown_type_may_be_boolean_or_null(value: Any, expected: Any) -> None:
    assert _evaluate(_compile("other.flag", expect=BOOL), other={"flag": value}) is expected


@pytest.mark.parametrize("value", [1, 0, "true", [], {}])
def test_a_condition_that_is_neither_fails(value: Any) -> None:
    condition = _compile("other.flag", expect=BOOL)
    assert condition.is_path == ("other", "flag")
    with pytest.raises(ExpressionError, match="a condition is a boolean"):
        _evaluate(condition, other={"flag": value})


def test_a_typed_condition_is_not_asked_again() -> None:
    assert _evaluate(_compile("plan.ready", expect=BOOL), plan={"ready": True}) is True
    assert _evaluate(_compile("plan.ready", expect=BOOL), plan={}) is None


def test_every_problem_is_listed_in_order_of_place() -> None:
    with pytest.raises(ExprProblems) as raised:
        _compile("input.qery == 1 && plan.redy && len(input.query) > '3'")
    assert [problem.offset for problem in raised.value.problems] == [6, 24, 32]
    assert [problem.suggestion for problem in raised.value.problems] == ["query", "ready", "size"]


class AliasScope:
    """A scope whose only path is an alias: `plan.steps` can be read, `plan` cannot."""

    def roots(self) -> frozenset[str]:
        return frozenset({"plan"})

    def lookup(self, path: tuple[PathPart, ...]) -> Leaf:
        if path[:2] != ("plan", "steps"):
            at = min(1, len(path) - 1)
            raise UnknownPath(path, at, ("steps",), "no step writes this")
        return Leaf(get=path_getter(0, ("action_plan", *path[2:])), type=DYN, slots=frozenset({0}))


def test_the_scope_decides_what_a_path_is() -> None:
    expression = compile_expression("plan.steps[0].type == 'api_call'", AliasScope())
    assert expression.evaluate([{"action_plan": [{"type": "api_call"}]}]) is True
    with pytest.raises(ExprProblems) as raised:
        compile_expression("plan == null", AliasScope())
    (problem,) = raised.value.problems
    assert (problem.message, problem.offset, problem.width) == ("no step writes this", 0, 4)


def test_the_library_is_given_a_path_once_however_often_it_stands() -> None:
    reads = 0

    def get(frame: list[Any]) -> Any:
        nonlocal reads
        reads += 1
        return frame[0]

    class Counting(AliasScope):
        def lookup(self, path: tuple[PathPart, ...]) -> Leaf:
            return Leaf(get=get, type=DYN, slots=frozenset({0}))

    expression = compile_expression("timestamp(plan.a) == timestamp(plan.a)", Counting())
    assert expression.evaluate(["2026-01-31T12:00:00Z"]) is True
    assert reads == 1
