"""What needs no alignment, and the walk to what stands at a path."""

from typing import Any

import pytest

from stretto.plan.meaning.crossing import exact_of, rewritten
from stretto.plan.meaning.domain import Domain

API = Domain(
    name="api",
    values=("STATUS", "CANCEL", "stop"),
    translations={"intent": {"track": "STATUS", "stop": "CANCEL"}, "mood": {"track": "CANCEL", "angry": "stop"}},
)
OWN = {"STATUS": "STATUS", "CANCEL": "CANCEL", "stop": "stop"}


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ({"api"}, OWN),
        ({"intent"}, {**OWN, "track": "STATUS", "stop": "CANCEL"}),
        ({"intent", "api"}, {**OWN, "track": "STATUS"}),
        ({"mood"}, {**OWN, "track": "CANCEL", "angry": "stop"}),
        ({"intent", "mood"}, {**OWN, "stop": "CANCEL", "angry": "stop"}),
        ((), {**OWN, "angry": "stop"}),
    ],
)
def test_a_word_means_what_the_domains_it_comes_from_say(sources: Any, expected: dict[str, str]) -> None:
    assert exact_of(API, frozenset(sources)) == expected


def upper(value: Any) -> Any:
    if not isinstance(value, str):
        return "?"
    return value if value.isupper() else value.upper()


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("a", {"a": "x", "b": "y"}, {"a": "X", "b": "y"}),
        ("a", {"a": ["x", None, ["y"]]}, {"a": ["X", None, ["Y"]]}),
        ("a.b", {"a": {"b": "x"}}, {"a": {"b": "X"}}),
        ("a.b", {"a": [{"b": "x"}, {"c": "x"}, None, "x"]}, {"a": [{"b": "X"}, {"c": "x"}, None, "x"]}),
        ("a", {"a": 5}, {"a": "?"}),
        ("a", {"a": {"b": 1}}, {"a": "?"}),
        ("a", {"a": None}, {"a": None}),
        ("a", {}, {}),
        ("a.b", {"a": "x"}, {"a": "x"}),
    ],
)
def test_what_stands_at_a_path_is_changed_item_by_item(path: str, value: Any, expected: Any) -> None:
    assert rewritten(value, path.split("."), upper) == expected


def test_what_does_not_change_is_not_copied() -> None:
    value: Any = {"a": [{"b": "X"}]}
    assert rewritten(value, ["a", "b"], upper) is value


def test_what_changes_leaves_the_original_as_it_was() -> None:
    value: Any = {"a": [{"b": "x"}], "c": {}}
    changed: Any = rewritten(value, ["a", "b"], upper)
    assert value == {"a": [{"b": "x"}], "c": {}}
    assert changed["c"] is value["c"]
