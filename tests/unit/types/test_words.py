"""Texts that came from anywhere, in sentences of ours."""

import pytest

from stretto.types.words import escaped


@pytest.mark.parametrize(
    "steers",
    ["\n", "\x1b", "\x9b", "\x7f", "\u2028", "\u202e", "\u2066", "\u200f", "\u061c", "\u200b", "\ufeff", "\U000e0041"],
)
def test_what_steers_or_hides_is_written_out(steers: str) -> None:
    assert escaped(f"a{steers}b") == f"a{steers.encode('unicode_escape').decode()}b"


@pytest.mark.parametrize(
    "text", ["\u05e9\u05dc\u05d5\u05dd", "\u0645\u06cc\u200c\u062e", "\U0001f469\u200d\U0001f680", "caf\u00e9"]
)
def test_what_is_to_be_read_stays(text: str) -> None:
    assert escaped(text) == text
