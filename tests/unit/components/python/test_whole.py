"""A whole-valued float comes as an int where the hint wants one, as JSON Schema takes it for one."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import msgspec
import pytest

from stretto.components.python import component, component_of
from stretto.components.python.signature import read_signature


class Size(enum.IntEnum):
    SMALL = 2


class Row(TypedDict):
    n: int
    share: float
    more: NotRequired["list[Row]"]


@dataclass
class Line:
    n: int


class Pair(NamedTuple):
    n: int
    share: float


class Tagged(msgspec.Struct, rename="camel"):
    line_count: int


@pytest.mark.parametrize(
    ("hint", "given", "taken"),
    [
        (int, 2.0, 2),
        (int | None, 2.0, 2),
        (Annotated[int, msgspec.Meta(ge=0)], 2.0, 2),
        (Literal[1, 2, "a"], 2.0, 2),
        (list[int], [1, 2.0], [1, 2]),
        (Mapping[str, list[int]] | None, {"a": [2.0]}, {"a": [2]}),
        (Row, {"n": 2.0, "share": 3.0, "x": 4.0}, {"n": 2, "share": 3.0, "x": 4.0}),
        (Row, {"n": 2, "share": 3.0, "more": [{"n": 4.0, "share": 1.0}]}, None),
        (Line, {"n": 2.0}, Line(2)),
        (list[Line], [{"n": 2.0}], [Line(2)]),
        (Tagged, {"lineCount": 2.0}, Tagged(2)),
        (tuple[int, float], [2.0, 3.0], (2, 3.0)),
        (tuple[int, ...], [2.0, 3.0], (2, 3)),
        (Pair, [2.0, 3.0], Pair(2, 3.0)),
        (set[int], [2.0], {2}),
        (Size, 2.0, Size.SMALL),
        (dict[int, int], {"1": 2.0}, {1: 2}),
        (int | float, 2.0, 2.0),
        (float, 2.0, 2.0),
        (list[int] | list[float], [2.0], [2.0]),
        (Any, 2.0, 2.0),
        (dict[str, Any], {"a": 2.0}, {"a": 2.0}),
    ],
    ids=str,
)
def test_a_whole_valued_float_is_taken_as_the_hint_means_it(hint: Any, given: Any, taken: Any) -> None:
    def f(x: object) -> None: ...

    f.__annotations__["x"] = hint
    (found,) = read_signature(f, f).bind({"x": given}, None).values()
    expected = {"n": 2, "share": 3.0, "more": [{"n": 4, "share": 1.0}]} if taken is None else taken
    assert repr(found) == repr(expected)


@pytest.mark.parametrize("value", [{"a": [1, 2]}, {"a": []}, {}], ids=str)
def test_a_value_that_fits_is_passed_as_it_is(value: Any) -> None:
    def f(x: dict[str, list[int]]) -> None: ...

    assert read_signature(f, f).bind({"x": value}, None)["x"] is value


async def test_an_async_function_takes_ints_on_the_shortest_way_too(make_request: Any) -> None:
    @component
    async def repeat(times: int, more: list[int] | None = None) -> str:
        return "ab" * times + str(more)

    repeated: Any = component_of(repeat)
    assert (await repeated(make_request(times=2.0))).output == {"result": "ababNone"}
    assert (await repeated(make_request(times=1, more=[1.0]))).output == {"result": "ab[1]"}
    assert (await repeated(make_request(times=1, more=[1]))).output == {"result": "ab[1]"}
