"""Whatever can be called is a component where Python can tell its parameters: partials, methods, built-ins."""

import builtins
import functools
import math
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stretto.components.python.decorator import component, component_of, undecorated
from stretto.types.errors import SpecError
from tests.ids import plainly


def add(a: int, b: int = 10) -> int:
    return a + b


async def later(a: int, /, b: int) -> int:
    return a * b


class Cart:
    def __init__(self, start: int) -> None:
        self.total = start

    def put(self, price: int) -> int:
        self.total += price
        return self.total


@functools.lru_cache
def cached(a: int) -> int:
    return a + 1


@pytest.mark.parametrize(
    ("target", "fields", "output"),
    [
        (math.sqrt, {"x": 4}, 2.0),
        (len, {"obj": [1]}, 1),
        (sorted, {"iterable": [1, 2], "reverse": True}, [2, 1]),
        (sum, {"iterable": [1]}, 1),
        (np.sqrt, {"x": 4}, 2.0),
        (random.Random(0).choice, {"seq": [3]}, 3),
        (Cart(1).put, {"price": 2}, 3),
        (functools.partial(add, 1), {"b": 2}, 3),
        (functools.partial(add, b=5), {"a": 1}, 6),
        (functools.partial(later, 2), {"b": 3}, 6),
        (later, {"a": 2, "b": 3}, 6),
        (cached, {"a": 1}, 2),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
async def test_what_has_parameters_can_be_called(
    target: Callable[..., Any], fields: dict[str, Any], output: Any, make_request: Any
) -> None:
    made = undecorated(target, name="it", inline=target is not later and not isinstance(target, functools.partial))
    assert set(fields) <= set(made.card.input["properties"])  # type: ignore[arg-type]
    assert (await made(make_request(**fields))).output == {"result": output}


def test_hints_of_a_partial_are_those_of_its_function() -> None:
    card = undecorated(functools.partial(add, 1), name="it").card
    assert card.input["properties"] == {"b": {"type": "integer", "default": 10}}
    assert card.output["properties"] == {"result": {"type": "integer"}}


def test_the_digest_of_a_partial_says_what_it_holds_and_that_of_a_built_in_its_name() -> None:
    def digest(target: Any) -> str:
        return undecorated(target, name="it").card.digest

    assert digest(functools.partial(add, 1)) == digest(functools.partial(add, 1))
    assert len({digest(functools.partial(add, 1)), digest(functools.partial(add, 2)), digest(add)}) == 3
    assert digest(functools.partial(repr, object())) == digest(functools.partial(repr, object()))
    assert digest(random.Random(1).random) == digest(random.Random(2).random)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (time.sleep, "cannot tell the parameters of 'sleep'"),
        (print, "'*args' cannot be filled"),
        (dict, "the class 'dict' has no __call__"),
        (Cart(1), "this is an instance of Cart"),
        (3, "this is an instance of int"),
    ],
    ids=plainly,
)
def test_what_has_none_is_refused(target: Any, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        _ = undecorated(target, name="it").card
    assert message in caught.value.problems[0].message
    assert caught.value.problems[0].expected


@pytest.mark.parametrize("target", [len, Cart(1).put, builtins.str], ids=plainly)
def test_a_decorator_cannot_stand_on_what_takes_no_mark(target: Any) -> None:
    with pytest.raises(SpecError, match="takes no attribute"):
        component("it")(target)


def test_a_partial_may_be_decorated() -> None:
    made = component("it")(functools.partial(add, 1))
    assert component_of(made) is not None
