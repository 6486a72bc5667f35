"""Durations to the nanosecond."""

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from stretto.plan.expr.library import _library
from stretto.plan.expr.spans import LONGEST, UNITS, given as as_given, in_seconds, nanoseconds, readable

LIMIT = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ("0", 0),
        ("-0", 0),
        ("1ns", 1),
        ("1h30m", 5_400_000_000_000),
        ("-1h1m", -3_660_000_000_000),
        ("+.5s", 500_000_000),
        ("1.s", 1_000_000_000),
        ("1.5us", 1_500),
        ("1\u00b5s1\u03bcs", 2_000),
        ("0.000000001s", 1),
        (LONGEST, LIMIT),
    ],
)
def test_a_text_is_read_to_the_nanosecond(text: str, total: int) -> None:
    assert nanoseconds(text) == total


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is none"),
        ("1", "is none"),
        ("1 hour", "is none"),
        ("1h -1m", "is none"),
        ("1d", "is none"),
        ("infs", "is none"),
        ("\u0661s", "is none"),
        ("3000000h", "is longer"),
        ("99999999999999999999s", "is longer"),
        ("9223372036.854775808s", "is longer"),
        ("1.0000000001s", "is finer"),
    ],
)
def test_a_text_that_is_no_duration_says_why(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        nanoseconds(text)


@given(st.integers(-LIMIT, LIMIT))
def test_the_library_reads_every_duration_to_its_microsecond(total: int) -> None:
    value = _library().compile(f"duration({readable(f'{total}ns')!r})").execute({})
    assert abs(value // timedelta(microseconds=1) * 1000 - total) <= 1000 + abs(total) * 1e-15


@given(st.integers(-LIMIT, LIMIT))
def test_a_duration_is_written_as_it_is_read(total: int) -> None:
    assert nanoseconds(in_seconds(f"{total}ns")) == total


@given(st.integers(-(10**6), 10**6), st.sampled_from(sorted(UNITS)))
def test_each_unit_counts_as_many_nanoseconds(count: int, unit: str) -> None:
    assert nanoseconds(f"{count}{unit}") == count * UNITS[unit]


def test_what_is_no_text_is_left_to_the_library() -> None:
    assert as_given(5) == 5
