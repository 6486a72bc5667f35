"""What the steps promise, composed over the plan: known sums, and that a worse step never makes a better workflow."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from stretto.plan.model import Retry
from stretto.plan.sla.compose import Part, compose
from stretto.plan.sla.figures import Bound, Figures
from stretto.plan.sla.terms import longest_waits_s
from stretto.types.protection import Jitter
from tests.unit.plan.sla.worlds import call, compiled, workflows


def whole(steps: list[Any], sla: dict[str, Any], **top: Any) -> Part:
    return compose(compiled(steps, sla, **top))


def after(step: dict[str, Any], *needs: str) -> dict[str, Any]:
    return {**step, "needs": [*needs]}


KNOWN = {"p95_latency": "200ms", "max_latency": "500ms", "min_success_rate": 0.9}


class TestSums:
    def test_steps_in_a_row_add_their_times_and_multiply_their_success(self) -> None:
        figures = whole([call("a"), after(call("b"), "a")], {"a": KNOWN, "b": KNOWN}).composed
        assert (figures.p95_s.value, figures.worst_s.value) == (0.4, 1.0)
        assert figures.success.is_whole
        assert figures.success.value == pytest.approx(0.81)

    def test_of_steps_side_by_side_the_longer_counts_and_both_must_succeed(self) -> None:
        slow = {**KNOWN, "p95_latency": "300ms"}
        figures = whole([call("a"), call("b")], {"a": KNOWN, "b": slow}).composed
        assert (figures.p95_s.value, figures.worst_s.value) == (0.3, 0.5)
        assert figures.success.is_whole
        assert figures.success.value == pytest.approx(0.81)

    def test_the_longest_way_is_found_where_ways_cross(self) -> None:
        times = {"a": 100, "b": 400, "c": 50, "d": 10}
        steps = [call("a"), after(call("b"), "a"), after(call("c"), "a"), after(call("d"), "b", "c")]
        sla = {name: {"p95_latency": f"{ms}ms"} for name, ms in times.items()}
        assert whole(steps, sla).composed.p95_s.value == pytest.approx(0.51)

    def test_a_loop_counts_all_its_rounds(self) -> None:
        loop = {"name": "loop", "repeat": {"max_rounds": 3, "steps": [call("a")]}}
        figures = whole([loop], {"a": KNOWN}).composed
        assert (figures.p95_s.value, figures.worst_s.value) == pytest.approx((0.6, 1.5))
        assert figures.success.value == pytest.approx(0.9**3)

    def test_a_map_counts_one_item(self) -> None:
        (part,) = whole([{**call("a"), "for_each": "input.items"}], {"a": KNOWN}).parts
        assert part.per_item
        assert part.figures.p95_s.value == 0.2

    def test_a_map_whose_failed_items_are_null_fails_nothing(self) -> None:
        step = {**call("a"), "for_each": "input.items", "on_item_error": "null"}
        assert whole([step], {"a": KNOWN}).composed.success == Bound(1.0)

    def test_a_step_that_may_be_left_out_counts_as_taken(self) -> None:
        figures = whole([{**call("a"), "condition": "input.go"}], {"a": KNOWN}).composed
        assert figures.p95_s.value == 0.2


class TestRetry:
    def test_at_worst_every_attempt_takes_its_time_out_and_every_wait_is_the_longest(self) -> None:
        retry = {"attempts": 3, "base": "100ms", "cap": "150ms"}
        assert whole([call("a", retry=retry)], {"a": KNOWN}).composed.worst_s.value == pytest.approx(1.75)

    def test_retries_multiply_failure_where_the_quota_allows_for_them(self) -> None:
        retry = {"attempts": 3, "quota": {"ratio": 1.0}}
        assert whole([call("a", retry=retry)], {"a": KNOWN}).composed.success.value == pytest.approx(1 - 0.1**3)

    def test_a_quota_bounds_what_retries_can_save(self) -> None:
        retry = {"attempts": 5, "quota": {"ratio": 0.2}}
        poor = {**KNOWN, "min_success_rate": 0.5}
        assert whole([call("a", retry=retry)], {"a": poor}).composed.success.value == pytest.approx(0.5 * 1.2)

    @pytest.mark.parametrize(
        ("hedge", "left"),
        [
            ({}, 0.1),  # after the 95th percentile: 5 of 100 calls are made again, twice each
            ({"after": "200ms"}, 0.1),
            ({"after": "199ms"}, 0.0),  # of those that end sooner nobody knows how many are made again
        ],
    )
    def test_copies_of_hedged_calls_take_from_the_quota_of_retries(self, hedge: dict[str, str], left: float) -> None:
        poor, retry = {**KNOWN, "min_success_rate": 0.5}, {"attempts": 5, "quota": {"ratio": 0.2}}
        figures = whole([call("a", retry=retry, hedge={"copies": 2, **hedge})], {"a": poor}).composed
        assert figures.success.value == pytest.approx(0.5 * (1 + left))

    def test_decorrelated_waits_grow_threefold(self) -> None:
        rule = Retry(max_attempts=4, base_s=0.1, cap_s=0.5, jitter=Jitter.DECORRELATED)
        assert longest_waits_s(rule) == pytest.approx((0.1, 0.3, 0.5))

    def test_a_run_that_may_retry_nothing_retries_nothing(self) -> None:
        steps = [call("a", retry={"attempts": 3})]
        figures = whole(steps, {"a": KNOWN}, budget={"retries": 0}).composed
        assert (figures.worst_s.value, figures.success.value) == pytest.approx((0.5, 0.9))

    @pytest.mark.parametrize(("success", "attempts"), [(0.95, 1), (0.94, 2), (0.5, 4)])
    def test_the_percentile_counts_the_attempts_that_95_of_100_need(self, success: float, attempts: int) -> None:
        retry = {"attempts": 4, "base": "0s", "cap": "0s"}
        sla = {"a": {**KNOWN, "min_success_rate": success}}
        assert whole([call("a", retry=retry)], sla).composed.p95_s.value == pytest.approx(0.2 * attempts)


class TestFallback:
    def test_a_fixed_output_makes_every_step_succeed(self) -> None:
        figures = whole([call("a", fallback={"output": {}})], {"a": KNOWN}).composed
        assert figures.success == Bound(1.0)
        assert figures.fallback.value == pytest.approx(0.1)

    def test_a_component_succeeds_as_a_step_that_calls_it_is_promised_to(self) -> None:
        steps = [call("a", fallback={"component": "b"}), after(call("b"), "a")]
        a, b = whole(steps, {"a": KNOWN, "b": {**KNOWN, "min_success_rate": 0.8}}).parts
        assert a.figures.success.value == pytest.approx(1 - 0.1 * 0.2)
        assert a.figures.worst_s.value == pytest.approx(1.0)
        assert b.figures.success.value == 0.8

    def test_of_several_steps_that_call_a_component_the_worst_promise_counts(self) -> None:
        steps = [call("a", fallback={"component": "b"}), call("b"), {**call("c"), "component": "b"}]
        sla = {"a": KNOWN, "b": {**KNOWN, "min_success_rate": 0.8}, "c": {**KNOWN, "max_latency": "700ms"}}
        part = whole(steps, sla).parts[0]
        assert part.figures.success.value == pytest.approx(1 - 0.1 * 0.2)
        assert part.figures.worst_s.value == pytest.approx(1.2)

    def test_the_time_out_of_another_step_does_not_end_a_fallback(self) -> None:
        steps = [call("a", fallback={"component": "b"}), call("b", timeout="1s")]
        a, b = whole(steps, {"a": KNOWN, "b": {"p95_latency": "100ms", "min_success_rate": 0.9}}).parts
        assert a.figures.worst_s.unknown == {"a"}
        assert b.figures.worst_s == Bound(1.0)

    def test_a_component_of_which_nothing_is_known_leaves_the_step_unknown(self) -> None:
        steps = [call("a", fallback={"component": "b"}), call("b")]
        a, _ = whole(steps, {"a": KNOWN}).parts
        assert a.figures.success.unknown == {"a"}

    def test_a_step_falls_back_no_more_often_than_it_is_promised_to(self) -> None:
        sla = {"a": {"max_latency": "1s", "max_fallback_rate": 0.02}}
        assert whole([call("a", fallback={"output": {}})], sla).composed.fallback.value == pytest.approx(0.02)


class TestUnknown:
    def test_what_nothing_is_promised_of_is_named_and_counted_as_nothing(self) -> None:
        figures = whole([call("a"), after(call("b"), "a")], {"a": KNOWN}).composed
        assert figures.p95_s == Bound(0.2, frozenset({"b"}))
        assert figures.success == Bound(0.9, frozenset({"b"}))

    def test_a_time_out_bounds_what_nothing_is_promised_of(self) -> None:
        assert whole([call("a", timeout="2s")], {"workflow": KNOWN | {"p95_latency": "9s", "max_latency": "9s"}}).parts[
            0
        ].figures.worst_s == Bound(2.0)

    def test_the_promise_of_a_loop_stands_where_its_steps_promise_too_little(self) -> None:
        loop = {"name": "loop", "repeat": {"max_rounds": 3, "steps": [call("a")]}}
        assert whole([loop], {"loop": {"p95_latency": "2s"}}).composed.p95_s == Bound(2.0)


class TestSubWorkflows:
    def test_they_count_as_they_compose_themselves(self) -> None:
        inner = compiled([call("x"), after(call("y"), "x")], {"x": KNOWN, "y": KNOWN})
        part = compose(compiled([{"name": "sub", "workflow": "inner"}], None, plans={"inner": inner}))
        assert part.composed.p95_s == Bound(0.4)

    def test_or_as_their_own_contract_promises(self) -> None:
        inner = compiled([call("x")], {"workflow": {"p95_latency": "3s"}})
        part = compose(compiled([{"name": "sub", "workflow": "inner"}], None, plans={"inner": inner}))
        assert part.composed.p95_s == Bound(3.0)

    def test_and_end_by_their_deadline(self) -> None:
        inner = compiled([call("x")], None, budget={"deadline": "4s"})
        part = compose(compiled([{"name": "sub", "workflow": "inner"}], None, plans={"inner": inner}))
        assert part.composed.worst_s == Bound(4.0)


WORSE = {"p95_latency": 700, "max_latency": 700, "min_success_rate": -0.2}


@given(workflows(), st.data())
def test_a_worse_step_never_makes_a_better_workflow(world: Any, data: st.DataObject) -> None:
    steps, sla = world
    name, key = data.draw(st.sampled_from(sorted(sla))), data.draw(st.sampled_from(sorted(WORSE)))
    better, worse = sla, deepcopy(sla)
    if key == "min_success_rate":
        worse[name][key] = max(0.0, sla[name][key] + WORSE[key])
    else:
        worse[name]["max_latency"] = f"{_ms(sla, name, 'max_latency') + WORSE[key]}ms"
        if key == "p95_latency":
            worse[name][key] = f"{_ms(sla, name, key) + WORSE[key]}ms"
    assert _no_better(whole(steps, worse).composed, whole(steps, better).composed)


@given(workflows(), st.data())
def test_to_promise_less_never_makes_known_more(world: Any, data: st.DataObject) -> None:
    steps, sla = world
    name = data.draw(st.sampled_from(sorted(sla)))
    less = {each: promised for each, promised in sla.items() if each != name}
    known, unknown = whole(steps, sla).composed, whole(steps, less).composed
    assert unknown.p95_s.value <= known.p95_s.value + 1e-9
    assert unknown.success.value >= known.success.value - 1e-9


def _ms(sla: dict[str, Any], name: str, key: str) -> int:
    return int(sla[name][key].removesuffix("ms"))


def _no_better(worse: Figures, better: Figures) -> bool:
    return (
        worse.p95_s.value >= better.p95_s.value - 1e-9
        and worse.worst_s.value >= better.worst_s.value - 1e-9
        and worse.success.value <= better.success.value + 1e-9
        and worse.fallback.value >= better.fallback.value - 1e-9
    )
