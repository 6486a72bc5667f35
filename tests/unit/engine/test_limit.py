"""A limit follows what the component can bear, and stays within its bounds whatever it is told."""

import pytest
from hypothesis import given, strategies as st

from stretto.engine.limit import FixedLimit, Gradient2, Limit
from stretto.types.errors import UsageError

SAMPLES = st.lists(st.tuples(st.floats(0, 1e3), st.floats(0, 1e6), st.integers(1, 300), st.booleans()), max_size=400)


def _feed(limit: Limit, rounds: int, took_s: float, *, began: float = 0.0, failed: bool = False) -> float:
    """So many round trips of as many calls as may be in flight; returns when the last one ended."""
    for _ in range(rounds):
        began += took_s
        busy = limit.value
        for _ in range(busy):
            limit.sample(began, took_s, busy, failed=failed)
    return began


def _saturate(limit: Limit, capacity: int, rounds: int, *, began: float = 0.0) -> float:
    """Round trips to a component that does `capacity` calls of a second at once, and queues the rest."""
    for _ in range(rounds):
        began = _feed(limit, 1, max(1.0, limit.value / capacity), began=began)
    return began


def test_a_fixed_limit_learns_nothing() -> None:
    limit = FixedLimit(3)
    _feed(limit, 100, 60.0, failed=True)
    assert limit.value == 3


@pytest.mark.parametrize("value", [0, -1])
def test_a_limit_that_lets_nobody_in_is_refused(value: int) -> None:
    with pytest.raises(UsageError, match=f"a limit of {value} .* expected 1 or more"):
        FixedLimit(value)


@pytest.mark.parametrize(("least", "most"), [(0, 5), (6, 5)])
def test_bounds_that_contradict_each_other_are_refused(least: int, most: int) -> None:
    with pytest.raises(UsageError, match="expected 1 <= least <= most"):
        Gradient2(least=least, most=most)


@pytest.mark.parametrize(("least", "most", "begins_at"), [(1, 200, 8), (20, 200, 20), (1, 4, 4)])
def test_it_begins_within_its_bounds(least: int, most: int, begins_at: int) -> None:
    assert Gradient2(least=least, most=most).value == begins_at


def test_it_grows_to_its_most_while_calls_take_no_longer() -> None:
    limit = Gradient2(most=40)
    _feed(limit, 200, 1.0)
    assert limit.value == 40


@pytest.mark.parametrize("capacity", [8, 16, 32])
def test_it_settles_between_the_capacity_and_twice_that(capacity: int) -> None:
    limit = Gradient2(initial=capacity)
    _saturate(limit, capacity, 50)
    assert capacity <= limit.value <= 2 * capacity


def test_it_falls_when_a_component_loses_capacity_and_grows_when_that_returns() -> None:
    limit = Gradient2(initial=32)
    ended = _saturate(limit, 32, 40)
    before = limit.value
    ended = _saturate(limit, 8, 30, began=ended)
    assert limit.value < before / 2
    _saturate(limit, 32, 150, began=ended)
    assert limit.value >= 32


def test_it_falls_to_one_when_calls_hang() -> None:
    limit = Gradient2()
    ended = _feed(limit, 20, 1.0)
    _feed(limit, 200, 30.0, began=ended, failed=True)
    assert limit.value == 1


def test_a_component_that_hangs_does_not_become_the_norm() -> None:
    limit = Gradient2()
    ended = _feed(limit, 20, 1.0)
    ended = _feed(limit, 2_000, 30.0, began=ended, failed=True)
    ended = _feed(limit, 30, 5.0, began=ended)
    assert limit.value <= 2
    _feed(limit, 400, 1.0, began=ended)
    assert limit.value > 8


def test_it_shrinks_when_most_calls_are_given_up_though_none_took_long() -> None:
    limit = Gradient2()
    ended = _feed(limit, 20, 1.0)
    before = limit.value
    for _ in range(100):
        limit.sample(ended, 1.0, before, failed=False)
        for _ in range(2):
            limit.sample(ended, 1.4, before, failed=True)
    assert limit.value < before


def test_what_calls_usually_take_comes_down_fast() -> None:
    limit = Gradient2()
    ended = _feed(limit, 20, 10.0)
    ended = _feed(limit, 40, 1.0, began=ended)
    before = limit.value
    _feed(limit, 10, 4.0, began=ended)
    assert limit.value < before


def test_it_moves_once_in_a_round_trip() -> None:
    limit = Gradient2(initial=100)
    ended = _feed(limit, 5, 1.0)
    before = limit.value
    for _ in range(before - 1):
        limit.sample(ended, 10.0, before, failed=False)
    assert limit.value == before
    limit.sample(ended, 10.0, before, failed=False)
    assert 0.9 * before <= limit.value < before


def test_an_error_that_answers_at_once_is_no_sample() -> None:
    limit = Gradient2()
    ended = _feed(limit, 20, 1.0)
    before = limit.value
    _feed(limit, 100, 0.001, began=ended, failed=True)
    assert limit.value == before


def test_failures_before_anything_is_known_are_no_samples() -> None:
    limit = Gradient2()
    _feed(limit, 100, 30.0, failed=True)
    assert limit.value == 8


@pytest.mark.parametrize("took_s", [1.0, 5.0])
def test_calls_that_leave_half_of_it_unused_do_not_move_it(took_s: float) -> None:
    limit = Gradient2()
    ended = _feed(limit, 2, 1.0)
    before = limit.value
    for _ in range(1_000):
        limit.sample(ended, took_s, before // 2 - 1, failed=False)
    assert limit.value == before


def test_a_second_of_slow_calls_does_not_become_the_norm() -> None:
    limit = Gradient2(most=8)
    ended = _feed(limit, 20, 1.0)
    for call in range(1_000):
        limit.sample(ended + call / 1_000, 10.0, 8, failed=False)
    assert limit.value == 1


@given(SAMPLES, st.integers(1, 20), st.integers(0, 50))
def test_whatever_it_is_told_it_stays_within_its_bounds(
    samples: list[tuple[float, float, int, bool]], least: int, more: int
) -> None:
    limit = Gradient2(least=least, most=least + more)
    now = 0.0
    for since, took_s, in_flight, failed in samples:
        now += since
        limit.sample(now, took_s, in_flight, failed=failed)
        assert least <= limit.value <= least + more


@given(SAMPLES, st.lists(st.integers(0, 10_000), min_size=400, max_size=400))
def test_it_stays_within_its_bounds_whatever_is_written(
    samples: list[tuple[float, float, int, bool]], written: list[int]
) -> None:
    limit, now = Gradient2(least=2, most=50), 0.0
    for (since, took_s, in_flight, failed), tokens in zip(samples, written, strict=False):
        now += since
        limit.sample(now, took_s, in_flight, failed=failed, tokens=tokens)
        assert 2 <= limit.value <= 50


def _write(limit: Gradient2, lengths: list[int], s_a_token: float, *, rounds: int, tell: bool = True) -> None:
    """Round trips of answers of these lengths, over and over; `tell` says whether the component reports them."""
    now, turn = 0.0, 0
    for _ in range(rounds):
        busy = limit.value
        for _ in range(busy):
            tokens = lengths[turn % len(lengths)]
            turn += 1
            now += 0.01
            limit.sample(now, tokens * s_a_token, busy, failed=False, tokens=tokens if tell else 0)


@pytest.mark.parametrize("tell", [True, False])
def test_longer_answers_are_no_queue_where_their_length_is_known(tell: bool) -> None:
    limit = Gradient2(most=40)
    _write(limit, [100], 0.01, rounds=100, tell=tell)
    assert limit.value == 40
    _write(limit, [1000], 0.01, rounds=20, tell=tell)
    assert (limit.value == 40) is tell


def test_slower_tokens_are_a_queue_however_long_the_answers() -> None:
    limit = Gradient2(most=40)
    _write(limit, [10, 1000, 200], 0.01, rounds=100)
    assert limit.value == 40
    _write(limit, [10, 100, 20], 0.05, rounds=20)
    assert limit.value < 20


def test_what_was_learnt_of_whole_calls_is_forgotten_when_a_component_tells_its_tokens() -> None:
    limit = Gradient2(most=40)
    _write(limit, [100], 0.01, rounds=100, tell=False)
    _write(limit, [100], 0.01, rounds=100)
    assert limit.value == 40


def test_a_time_out_counts_as_a_call_that_wrote_as_much_as_most() -> None:
    limit = Gradient2(most=40)
    _write(limit, [100], 0.01, rounds=100)
    for n in range(400):
        limit.sample(100.0 + n, 5.0, limit.value, failed=True)
    assert limit.value <= 10
