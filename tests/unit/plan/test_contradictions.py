"""What contradicts itself only in part is noted; data cases in tests/conformance/flow hold the errors."""

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from stretto.plan.contradictions import attempts_that_fit
from stretto.plan.model import Plan
from stretto.spec.model import RetrySpec
from tests.unit.plan.sla.worlds import call, compiled


def notes(plan: Plan, word: str) -> list[str]:
    return [note.text for note in plan.notes if word in note.text]


class TestRetry:
    def test_how_many_attempts_fit_is_told(self) -> None:
        steps = [call("a", timeout="1s", retry={"attempts": 5, "base": "100ms"})]
        (told,) = notes(compiled(steps, budget={"deadline": "3s"}), "attempts")
        assert told == (
            "of the 5 attempts of step 'a' the run's deadline leaves time for 2 when each takes its 1s and waits are "
            "the longest"
        )

    def test_the_reserve_is_no_time_to_try_again(self) -> None:
        steps = [call("a", timeout="1s", retry={"attempts": 2, "base": "100ms"})]
        (told,) = notes(compiled(steps, budget={"deadline": "2500ms", "reserve": "1s"}), "attempts")
        assert "the run's deadline less its reserve leaves time for 1 when" in told

    def test_where_all_fit_nothing_is_told(self) -> None:
        steps = [call("a", timeout="1s", retry={"attempts": 2, "base": "100ms"})]
        assert notes(compiled(steps, budget={"deadline": "3s"}), "attempts") == []

    def test_waits_alone_may_be_too_long(self) -> None:
        steps = [call("a", retry={"attempts": 4, "base": "1s"})]
        (told,) = notes(compiled(steps, budget={"deadline": "2s"}), "attempts")
        assert told.endswith("leaves time for 2 and waits are the longest")

    @given(
        st.integers(1, 100), st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 9000), st.integers(1, 60_000)
    )
    def test_what_fits_fits_and_one_more_does_not(
        self, attempts: int, each: int, base: int, more: int, work: int
    ) -> None:
        retry = RetrySpec(attempts=attempts, base=_ms(base), cap=_ms(base + more))
        count = attempts_that_fit(retry, _ms(each), _ms(work))
        assert 0 <= count <= attempts
        assert count == 0 or _spent(retry, each, count) <= work
        assert count == attempts or _spent(retry, each, count + 1) > work

    def test_the_longest_waits_that_may_be_declared_can_be_added_up(self) -> None:
        retry = RetrySpec(attempts=100, base=timedelta(hours=1), cap=timedelta(days=365))
        assert attempts_that_fit(retry, timedelta(days=1), timedelta(days=365)) < 100


def _ms(count: float) -> timedelta:
    return timedelta(milliseconds=count)


def _spent(retry: RetrySpec, each: int, attempts: int) -> float:
    base, cap = retry.base / _ms(1), retry.cap / _ms(1)
    return each * attempts + sum(min(cap, base * 2.0**number) for number in range(attempts - 1))


class TestFallback:
    STEPS = (call("a", fallback={"component": "b"}), {**call("b", timeout="2s"), "needs": ["a"]})

    def test_one_that_may_take_longer_than_its_reserve_is_told(self) -> None:
        (told,) = notes(compiled([*self.STEPS], budget={"deadline": "9s", "reserve": "1s"}), "reserve")
        assert told == (
            "the fallback 'b' may take 2s, and the reserve for it is 1s: when step 'a' fails at the last moment, it is "
            "cut short"
        )

    @pytest.mark.parametrize("budget", [{"deadline": "9s", "reserve": "2s"}, {"deadline": "9s"}])
    def test_one_that_fits_or_has_no_reserve_is_not(self, budget: dict[str, str]) -> None:
        assert notes(compiled([*self.STEPS], budget=budget), "cut short") == []


SLA = {"a": {"p95_latency": "800ms"}}


class TestQueue:
    def test_places_from_which_no_call_could_end_in_time_are_told(self) -> None:
        steps = [call("a", timeout="2s", bulkhead={"limit": 2, "queue": 100})]
        (told,) = notes(compiled(steps, SLA), "bulkhead")
        assert told == (
            "the bulkhead of 'a' lets 100 calls wait, and with 2 at once of 800ms each, 2 of them can end within 2s; "
            "the others are shed"
        )

    def test_a_queue_that_can_be_served_is_not(self) -> None:
        steps = [call("a", timeout="2s", bulkhead={"limit": 2, "queue": 2})]
        assert notes(compiled(steps, SLA), "bulkhead") == []
