"""Where declared retries multiply, told before a run."""

from typing import Any

from stretto.plan.amplification import multiplied
from stretto.plan.compile import compile_workflow
from stretto.plan.model import Plan
from stretto.spec.report import Report
from stretto.spec.workflow import parse_workflow
from tests.unit.plan.flows import Shelf, component
from tests.unit.plan.sla.worlds import call, compiled

RETRY = {"attempts": 3}
ELSE: dict[str, Any] = {"output": {}}


def loop(*steps: Any, rounds: int = 3, name: str = "talk") -> dict[str, Any]:
    return {"name": name, "repeat": {"max_rounds": rounds, "steps": [*steps]}}


def notes(plan: Plan) -> list[str]:
    return [note.text for note in plan.notes if "for one request" in note.text]


def test_a_retry_alone_multiplies_nothing() -> None:
    assert notes(compiled([call("store", retry=RETRY, fallback=ELSE)])) == []


def test_a_loop_alone_multiplies_nothing() -> None:
    assert notes(compiled([loop(call("store"))])) == []


def test_attempts_in_rounds_multiply() -> None:
    plan = compiled([loop(call("store", retry=RETRY, fallback=ELSE))])
    (told,) = notes(plan)
    assert told == (
        "retries multiply: 3 x 3 = 9 calls of 'store' for one request at worst (3 attempts of 'talk/store' in each of "
        "3 rounds of 'talk'). Try again in one place: take `retry` off the step, or end the loop when it fails"
    )


def test_where_nothing_answers_for_the_step_its_failure_ends_the_loop() -> None:
    assert notes(compiled([loop(call("store", retry=RETRY))])) == []


def test_a_map_that_lets_items_fail_keeps_the_loop_going() -> None:
    each = {**call("store", retry=RETRY), "for_each": "input.items", "on_item_error": "null"}
    (told,) = notes(compiled([loop(each)]))
    assert "3 x 3 = 9 calls" in told


def test_a_loop_inside_such_a_map_ends_with_its_item() -> None:
    body = [loop(call("store", retry=RETRY), rounds=5, name="inner")]
    each = {"name": "each", "for_each": "input.items", "on_item_error": "null", "steps": body}
    (told,) = notes(compiled([loop(each)]))
    assert "3 x 3 = 9 calls" in told


def test_loops_in_loops_multiply_further() -> None:
    plan = compiled([loop(loop(call("store", retry=RETRY, fallback=ELSE), name="inner", rounds=2))])
    (found,) = multiplied(plan)
    assert [factor.times for factor in found.factors] == [3, 2, 3]
    assert found.calls == 18


def test_a_loop_of_one_round_repeats_nothing() -> None:
    assert notes(compiled([loop(call("store", retry=RETRY, fallback=ELSE), rounds=1)])) == []


def test_the_items_of_a_map_are_requests_of_their_own() -> None:
    assert notes(compiled([{**call("store", retry=RETRY, fallback=ELSE), "for_each": "input.items"}])) == []


def test_the_steps_of_a_sub_workflow_count_where_it_is_repeated() -> None:
    inner = compiled([call("store", retry=RETRY, fallback=ELSE)])
    plan = compiled([loop({"name": "sub", "workflow": "inner"})], plans={"inner": inner})
    (found,) = multiplied(plan)
    assert (found.path, found.calls) == ("talk/sub/store", 9)
    assert len(notes(plan)) == 1


def test_each_attempt_of_a_component_that_calls_others_makes_its_calls_again() -> None:
    spec = parse_workflow("steps: [{name: planner, component: planner, resilience: {retry: {attempts: 3}}}]")
    shelf = Shelf([component("planner", capabilities=("call",)), component("store")])
    plan = compile_workflow(spec, shelf, Report(), lambda _: None)
    (told,) = notes(plan)
    assert told == (
        "'planner' may call others, and each attempt makes its calls again: 3 times for one request at worst "
        "(3 attempts of 'planner'). Let the step try again or the component inside, not both"
    )
