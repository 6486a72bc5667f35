"""Accessors read what is there, and null where nothing is."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from stretto.plan.expr import path_getter
from stretto.types.json import PathPart

VALUE: Any = {"a": {"b": {"c": {"d": 4}}}, "list": [[1, 2], [3]], "text": "abc", "null": None, "0": "zero"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((), VALUE),
        (("a", "b", "c", "d"), 4),
        (("list", 0), [1, 2]),
        (("list", 1, 0), 3),
        (("list", 5), None),
        (("list", 1, 1), None),
        (("list", -1), None),
        (("text", 0), None),
        (("text", 0, 0), None),
        (("text", "x"), None),
        (("null", "x"), None),
        (("null", 0), None),
        (("a", 0), None),
        (("0",), "zero"),
        (("nothing",), None),
        (("nothing", "at", "all", "here"), None),
    ],
)
def test_missing_parts_read_as_null(path: tuple[PathPart, ...], expected: Any) -> None:
    assert path_getter(1, path)(["other", VALUE]) == expected


def test_an_unwritten_slot_reads_as_null() -> None:
    assert path_getter(0, ("a", "b"))([None]) is None


def _step_by_step(value: Any, path: list[PathPart]) -> Any:
    for part in path:
        if isinstance(part, str) and isinstance(value, dict):
            value = value.get(part)
        elif isinstance(part, int) and isinstance(value, list) and 0 <= part < len(value):
            value = value[part]
        else:
            return None
    return value


values = st.recursive(
    st.sampled_from([None, True, 1, 1.5, "", "ab"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=8,
)


@given(value=values, path=st.lists(st.sampled_from(["a", "b", 0, 1]), max_size=5))
def test_the_fast_accessors_read_what_a_slow_walk_reads(value: Any, path: list[PathPart]) -> None:
    assert path_getter(0, path)([value]) == _step_by_step(value, path)
