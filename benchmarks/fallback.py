"""What fallbacks cost a run that does not need them."""

from benchmarks.measured import Series
from benchmarks.resilience import added_us


def standing_by() -> dict[str, float]:
    """Microseconds that are added to a run of one step, all being well: `fallback_overhead_us` by the fallback of its
    workflow, `step_fallback_overhead_us` by that of its step."""
    bare = Series(name="one", system="stretto", case="one", runs=2_000)
    cases = {"fallback_overhead_us": "one_standby", "step_fallback_overhead_us": "one_fallback"}
    return {
        key: added_us(Series(name=case, system="stretto", case=case, runs=2_000), bare) for key, case in cases.items()
    }


if __name__ == "__main__":
    print(standing_by())
