"""Choices that depend on what they are about only."""

from hypothesis import given, strategies as st

from stretto.chaos.draws import draw, run_seed, source
from stretto.types.arguments import INT64_MAX


@given(st.integers(), st.lists(st.text() | st.integers()))
def test_a_draw_is_in_range_and_the_same_each_time(seed: int, about: list[str | int]) -> None:
    assert 0 <= draw(seed, *about) < 1
    assert draw(seed, *about) == draw(seed, *about)
    assert source(seed, *about).random() == source(seed, *about).random()


@given(st.integers(0, INT64_MAX), st.integers(0, 10**6))
def test_a_runs_seed_is_a_json_integer(seed: int, index: int) -> None:
    assert 0 <= run_seed(seed, index) <= INT64_MAX


def test_draws_are_spread_evenly_over_runs_and_over_attempts() -> None:
    by_run = [draw(1, run, 0, "planner", 1) for run in range(4000)]
    by_attempt = [draw(1, 0, 0, "planner", attempt) for attempt in range(4000)]
    for drawn in (by_run, by_attempt):
        shares = [sum(low / 10 <= each < (low + 1) / 10 for each in drawn) / 4000 for low in range(10)]
        assert all(abs(share - 0.1) < 0.025 for share in shares)  # 5 standard deviations


def test_what_it_is_about_is_not_run_together() -> None:
    assert draw(1, "a", "b") != draw(1, "ab", "")
    assert draw(1, 2) != draw(12, "")
