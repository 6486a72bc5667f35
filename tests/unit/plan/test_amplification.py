"""Where declared retries multiply, told before a run."""

from typing import Any

import pytest

from stretto.plan.amplification import multiplied
from stretto.plan.compile import compile_workflow
from stretto.plan.model import Plan
from stretto.spec.report import Report
from stretto.spec.workflow import parse_workflow
from tests.unit.plan.flows import Shelf, component
from tests.unit.plan.sla.worlds import call, compiled

RETRY = {"attempts": 3}
ELSE: dict[str, Any] = {"output": {}}
TRIED = call("store", retry=RETRY, fallback=ELSE)


def loop(*steps: Any, rounds: int = 3, name: str = "talk") -> dict[str, Any]:
    return {"name": name, "repeat": {"max_rounds": rounds, "steps": [*steps]}}


def told(plan: Plan, *, verbose: bool = False) -> list[str]:
    """What is said of it to everybody, or only to who asks for more."""
    return [str(found) for found in multiplied(plan) if _is_told(plan, str(found), verbose=verbose)]


def _is_told(plan: Plan, text: str, *, verbose: bool) -> bool:
    return any(note.text == text and note.verbose is verbose for note in plan.notes)


class TestAttemptsAroundAttempts:
    def test_a_retry_alone_multiplies_nothing(self) -> None:
        assert list(multiplied(compiled([TRIED]))) == []

    def test_attempts_that_are_hedged_multiply(self) -> None:
        steps = [call("store", retry=RETRY, hedge={"after": "1s", "copies": 2})]
        (found,) = told(compiled(steps))
        assert found == (
            "retries multiply: 3 x 3 = 9 calls of 'store' for one request at worst (3 copies in each of 3 attempts of "
            "'store'). `budget: {retries: N}` with N below 8 bounds both; else take `retry` or `hedge` off the step"
        )

    @pytest.mark.parametrize(("retries", "count"), [(7, 0), (8, 1)])
    def test_they_do_not_where_the_run_may_not_try_again_so_often(self, retries: int, count: int) -> None:
        steps = [call("store", retry=RETRY, hedge={"after": "1s", "copies": 2})]
        assert len(list(multiplied(compiled(steps, budget={"retries": retries})))) == count

    def test_a_hedge_alone_multiplies_nothing(self) -> None:
        assert list(multiplied(compiled([call("store", hedge={"after": "1s"})]))) == []

    def test_each_attempt_of_a_component_that_calls_others_makes_its_calls_again(self) -> None:
        plan = asking_planner("{name: planner, component: planner, resilience: {retry: {attempts: 3}}}")
        (found,) = told(plan)
        assert found == (
            "'planner' may call others, and each attempt makes its calls again: 3 times for one request at worst "
            "(3 attempts of 'planner'). Let the step try again or the component inside, not both"
        )

    def test_in_rounds_it_is_said_of_one_request(self) -> None:
        step = "{name: planner, component: planner, resilience: {retry: {attempts: 3}, fallback: {output: {}}}}"
        (found,) = told(asking_planner(f"{{name: talk, repeat: {{max_rounds: 5, steps: [{step}]}}}}"))
        assert "makes its calls again: 3 times for one request" in found


def asking_planner(step: str) -> Plan:
    shelf = Shelf([component("planner", capabilities=("call",)), component("store")])
    return compile_workflow(parse_workflow(f"steps: [{step}]"), shelf, Report(), lambda _: None)


class TestRounds:
    """They are requests of their own, so what they come to is told to who asks for more."""

    def test_what_they_come_to_while_a_component_fails_is_told_to_who_asks(self) -> None:
        plan = compiled([loop(TRIED)])
        assert told(plan) == []
        (found,) = told(plan, verbose=True)
        assert found == (
            "while 'store' fails, one run may call it 3 x 3 = 9 times (3 attempts of 'talk/store' in each of 3 rounds "
            "of 'talk'). `budget: {retries: N}` bounds what is tried again in all"
        )

    def test_a_run_that_may_not_try_again_so_often_needs_no_telling(self) -> None:
        assert list(multiplied(compiled([loop(TRIED)], budget={"retries": 2}))) == []

    def test_a_loop_alone_tries_nothing_again(self) -> None:
        assert list(multiplied(compiled([loop(call("store"))]))) == []

    def test_where_nothing_answers_for_the_step_its_failure_ends_the_loop(self) -> None:
        assert list(multiplied(compiled([loop(call("store", retry=RETRY))]))) == []

    def test_a_loop_of_one_round_repeats_nothing(self) -> None:
        assert list(multiplied(compiled([loop(TRIED, rounds=1)]))) == []

    def test_a_map_that_lets_items_fail_keeps_the_loop_going(self) -> None:
        each = {**call("store", retry=RETRY), "for_each": "input.items", "on_item_error": "null"}
        assert calls(loop(each)) == 9

    def test_a_loop_inside_such_a_map_ends_with_its_item(self) -> None:
        body = [loop(call("store", retry=RETRY), rounds=5, name="inner")]
        each = {"name": "each", "for_each": "input.items", "on_item_error": "null", "steps": body}
        assert calls(loop(each)) == 9

    def test_loops_in_loops_multiply_further(self) -> None:
        assert calls(loop(loop(TRIED, name="inner", rounds=2))) == 18

    def test_the_items_of_a_map_are_requests_of_their_own(self) -> None:
        assert list(multiplied(compiled([{**TRIED, "for_each": "input.items"}]))) == []

    @pytest.mark.parametrize("rounds", [1, 3])
    def test_the_steps_of_a_sub_workflow_count_where_it_is_repeated(self, rounds: int) -> None:
        inner = compiled([call("store", retry=RETRY, hedge={"after": "1s"}, fallback=ELSE)])
        plan = compiled([loop({"name": "sub", "workflow": "inner"}, rounds=rounds)], plans={"inner": inner})
        assert [(found.path, found.calls) for found in multiplied(plan)] == [("talk/sub/store", 18)] * (rounds > 1)
        assert told(plan) == []


def calls(step: dict[str, Any]) -> int:
    (found,) = multiplied(compiled([step]))
    return found.calls
