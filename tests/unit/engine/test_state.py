"""What one run holds while it executes."""

import pytest
from hypothesis import given, strategies as st

from stretto.engine.state import milliseconds


@given(st.floats(0.0, 1e6))
def test_milliseconds_are_right_to_half_a_microsecond_and_have_no_more_digits(seconds: float) -> None:
    found = milliseconds(seconds)
    assert found == pytest.approx(seconds * 1e3, abs=0.000_501)
    assert found == round(found, 3)


@given(st.floats(0.0, 1e6), st.floats(0.0, 1e6))
def test_what_is_later_is_never_said_to_be_earlier(one: float, other: float) -> None:
    early, late = sorted((one, other))
    assert milliseconds(early) <= milliseconds(late)
