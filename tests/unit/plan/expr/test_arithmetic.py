"""Arithmetic on JSON values against the Rust library, and beside it where an integer meets a double."""

from math import isnan
from typing import Any

import pytest
from hypothesis import given, strategies as st

from stretto.plan.expr.arithmetic import OPERATIONS, negated
from stretto.plan.expr.library import FAILURES, _library
from stretto.plan.expr.semantics import NoValue

EDGES = [0, 1, -1, 2, 3, -7, 2**53 + 1, 2**63 - 1, -(2**63), 2**62]
integers = st.sampled_from(EDGES) | st.integers(-(2**63), 2**63 - 1)
doubles = st.floats() | st.sampled_from([0.0, -0.0, 1.5, -2.0, 1e308])
others = st.none() | st.booleans() | st.text(max_size=3) | st.lists(st.integers(0, 3), max_size=2)
symbols = st.sampled_from(sorted(OPERATIONS))


def _library_says(symbol: str, one: Any, other: Any) -> Any:
    try:
        return _library().compile(f"a {symbol} b").execute({"a": one, "b": other})
    except FAILURES:
        return NoValue


def _says(symbol: str, one: Any, other: Any) -> Any:
    try:
        return OPERATIONS[symbol](one, other)
    except NoValue:
        return NoValue


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return repr(one) == repr(other) or (isnan(one) and isnan(other))
    return type(one) is type(other) and bool(one == other)


@given(symbols, st.tuples(integers, integers) | st.tuples(doubles, doubles) | st.tuples(others, others))
def test_values_of_one_type_give_what_they_give_in_the_library(symbol: str, operands: tuple[Any, Any]) -> None:
    assert _same(_says(symbol, *operands), _library_says(symbol, *operands))


@given(st.sampled_from("+-*/"), integers, doubles)
def test_an_integer_beside_a_double_is_converted(symbol: str, integer: int, double: float) -> None:
    operation = OPERATIONS[symbol]
    assert _same(operation(integer, double), operation(float(integer), double))
    assert _same(operation(double, integer), operation(double, float(integer)))


@given(symbols, integers | doubles, others)
def test_a_number_beside_anything_else_has_no_value(symbol: str, number: float, other: Any) -> None:
    assert _says(symbol, number, other) is _says(symbol, other, number) is NoValue


@pytest.mark.parametrize(("value", "result"), [(3, -3), (-2.5, 2.5), (-(2**63) + 1, 2**63 - 1)])
def test_minus_a_number(value: float, result: float) -> None:
    assert _same(negated(value), result)


@pytest.mark.parametrize("value", [True, None, "1", [], {}, -(2**63)])
def test_minus_what_has_none(value: Any) -> None:
    with pytest.raises(NoValue):
        negated(value)
