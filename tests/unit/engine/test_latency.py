"""Quantiles of the last service times, against sorting them all."""

import pytest
from hypothesis import given, strategies as st

from stretto.engine.latency import LEAST, WINDOW, Latency

TIMES = st.one_of(st.floats(0, 1e6), st.sampled_from([0.0, 0.5, 1.0]))
"""Many of them equal, so that the oldest is not the only one of its size."""


def _of(times: list[float]) -> Latency:
    latency = Latency()
    for took_s in times:
        latency.add(took_s)
    return latency


def test_too_few_samples_have_no_quantile() -> None:
    latency = _of([1.0] * (LEAST - 1))
    assert latency.quantile(0.5) is None
    latency.add(1.0)
    assert latency.quantile(0.5) == 1.0


@pytest.mark.parametrize(("q", "expected"), [(0.0, 1), (0.5, 50), (0.95, 95), (0.99, 99), (1.0, 100)])
def test_a_quantile_is_the_least_that_so_many_keep_to(q: float, expected: float) -> None:
    assert _of([float(took) for took in range(100, 0, -1)]).quantile(q) == expected


def test_what_left_the_window_is_forgotten() -> None:
    latency = _of([100.0] * WINDOW + [1.0] * WINDOW)
    assert len(latency) == WINDOW
    assert latency.quantile(1.0) == 1.0


@given(st.lists(TIMES, min_size=LEAST, max_size=3 * WINDOW), st.integers(1, 100))
def test_it_agrees_with_sorting_the_last_ones(times: list[float], percent: int) -> None:
    last = sorted(times[-WINDOW:])
    rank = -(-percent * len(last) // 100)
    found = _of(times).quantile(percent / 100)
    assert found in last[max(rank - 1, 0) : rank + 1]
    assert len(_of(times)) == len(last)
