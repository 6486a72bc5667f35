"""Retries stay a part of the calls: in any window, over any sequence, and however long a client was quiet."""

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from stretto.engine.quota import RetryQuota
from stretto.types.protection import QuotaRule

W = 60.0
RULES = st.builds(
    QuotaRule,
    ratio=st.sampled_from((0.0, 0.1, 0.2, 1 / 3, 1.0)),
    floor=st.integers(0, 4),
    window_s=st.just(W),
)
GAPS = st.one_of(st.just(0.0), st.sampled_from((0.5, 5.0, W / 2, W, 3 * W)), st.floats(0, 2 * W))
EVENTS = st.lists(st.tuples(GAPS, st.sampled_from(("call", "call", "take", "take", "back"))), max_size=150)


def taken(quota: RetryQuota, now: float, most: int = 1000) -> int:
    """How many retries it gives at once."""
    return sum(quota.take(now) for _ in range(most))


def test_a_client_without_calls_gets_the_floor_and_no_more() -> None:
    assert taken(RetryQuota(QuotaRule(floor=3)), 0.0) == 3


def test_a_client_that_was_quiet_for_days_gets_the_floor_and_no_more() -> None:
    quota = RetryQuota(QuotaRule(floor=3))
    quota.take(0.0)
    assert taken(quota, 1e6) == 3


def test_each_retry_of_the_floor_comes_back_a_window_after_it_was_taken() -> None:
    quota = RetryQuota(QuotaRule(ratio=0.0, floor=2, window_s=W))
    assert quota.take(0.0)
    assert quota.take(20.0)
    assert not quota.take(W - 1)
    assert quota.take(W)
    assert not quota.take(W)
    assert quota.take(20.0 + W)


@pytest.mark.parametrize(("ratio", "calls", "retries"), [(0.2, 4, 0), (0.2, 5, 1), (0.1, 100, 10), (1.0, 7, 7)])
def test_calls_allow_their_part(ratio: float, calls: int, retries: int) -> None:
    quota = RetryQuota(QuotaRule(ratio=ratio, floor=0))
    for _ in range(calls):
        quota.deposit(0.0)
    assert taken(quota, 0.0) == retries


def test_deposits_stay_for_half_a_window_and_leak_linearly_through_the_next() -> None:
    def left_at(now: float) -> int:
        quota = RetryQuota(QuotaRule(ratio=1.0, floor=0, window_s=W))
        for _ in range(100):
            quota.deposit(0.0)
        return quota.left(now)

    assert [left_at(part * W) for part in (0.0, 0.49, 0.55, 0.75, 0.95, 1.0, 9.0)] == [100, 100, 90, 50, 10, 0, 0]


def test_deposits_of_both_halves_pay_for_one_retry() -> None:
    quota = RetryQuota(QuotaRule(ratio=0.5, floor=0, window_s=W))
    quota.deposit(0.0)
    for _ in range(3):
        quota.deposit(W / 2)
    assert quota.take(W / 2)
    assert quota.left(W / 2) == 1
    assert quota.left(W) == 1
    assert quota.left(W + 1) == 0


def test_looking_often_leaks_no_faster() -> None:
    quota = RetryQuota(QuotaRule(ratio=1.0, floor=0, window_s=W))
    for _ in range(100):
        quota.deposit(0.0)
    seen = [quota.left(tenth / 10) for tenth in range(451)]
    assert seen[-1] == 50
    assert all(later <= earlier for earlier, later in pairwise(seen))


def test_when_every_call_fails_they_are_amplified_by_the_ratio() -> None:
    quota = RetryQuota(QuotaRule(ratio=0.2, floor=3, window_s=W))
    retries = 0
    for second in range(3000):
        quota.deposit(float(second))
        retries += taken(quota, float(second), 2)
    floors = 3 * 3000 / W
    assert 0.2 * 3000 <= retries <= 0.2 * 3000 + floors


def test_a_steady_client_that_needs_no_retries_holds_those_of_half_a_window() -> None:
    quota = RetryQuota(QuotaRule(ratio=0.5, floor=0, window_s=W))
    held = set()
    for tenth in range(6000):
        quota.deposit(tenth / 10)
        if tenth > 600:
            held.add(quota.left(tenth / 10))
    assert held <= {149, 150, 151}


def test_what_is_given_back_can_be_taken_again() -> None:
    quota = RetryQuota(QuotaRule(ratio=0.0, floor=1))
    assert quota.take(0.0)
    assert not quota.take(0.0)
    quota.give_back()
    assert quota.take(0.0)
    assert not quota.take(0.0)


def test_a_rule_replaced_while_running_is_obeyed_at_once() -> None:
    quota = RetryQuota(QuotaRule(ratio=0.0, floor=3))
    assert taken(quota, 0.0) == 3
    quota.rule = QuotaRule(ratio=1.0, floor=1)
    assert quota.left(1.0) == 0
    assert not quota.take(1.0)
    quota.deposit(1.0)
    assert taken(quota, 1.0) == 1


@given(RULES, EVENTS)
def test_no_sequence_takes_more_than_the_floor_and_the_part_of_two_windows(
    rule: QuotaRule, events: list[tuple[float, str]]
) -> None:
    quota = RetryQuota(rule)
    now = 1000.0
    takes: list[float] = []
    deposits: list[tuple[float, float]] = []
    unmade = 0
    for gap, event in events:
        now += gap
        if event == "call":
            quota.deposit(now)
            deposits.append((now, rule.ratio))
        elif event == "take":
            takes += [now] * quota.take(now)
        elif unmade < len(takes):
            unmade += 1
            quota.give_back()
            deposits.append((now, 1.0))
    for end in takes:
        in_window = sum(at <= end < at + W for at in takes)
        paid = sum(part for at, part in deposits if at <= end < at + 2 * W + 1e-6)
        assert in_window <= rule.floor + paid + 1e-6


@given(RULES, EVENTS)
def test_what_is_left_is_what_can_be_taken_and_never_negative(rule: QuotaRule, events: list[tuple[float, str]]) -> None:
    quota = RetryQuota(rule)
    now = 1000.0
    for gap, event in events:
        now += gap
        before = quota.left(now)
        assert before >= 0
        if event == "call":
            quota.deposit(now)
            assert before <= quota.left(now) <= before + 1
        elif event == "take":
            assert quota.take(now) == (before > 0)
            assert quota.left(now) == max(before - 1, 0)
        else:
            quota.give_back()
            assert quota.left(now) == before + 1


@given(RULES, EVENTS)
def test_the_floor_is_always_there_for_a_client_that_took_nothing_of_late(
    rule: QuotaRule, events: list[tuple[float, str]]
) -> None:
    quota = RetryQuota(rule)
    now = 1000.0
    for gap, event in events:
        now += gap
        if event == "call":
            quota.deposit(now)
        elif event == "take":
            quota.take(now)
    assert taken(quota, now + W) >= rule.floor
