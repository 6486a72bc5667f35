import re
from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from stretto.spec.durations import PATTERN, duration_or_none, remedy, render


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("800ms", 0.8),
        ("1.5s", 1.5),
        ("2m", 120),
        ("1h", 3600),
        ("1m30s", 90),
        ("1h1m1s1ms", 3661.001),
        ("0s", 0),
        ("8760h", 8760 * 3600),
        ("30d", 30 * 86400),
        ("1d12h", 36 * 3600),
    ],
)
def test_durations_carry_their_units(text: str, seconds: float) -> None:
    assert duration_or_none(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("text", "try_this"),
    [
        ("800", "800ms or 800s"),
        ("-5s", "never negative"),
        ("5 sec", "5s"),
        ("5S", "5s"),
        ("2 minuts", "2m"),
        ("2 days", "2d"),
        ("1500us", "1.5ms"),
        ("9000h", "at most a year"),
        ("9" * 400 + "h", "at most a year"),
        ("30s1m", ""),
        ("", ""),
        ("soon", ""),
        ("1.s", ""),
        ("5xyz", ""),
    ],
)
def test_what_is_no_duration_says_what_to_write(text: str, try_this: str) -> None:
    assert duration_or_none(text) is None
    assert try_this in remedy(text)
    assert bool(try_this) == bool(remedy(text))


@given(st.integers(0, 365 * 86_400_000_000))
def test_what_is_written_is_read_back(microseconds: int) -> None:
    duration = timedelta(microseconds=microseconds)
    assert duration_or_none(render(duration)) == duration


@given(st.text("0123456789.dhms ", max_size=12))
def test_the_published_pattern_takes_what_the_parser_takes(text: str) -> None:
    if duration_or_none(text) is not None:
        assert re.search(PATTERN, text)
