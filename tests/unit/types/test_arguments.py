"""What a caller gave is held to what was asked for."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from stretto.types.arguments import as_path, as_tuple, check_fields, check_flag, check_text, check_whole, shown
from stretto.types.errors import UsageError


class Mute:
    def __repr__(self) -> str:
        raise ValueError("no words")


class Point(msgspec.Struct):
    x: int
    y: float = 0.0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        ("x" * 100, "'" + "x" * 79 + "…"),
        (Mute(), "a Mute (its repr raised ValueError)"),
    ],
)
def test_a_value_is_shown_in_few_words_whatever_it_does(value: object, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    ("check", "value", "says"),
    [
        (check_text, 3, "it is 3; expected text"),
        (check_text, "\ud800", "it is '\\ud800', which is no text in UTF-8"),
        (check_flag, 1, "it is 1; expected True or False"),
        (check_whole, True, "it is True; expected a whole number of 64 bits"),
        (check_whole, 2**63, "expected a whole number of 64 bits"),
        (check_whole, 1.0, "it is 1.0; expected"),
        (as_path, "", "it is ''; expected text or a pathlib.Path, not empty"),
        (as_path, b"a", "it is b'a'; expected"),
        (as_tuple, "ab", "it is 'ab'; expected a list"),
        (as_tuple, {"a": 1}, "it is {'a': 1}; expected a list"),
        (as_tuple, None, "it is None; expected a list"),
        (check_fields, Point(x="3"), "it: Expected `int`, got `str` - at `$.x`"),  # type: ignore[arg-type]
    ],
)
def test_what_is_something_else_is_refused_in_words(check: Any, value: object, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        check("it", value)
    assert says in str(caught.value)


@pytest.mark.parametrize(("least", "most", "says"), [(1, 2**63 - 1, "from 1$"), (0, 5, "from 0 to 5$")])
def test_a_range_is_told(least: int, most: int, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        check_whole("it", -1, least=least, most=most)


def test_what_was_asked_for_is_taken() -> None:
    check_text("it", "é")
    check_flag("it", False)
    check_whole("it", -(2**63))
    check_whole("it", 5, least=1, most=5)
    check_fields("it", Point(x=3, y=1))
    assert (as_path("it", "a"), as_path("it", Path("a"))) == (Path("a"), Path("a"))
    assert as_tuple("it", (each for each in "ab")) == ("a", "b")
