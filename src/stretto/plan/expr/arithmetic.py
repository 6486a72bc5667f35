"""CEL's arithmetic on JSON values (cel-spec langdef, List of Standard Definitions): 64-bit integers and doubles.

Python differs in four ways: its integers have no end, its division rounds down, dividing a double by zero is an error,
and it takes True for 1. Where an integer meets a double it is converted, whatever the types that are known before:
JSON has one kind of number.
"""

import operator
from collections.abc import Callable
from math import copysign, inf, isnan, nan
from typing import Any, Final, TypeAlias

from stretto.plan.expr.semantics import NoValue, in_words
from stretto.types.arguments import INT64_MAX, INT64_MIN
from stretto.types.json import Json

Operation: TypeAlias = Callable[[Any, Any], Json]


NUMBERS: Final = frozenset({int, float})
"""Types of numbers, to which a boolean does not belong."""


def _sum_like(symbol: str, compute: Operation, joined: frozenset[type] = frozenset()) -> Operation:
    """An operation that Python has in the same form, also for the types that it joins."""

    def operation(one: Any, other: Any) -> Json:
        kind, other_kind = type(one), type(other)
        if kind is int and other_kind is int:
            return _fitting(compute(one, other), one, other)
        if kind in NUMBERS and other_kind in NUMBERS:
            return compute(float(one), float(other))
        if kind is other_kind and kind in joined:
            return compute(one, other)
        raise _not_taken(one, symbol, other)

    return operation


def _divided(one: Any, other: Any) -> Json:
    if type(one) is int and type(other) is int:
        return _fitting(_quotient(one, other), one, other)
    if type(one) in NUMBERS and type(other) in NUMBERS:
        return _ratio(float(one), float(other))
    raise _not_taken(one, "/", other)


def _remainder(one: Any, other: Any) -> Json:
    if type(one) is not int or type(other) is not int:
        raise _not_taken(one, "%", other)
    quotient = _quotient(one, other)
    _fitting(quotient, one, other)  # as CEL has it, though the remainder itself would fit
    return one - quotient * other


OPERATIONS: Final[dict[str, Operation]] = {
    "+": _sum_like("+", operator.add, joined=frozenset({str, list})),
    "-": _sum_like("-", operator.sub),
    "*": _sum_like("*", operator.mul),
    "/": _divided,
    "%": _remainder,
}
"""By symbol; each raises NoValue where there is no result."""


def negated(value: Any) -> Json:
    """``-value``, of a number."""
    if type(value) is int:
        return _fitting(-value, 0, value)
    if type(value) is float:
        return -value
    raise NoValue(f"`-` does not take {in_words(value)}")


def _not_taken(one: Any, symbol: str, other: Any) -> NoValue:
    return NoValue(
        f"`{symbol}` is not defined for {in_words(one)} and {in_words(other)}; convert one side with int(), double() "
        "or string()"
    )


def _fitting(result: Any, one: int, other: int) -> Json:
    if INT64_MIN <= result <= INT64_MAX:
        fits: Json = result
        return fits
    raise NoValue(f"the result of {one} and {other} does not fit 64 bits")


def _quotient(one: int, other: int) -> int:
    """Rounded towards zero."""
    if other == 0:
        raise NoValue("an integer is divided by zero")
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def _ratio(one: float, other: float) -> float:
    """IEEE 754: what is divided by zero is infinite, and zero by zero is no number."""
    if other != 0.0:
        return one / other
    return nan if one == 0.0 or isnan(one) else copysign(inf, one) * copysign(1.0, other)
