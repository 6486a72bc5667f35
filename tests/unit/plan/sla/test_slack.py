"""How much later, or less reliable, a step may be: exactly so much."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from stretto.plan.sla.compose import compose
from stretto.plan.sla.slack import Room, Targets, rooms
from tests.unit.plan.sla.worlds import call, compiled, workflows

KNOWN = {"p95_latency": "200ms", "max_latency": "500ms", "min_success_rate": 0.99}


def room_of(steps: list[Any], sla: dict[str, Any], name: str, **targets: float) -> Room:
    found = rooms(compiled(steps, sla), Targets(**targets))
    return next(room for room in found if room.part.name == name)


def test_steps_in_a_row_share_what_is_left() -> None:
    steps = [call("a"), {**call("b"), "needs": ["a"]}]
    assert room_of(steps, {"a": KNOWN, "b": KNOWN}, "a", p95_s=1.0).p95_s == pytest.approx(0.8)


def test_a_step_beside_a_longer_one_has_more_room() -> None:
    steps = [call("a"), call("b")]
    sla = {"a": KNOWN, "b": {**KNOWN, "p95_latency": "450ms"}}
    assert room_of(steps, sla, "a", p95_s=0.5).p95_s == pytest.approx(0.5)


def test_the_rounds_of_a_loop_share_its_room() -> None:
    loop = {"name": "loop", "repeat": {"max_rounds": 4, "steps": [call("a")]}}
    assert room_of([loop], {"a": KNOWN}, "a", p95_s=2.0).p95_s == pytest.approx(0.5)
    assert room_of([loop], {"a": KNOWN}, "a", success=0.9).success == pytest.approx(0.9**0.25)


def test_attempts_share_the_room_of_the_worst_case() -> None:
    retry = {"attempts": 2, "base": "100ms", "cap": "100ms"}
    assert room_of([call("a", retry=retry)], {"a": KNOWN}, "a", worst_s=2.1).worst_s == pytest.approx(1.0)


def test_what_a_fixed_fallback_answers_for_may_fail_always() -> None:
    assert room_of([call("a", fallback={"output": {}})], {"a": KNOWN}, "a", success=0.999).success == 0.0


def test_a_step_may_fail_no_more_often_than_its_fallback_may_answer() -> None:
    step = call("a", fallback={"output": {}}, retry={"attempts": 2})
    sla = {"a": {**KNOWN, "max_fallback_rate": 0.04}}
    assert room_of([step], sla, "a", success=0.9).success == pytest.approx(0.8)


def test_the_fallbacks_of_all_steps_share_what_the_workflow_may_have() -> None:
    steps = [call("a", fallback={"output": {}}), call("b", fallback={"output": {}})]
    room = room_of(steps, {"a": KNOWN, "b": KNOWN}, "a", answered=0.97)
    assert room.success == pytest.approx(0.97 / 0.99)


def test_where_another_way_is_too_long_already_no_figure_would_do() -> None:
    steps = [call("a"), call("b")]
    sla = {"a": KNOWN, "b": {**KNOWN, "p95_latency": "450ms"}}
    assert room_of(steps, sla, "a", p95_s=0.4).p95_s is None


def test_a_sub_workflow_has_room_as_a_whole() -> None:
    inner = compiled([call("x")], {"x": KNOWN})
    plan = compiled([{"name": "sub", "workflow": "inner"}], None, plans={"inner": inner})
    (room,) = rooms(plan, Targets(p95_s=1.0))
    assert (room.part.name, room.p95_s) == ("sub", 1.0)


def test_a_step_that_stands_in_for_another_takes_its_room_twice() -> None:
    steps = [call("a", fallback={"component": "b"}), {**call("b"), "needs": ["a"]}]
    sla = {"a": KNOWN, "b": KNOWN}
    assert room_of(steps, sla, "b", worst_s=2.5).worst_s == pytest.approx(1.0)


def test_of_too_many_steps_that_stand_in_for_others_nothing_is_said() -> None:
    steps = [{"name": f"s{number}", "component": "b"} for number in range(8)]
    room = room_of([call("a", fallback={"component": "b"}), *steps], {"s0": KNOWN, "a": KNOWN}, "s0", worst_s=9.0)
    assert (room.p95_s, room.worst_s, room.success) == (None, None, None)


def test_a_step_keeps_what_is_promised_of_the_loop_around_it() -> None:
    loop = {"name": "loop", "repeat": {"max_rounds": 4, "steps": [call("a")]}}
    sla = {"a": KNOWN, "loop": {"p95_latency": "1s", "min_success_rate": 0.95}}
    room = room_of([loop], sla, "a", p95_s=2.0, success=0.9)
    assert room.p95_s == pytest.approx(0.25)
    assert room.success == pytest.approx(0.95**0.25)


def test_a_step_may_not_fail_so_often_that_trying_again_takes_too_long() -> None:
    step = call("a", retry={"attempts": 3, "base": "0s", "cap": "0s", "quota": {"ratio": 1.0}})
    assert room_of([step], {"a": KNOWN}, "a", success=0.9).success == pytest.approx(1 - 0.1 ** (1 / 3))
    within = room_of([step], {"a": KNOWN}, "a", success=0.9, p95_s=0.5).success  # two attempts of 200 ms
    assert within == pytest.approx(1 - 0.05**0.5)


def test_without_a_target_nothing_is_said() -> None:
    room = room_of([call("a")], {"a": KNOWN}, "a")
    assert (room.p95_s, room.worst_s, room.success) == (None, None, None)


@given(workflows(), st.data(), st.floats(1.0, 2.0))
def test_at_the_slack_the_percentile_is_kept_and_beyond_it_broken(
    world: Any, data: st.DataObject, factor: float
) -> None:
    steps, sla = world
    target = compose(compiled(steps, sla)).composed.p95_s.value * factor
    for promised in sla.values():  # else the longest a call takes bounds its percentile
        promised["max_latency"] = "24h"
    name = data.draw(st.sampled_from(sorted(sla)))
    limit = room_of(steps, sla, name, p95_s=target).p95_s
    assert limit is not None

    def composed(ms: float) -> float:
        changed = deepcopy(sla)
        changed[name]["p95_latency"] = f"{ms:.6f}ms"
        return compose(compiled(steps, changed)).composed.p95_s.value

    assert composed(limit * 1000) <= target + 1e-4  # a file has microseconds, and 36 attempts of them
    assert composed(limit * 1000 + 1) > target


@given(workflows(), st.data(), st.floats(1.0, 2.0))
def test_at_the_slack_the_worst_case_is_kept_and_beyond_it_broken(
    world: Any, data: st.DataObject, factor: float
) -> None:
    steps, sla = world
    target = compose(compiled(steps, sla)).composed.worst_s.value * factor
    name = data.draw(st.sampled_from(sorted(sla)))
    limit = room_of(steps, sla, name, worst_s=target).worst_s
    assert limit is not None

    def composed(ms: float) -> float:
        changed = deepcopy(sla)
        changed[name]["max_latency"] = f"{ms:.6f}ms"
        return compose(compiled(steps, changed)).composed.worst_s.value

    assert composed(limit * 1000) <= target + 1e-4  # a file has microseconds, and 36 attempts of them
    assert composed(limit * 1000 + 1) > target


@given(workflows(), st.data(), st.floats(0.1, 1.0))
def test_at_the_slack_success_is_kept_and_below_it_broken(world: Any, data: st.DataObject, factor: float) -> None:
    steps, sla = world
    target = compose(compiled(steps, sla)).composed.success.value * factor
    name = data.draw(st.sampled_from(sorted(sla)))
    limit = room_of(steps, sla, name, success=target).success
    assert limit is not None

    def composed(rate: float) -> float:
        changed = deepcopy(sla)
        changed[name]["min_success_rate"] = rate
        return compose(compiled(steps, changed)).composed.success.value

    assert composed(limit) >= target * (1 - 1e-9)
    assume(limit > 1e-6)  # at 0 there is nothing below
    assert composed(limit * (1 - 1e-4)) < target


@given(workflows())
def test_every_step_has_room_for_what_it_promises(world: Any) -> None:
    steps, sla = world
    plan = compiled(steps, sla)
    whole = compose(plan)
    targets = Targets(p95_s=whole.composed.p95_s.value, worst_s=whole.composed.worst_s.value)
    for room in rooms(plan, targets):
        terms = room.part.terms
        assert terms is not None
        assert terms.p95_s is not None
        assert terms.worst_s is not None
        assert room.p95_s is not None
        assert room.worst_s is not None
        assert room.p95_s >= terms.p95_s - 1e-6
        assert room.worst_s >= terms.worst_s - 1e-6
