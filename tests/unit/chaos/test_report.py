"""How a trial is folded."""

from hypothesis import given, strategies as st

from stretto.chaos.report import latencies


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_a_quantile_is_one_of_the_times_and_enough_are_no_longer(times: list[float]) -> None:
    found = latencies(times)
    for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        assert found[name] in times
        assert sum(each <= found[name] for each in times) >= share * len(times)
    assert found["p50"] <= found["p95"] <= found["p99"] <= max(times)


def test_of_no_run_there_are_no_times() -> None:
    assert latencies([]) == {}
