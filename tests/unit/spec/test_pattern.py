"""Patterns are found in time linear in the text, or refused."""

import pytest

from stretto.spec.pattern import compiled_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("where.*parcel", "tell me where my parcel is", True),
        ("WHERE", "somewhere", True),
        ("a|b", "xb", True),
        ("^a|b$", "ab", True),
        (r"\bcall .* off\b", "call it off", True),
        (r"\bcall .* off\b", "recall it office", False),
        ("快递.{0,4}(哪|到)", "俺的快递到哪咧", True),
        (r"\d{2}", "7", False),
    ],
)
def test_a_pattern_is_found_anywhere_and_in_any_case(pattern: str, text: str, found: bool) -> None:
    search = compiled_pattern(pattern)
    assert search is not None
    assert search(text) is found


@pytest.mark.parametrize("pattern", ["(?=a)b", "(?<!a)b", r"(a)\1", "[a", "x{1000}{1000}", "a)(b", "(?i"])
def test_what_cannot_be_searched_for_so_is_none(pattern: str) -> None:
    assert compiled_pattern(pattern) is None


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*)*x", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_pattern_that_makes_others_backtrack_for_ever_ends(pattern: str) -> None:
    search = compiled_pattern(pattern)
    assert search is not None
    assert search("a" * 1000 + "!") is False
