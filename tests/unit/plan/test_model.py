"""What the records of a plan can do themselves."""

import pytest
from hypothesis import given, strategies as st

from stretto.plan.model import Retry
from stretto.types.errors import Code, ComponentError, RejectedError
from stretto.types.protection import Jitter

UNAVAILABLE = ComponentError("down", Code.UNAVAILABLE)
BROKEN = ComponentError("no", Code.INVALID_ARGUMENT)

seconds = st.floats(0.0, 1e6)
draws = st.floats(0.0, 1.0, exclude_max=True)


def test_the_wait_before_a_retry_is_full_jitter() -> None:
    rule = Retry(max_attempts=9, base_s=1.0, cap_s=4.0)
    assert [rule.delay_s(n, UNAVAILABLE, 0.5) for n in (1, 2, 3, 4)] == [0.5, 1.0, 2.0, 2.0]


def test_decorrelated_jitter_waits_up_to_three_times_as_long_as_the_last_time() -> None:
    rule = Retry(max_attempts=9, base_s=1.0, cap_s=20.0, jitter=Jitter.DECORRELATED)
    waits = [0.0]
    for attempt in range(1, 6):
        wait = rule.delay_s(attempt, UNAVAILABLE, 0.5, waits[-1])
        assert wait is not None
        waits.append(wait)
    assert waits[1:] == [1.0, 2.0, 3.5, 5.75, 9.125]
    assert rule.delay_s(6, UNAVAILABLE, 0.999, 19.0) == 20.0


@given(seconds, seconds, draws, seconds)
def test_decorrelated_jitter_stays_between_the_base_and_the_cap(
    base: float, cap: float, draw: float, last: float
) -> None:
    rule = Retry(base_s=min(base, cap), cap_s=cap, jitter=Jitter.DECORRELATED)
    wait = rule.delay_s(1, UNAVAILABLE, draw, last)
    assert wait is not None
    assert min(base, cap) <= wait <= cap


def test_an_answer_that_counts_as_none_is_tried_again_whatever_the_codes() -> None:
    assert Retry(codes=frozenset({Code.ABORTED})).delay_s(1, RejectedError("empty"), 0.0) == 0.0


@given(seconds, seconds, st.integers(1, 1000), draws, seconds)
def test_a_wait_is_no_longer_than_the_cap_nor_shorter_than_the_component_asked_for(
    base: float, cap: float, attempt: int, draw: float, asked: float
) -> None:
    rule = Retry(max_attempts=2000, base_s=base, cap_s=cap)
    wait = rule.delay_s(attempt, UNAVAILABLE, draw)
    assert wait is not None
    assert 0.0 <= wait <= cap
    later = rule.delay_s(attempt, ComponentError("busy", Code.UNAVAILABLE, retry_after_s=asked), draw)
    assert later == max(wait, asked)


@given(st.integers(1, 9), st.integers(1, 12))
def test_it_is_given_up_after_so_many_attempts(most: int, attempt: int) -> None:
    delay = Retry(max_attempts=most).delay_s(attempt, UNAVAILABLE, 0.5)
    assert (delay is None) is (attempt >= most)


@pytest.mark.parametrize(
    ("codes", "error", "again"),
    [
        (frozenset(), UNAVAILABLE, True),
        (frozenset(), BROKEN, False),
        (frozenset(), ComponentError("no", Code.INVALID_ARGUMENT, retryable=True), True),
        (frozenset({Code.INVALID_ARGUMENT}), BROKEN, True),
        (frozenset({Code.INVALID_ARGUMENT}), UNAVAILABLE, False),
    ],
)
def test_codes_that_are_given_stand_in_for_what_the_error_says_of_itself(
    codes: frozenset[Code], error: ComponentError, again: bool
) -> None:
    assert (Retry(codes=codes).delay_s(1, error, 0.5) is not None) is again
