"""The closures that expressions are made of, each over those of its operands."""

from collections.abc import Callable
from math import isfinite
from typing import Any, Final, TypeAlias

from stretto.plan.expr.access import path_getter
from stretto.plan.expr.semantics import NoValue, in_words, not_boolean, settle
from stretto.record.refusal import has_non_finite
from stretto.types.json import Json, PathPart

Evaluate: TypeAlias = Callable[[list[Any]], Json]

TEXT_TESTS: Final[dict[str, Callable[[str, str], bool]]] = {
    "contains": str.__contains__,
    "startsWith": str.startswith,
    "endsWith": str.endswith,
}


def constantly(value: Json) -> Evaluate:
    return lambda frame: value  # noqa: ARG005  # a frame is what every closure takes


def finite_only(run: Evaluate) -> Evaluate:
    """A result that JSON can hold."""

    def finite(frame: list[Any]) -> Json:
        value = run(frame)
        if type(value) is float and not isfinite(value):
            raise NoValue(f"the result is {value}, which JSON cannot hold")
        if isinstance(value, list | dict) and has_non_finite(value):
            raise NoValue("the result holds infinity or NaN, which JSON cannot hold")
        return value

    return finite


def presence(get: Evaluate) -> Evaluate:
    return lambda frame: get(frame) is not None


def then_path(value: Evaluate, path: tuple[PathPart, ...]) -> Evaluate:
    if not path:
        return value
    get = path_getter(0, path)
    return lambda frame: get([value(frame)])


def listed(items: list[Evaluate]) -> Evaluate:
    return lambda frame: [item(frame) for item in items]


def mapped(entries: list[tuple[str, Evaluate]]) -> Evaluate:
    return lambda frame: {name: value(frame) for name, value in entries}


def equals_constant(get: Evaluate, constant: Any, *, wanted: bool) -> Evaluate:
    """Only for booleans and numbers does Python need telling: it takes True for 1."""
    if constant is None or type(constant) is bool:
        return (lambda frame: get(frame) is constant) if wanted else (lambda frame: get(frame) is not constant)
    if type(constant) is str:
        return (lambda frame: get(frame) == constant) if wanted else (lambda frame: get(frame) != constant)

    def equals_number(frame: list[Any]) -> bool:
        value = get(frame)
        return (value == constant and type(value) is not bool) is wanted

    return equals_number


def ordered_by_constant(
    get: Evaluate, test: Callable[[Any, Any], bool], compare: Callable[[Json, Json], bool], constant: Json
) -> Evaluate:
    kinds = (str,) if type(constant) is str else (int, float)

    def ordered(frame: list[Any]) -> bool:
        value = get(frame)
        return test(value, constant) if type(value) in kinds else compare(value, constant)

    return ordered


def negation(operand: Evaluate) -> Evaluate:
    def negation(frame: list[Any]) -> bool:
        value = operand(frame)
        if value is True or value is False:
            return not value
        raise not_boolean("!", value)

    return negation


def joined(symbol: str, operands: list[Evaluate]) -> Evaluate:
    """``&&`` or ``||``: the value that settles it wins over errors on either side (langdef, Logical Operators)."""
    settling = symbol == "||"

    return lambda frame: settle(symbol, operands, frame, settling)


def either(condition: Evaluate, then: Evaluate, otherwise: Evaluate) -> Evaluate:
    def conditional(frame: list[Any]) -> Json:
        value = condition(frame)
        if value is True:
            return then(frame)
        if value is False:
            return otherwise(frame)
        raise not_boolean("? :", value)

    return conditional


def text_test(name: str, text: Evaluate, part: Evaluate) -> Evaluate:
    test = TEXT_TESTS[name]

    def tests(frame: list[Any]) -> bool:
        one, other = text(frame), part(frame)
        if type(one) is str and type(other) is str:
            return test(one, other)
        wrong = other if type(one) is str else one
        raise NoValue(f"{name}() does not take {in_words(wrong)}")

    return tests
