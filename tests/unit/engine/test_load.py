"""Whether a component answers later than usual: by this a time-out is told from a fault."""

import asyncio
from collections.abc import Iterable

import pytest

from stretto.engine.limit import LONG_S
from stretto.engine.load import LEAST, RECENT, RECENT_S, Load


def after(*took: Iterable[float | None], step_s: float = 1.0) -> tuple[Load, float]:
    """After calls that took so long, one a step; None is one that was given up after 3 s."""
    load, now = Load(), 0.0
    for took_s in (each for part in took for each in part):
        now += step_s
        load.note(now, 3.0 if took_s is None else took_s, failed=took_s is None)
    return load, now


USUAL = [0.8] * 20


@pytest.mark.parametrize(
    ("late", "is_high"),
    [
        ([], False),
        ([None], False),
        ([None] * 16, False),  # what hangs answers nothing
        ([2.0] * 16, True),
        ([2.0] + [None] * 15, True),
        ([2.0] * 4, False),  # of the last 16, too few
        ([1.1] * 16, False),  # within what is tolerated
        ([0.8, 2.0] * 8, True),  # half of them
        ([0.8, 0.8, 2.0] * 6, False),
    ],
)
def test_half_of_the_calls_of_late_must_be_late_and_one_of_those_answered(
    late: list[float | None], is_high: bool
) -> None:
    load, now = after(USUAL, late)
    assert load.is_high(now) is is_high


def test_an_error_that_comes_at_once_says_nothing() -> None:
    load, now = after(USUAL, [2.0] * RECENT)
    for _ in range(RECENT):
        load.note(now, 0.001, failed=True)
    assert load.is_high(now)


def test_few_calls_and_old_ones_say_nothing() -> None:
    load, now = after(USUAL)
    at = now + RECENT_S
    for _ in range(LEAST - 1):
        load.note(at, 2.0, failed=False)
    assert not load.is_high(at)
    load.note(at, 2.0, failed=False)
    assert load.is_high(at)
    assert not load.is_high(at + RECENT_S)


def test_it_is_over_soon_after_calls_are_as_usual() -> None:
    load, now = after(USUAL, [2.0] * RECENT, [0.8] * (RECENT // 2 + 1))
    assert not load.is_high(now)


def test_a_second_with_a_hundred_late_answers_does_not_become_the_norm() -> None:
    load, now = after(USUAL)
    for _ in range(100):
        now += 0.01
        load.note(now, 5.0, failed=False)
    assert load.usual_s == pytest.approx(0.8, rel=0.05)
    assert load.is_high(now)


def test_what_lasts_becomes_the_norm() -> None:
    load, now = after(USUAL, [2.0] * int(4 * LONG_S), step_s=1.0)
    assert load.usual_s == pytest.approx(2.0, rel=0.1)
    assert not load.is_high(now)


def after_answers(*written: int, slower: float = 1.0, tells: bool = True) -> tuple[Load, float]:
    """After 20 answers of 100 tokens and 20 of 1000, then so many as are given, at 10 ms a token."""
    load, now = Load(), 0.0
    for number, tokens in enumerate([100, 1000] * 20 + list(written)):
        now += 1.0
        took_s = 0.01 * tokens * (1.0 if number < 40 else slower)
        load.note(now, took_s, failed=False, tokens=tokens if tells else 0)
    return load, now


@pytest.mark.parametrize("written", [[1000] * RECENT, [3000] * RECENT, [1] * RECENT, [1, 3000] * RECENT])
def test_longer_answers_of_what_tells_its_tokens_are_no_load(written: list[int]) -> None:
    load, now = after_answers(*written)
    assert not load.is_high(now)


@pytest.mark.parametrize("written", [[1000] * RECENT, [3000] * RECENT, [1000, 100] * (RECENT // 2)])
def test_answers_that_take_longer_for_what_they_write_are(written: list[int]) -> None:
    load, now = after_answers(*written, slower=2.5)
    assert load.is_high(now)


def test_without_tokens_longer_answers_look_like_load() -> None:
    load, now = after_answers(*[1000] * RECENT, tells=False)
    assert load.is_high(now)


def test_a_call_that_tells_of_no_tokens_is_held_to_the_usual_time() -> None:
    load, now = after_answers()
    for _ in range(RECENT):
        load.note(now, 12.0, failed=False)
    assert load.is_high(now)


async def test_before_the_first_answer_nothing_is_late() -> None:
    load = Load()
    for _ in range(RECENT):
        load.note(asyncio.get_running_loop().time(), 9.0, failed=True)
    assert not load.is_high(asyncio.get_running_loop().time())
