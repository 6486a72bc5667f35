"""What the steps promise, held against what is promised of the whole."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from stretto.plan.codes import PlanCode
from stretto.types.errors import Problem, SpecError
from tests.unit.plan.sla.worlds import call, compiled

KNOWN = {"p95_latency": "600ms", "min_success_rate": 0.99}
ROW = [call("a"), {**call("b"), "needs": ["a"]}]
BOTH = {"a": KNOWN, "b": KNOWN}


def problems(steps: list[Any], sla: dict[str, Any], **top: Any) -> tuple[Problem, ...]:
    with pytest.raises(SpecError) as caught:
        compiled(steps, sla, **top)
    return caught.value.problems


def notes(steps: list[Any], sla: dict[str, Any], **top: Any) -> list[str]:
    return [note.text for note in compiled(steps, sla, **top).notes]


def test_a_percentile_that_the_steps_break_is_told_with_the_sum_and_the_line() -> None:
    (problem,) = problems(ROW, {"workflow": {"p95_latency": "1s"}, **BOTH})
    assert (problem.code, problem.file, problem.line) == (PlanCode.SLA, "c.yaml", 1)
    assert problem.message == (
        "`p95_latency` of the workflow is promised as 1s, and what its steps promise comes to 1.2s: a 600ms + b 600ms"
    )
    assert problem.suggestion == "p95_latency: 1.2s of the workflow, or less of its slowest step"


def test_one_that_they_keep_is_no_problem() -> None:
    assert notes(ROW, {"workflow": {"p95_latency": "1200ms", "min_success_rate": 0.98}, **BOTH}) == []


def test_a_success_rate_that_they_break_is_told_with_each_rate() -> None:
    (problem,) = problems(ROW, {"workflow": {"min_success_rate": 0.995}, **BOTH})
    assert problem.message == (
        "`min_success_rate` of the workflow is promised as 0.995, and what its steps promise comes to 0.9801: "
        "a 0.99, b 0.99"
    )


@given(st.floats(0.5, 0.999), st.floats(0.5, 0.999))
def test_the_success_rate_that_is_advised_is_kept(one: float, other: float) -> None:
    sla = {"a": {"min_success_rate": one}, "b": {"min_success_rate": other}}
    (problem,) = problems(ROW, {**sla, "workflow": {"min_success_rate": 1}})
    advised = float(problem.suggestion.split()[1])
    assert compiled(ROW, {**sla, "workflow": {"min_success_rate": advised}}).promises


@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999))
def test_the_rate_of_fallbacks_that_is_advised_is_kept(one: float, other: float) -> None:
    steps = [call("a", fallback={"output": {}}), call("b", fallback={"output": {}})]
    sla = {"a": {"min_success_rate": one}, "b": {"min_success_rate": other}}
    (problem,) = problems(steps, {**sla, "workflow": {"max_fallback_rate": 0}})
    advised = float(problem.suggestion.split()[1])
    assert compiled(steps, {**sla, "workflow": {"max_fallback_rate": advised}}).promises


def test_what_is_known_may_break_a_promise_though_the_rest_is_not() -> None:
    (problem,) = problems(ROW, {"workflow": {"p95_latency": "500ms"}, "a": KNOWN})
    assert problem.message.endswith("comes to 600ms: a 600ms")


def test_what_cannot_be_composed_is_noted_with_the_steps_that_promise_too_little() -> None:
    found = notes(ROW, {"workflow": {"p95_latency": "1s", "min_success_rate": 0.9}, "a": KNOWN})
    (told,) = found
    assert told == (
        "`p95_latency` and `min_success_rate` of the workflow cannot be composed: too little is promised of b; "
        "give what is missing there under `sla` of the contract, or take the promise of the whole away"
    )


def test_a_check_that_holds_nothing_says_so() -> None:
    assert notes(ROW, BOTH) == [
        "`sla` promises nothing of the workflow, so what its steps promise is held against nothing"
    ]


def test_a_deadline_that_more_than_5_of_100_runs_break_is_a_problem() -> None:
    (problem,) = problems(ROW, BOTH, budget={"deadline": "1300ms", "reserve": "200ms"})
    assert problem.code == PlanCode.SLA
    assert problem.message == (
        "the run's deadline is 1.3s, 200ms of it for fallbacks, and 95 of 100 runs may need 1.2s of what is "
        "promised: a 600ms + b 600ms"
    )
    assert problem.suggestion == "a deadline of 1.4s or more"


def test_a_deadline_keeps_the_longest_that_a_run_may_take() -> None:
    sla = {"workflow": {"max_latency": "2s"}, **BOTH}
    assert "cannot be composed" in notes(ROW, sla)[0]
    assert notes(ROW, sla, budget={"deadline": "2s"}) == []


def test_time_outs_keep_a_percentile_of_which_nothing_is_promised() -> None:
    assert notes([call("a", timeout="800ms")], {"workflow": {"p95_latency": "1s"}}) == []


def test_time_outs_alone_break_no_percentile_and_no_deadline() -> None:
    loop = {"name": "loop", "repeat": {"max_rounds": 9, "steps": [call("a", timeout="1s")]}}
    sla = {"workflow": {"max_latency": "5s", "p95_latency": "2s"}}
    (told,) = notes([loop], sla, budget={"deadline": "5s"})
    assert told.startswith("`p95_latency` of the workflow cannot be composed: too little is promised of a; give")


def test_time_outs_break_the_longest_that_a_run_may_take() -> None:
    steps = [call("a", timeout="1s", retry={"attempts": 3, "base": "0s", "cap": "0s"})]
    (problem,) = problems(steps, {"workflow": {"max_latency": "2s"}})
    assert problem.message.endswith("comes to 3s: a 3s")


def test_the_promise_of_a_loop_is_held_against_its_rounds() -> None:
    loop = {"name": "loop", "repeat": {"max_rounds": 3, "steps": [call("a")]}}
    (problem,) = problems([loop], {"loop": {"p95_latency": "1s"}, "a": KNOWN})
    assert problem.message == (
        "`p95_latency` of step 'loop' is promised as 1s, and what its steps promise comes to 1.8s, 3 rounds of a 600ms"
    )


def test_sums_that_no_duration_holds_are_told() -> None:
    step: dict[str, Any] = call("a", timeout="8760h", retry={"attempts": 100})
    for depth in range(4):
        step = {"name": f"loop{depth}", "repeat": {"max_rounds": 10_000, "steps": [step]}}
    (problem,) = problems([step], {"workflow": {"max_latency": "1s"}})
    assert "comes to 3.15e+25s: loop3 3.15e+25s" in problem.message


class TestFallbackRate:
    def test_a_step_may_not_need_its_fallback_more_often_than_is_promised(self) -> None:
        steps = [call("a", fallback={"output": {}})]
        (problem,) = problems(steps, {"a": {"min_success_rate": 0.9, "max_fallback_rate": 0.02}})
        assert problem.message == (
            "`max_fallback_rate` of step 'a' is promised as 0.02, and of its calls up to 0.1 may fail"
        )

    def test_retries_count(self) -> None:
        steps = [call("a", fallback={"output": {}}, retry={"attempts": 2})]
        sla = {"workflow": {"max_fallback_rate": 0.02}, "a": {"min_success_rate": 0.9, "max_fallback_rate": 0.02}}
        assert notes(steps, sla) == []

    def test_of_a_step_without_a_fallback_it_holds_nothing(self) -> None:
        found = notes(ROW, {"workflow": {"p95_latency": "2s"}, **BOTH, "a": {**KNOWN, "max_fallback_rate": 0.1}})
        assert found == ["`max_fallback_rate` of step 'a' holds nothing: the step has no fallback"]

    def test_those_of_all_steps_count_for_the_workflow(self) -> None:
        step = {"min_success_rate": 0.99}
        steps = [call("a", fallback={"output": {}}), call("b", fallback={"output": {}})]
        (problem,) = problems(steps, {"workflow": {"max_fallback_rate": 0.015}, "a": step, "b": step})
        assert problem.message.endswith("comes to 0.0199: a 0.01, b 0.01")
