"""The comprehensions of CEL as loops over a frame that has the item appended (cel-spec langdef, Macros)."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, assert_never

from stretto.plan.expr.semantics import NoValue, in_words, not_boolean, settle
from stretto.plan.expr.syntax import Macro
from stretto.types.json import Json

Evaluate: TypeAlias = Callable[[list[Any]], Json]


def compile_macro(macro: Macro, target: Evaluate, body: Evaluate, kept: Evaluate | None) -> Evaluate:
    """A loop over the target; `kept` says which items `map` is given."""
    match macro:
        case Macro.ALL:
            return _settled(macro, target, body, settling=False)
        case Macro.EXISTS:
            return _settled(macro, target, body, settling=True)
        case Macro.EXISTS_ONE:
            return lambda frame: len(_passing(macro, target, body, frame)) == 1
        case Macro.FILTER:
            return lambda frame: _passing(macro, target, body, frame)
        case Macro.MAP:
            return _mapped(target, body, kept)
        case _:
            assert_never(macro)


def _items(macro: Macro, value: Json) -> list[Json]:
    """A list's items, or an object's keys."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return list(value)
    raise NoValue(f"{macro}() cannot go over {in_words(value)}")


def _settled(macro: Macro, target: Evaluate, body: Evaluate, *, settling: bool) -> Evaluate:
    """One item's result settles it, whatever errors the others make."""

    name = f"{macro}()"

    def settled(frame: list[Any]) -> bool:
        inner = [*frame, None]
        return settle(name, _at_each(_items(macro, target(frame)), inner, body), inner, settling)

    return settled


def _at_each(items: list[Json], inner: list[Any], body: Evaluate) -> Iterator[Evaluate]:
    """The body once for each item, which the frame inside then has."""
    for item in items:
        inner[-1] = item
        yield body


def _passing(macro: Macro, target: Evaluate, test: Evaluate, frame: list[Any]) -> list[Json]:
    """The items that pass the test; an error at any of them is the result's."""
    passing = []
    inner = [*frame, None]
    for item in _items(macro, target(frame)):
        inner[-1] = item
        value = test(inner)
        if value is True:
            passing.append(item)
        elif value is not False:
            raise not_boolean(f"{macro}()", value)
    return passing


def _mapped(target: Evaluate, body: Evaluate, kept: Evaluate | None) -> Evaluate:
    def mapped(frame: list[Any]) -> Json:
        items = _passing(Macro.MAP, target, kept, frame) if kept else _items(Macro.MAP, target(frame))
        inner = [*frame, None]
        results = []
        for item in items:
            inner[-1] = item
            results.append(body(inner))
        return results

    return mapped
