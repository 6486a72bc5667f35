"""What a fallback would have answered is asked of a run's record, and judged; nothing of it is recorded."""

from typing import Any

from stretto.engine.exercise import Exercised, exercise
from stretto.plan.check import Check
from stretto.plan.meaning import Crossing, Domain
from stretto.plan.model import RUN, BusinessFallback, Expectation, Plan
from stretto.record.model import Run
from stretto.testing import run_virtual
from stretto.types.json import Schema
from stretto.types.protection import StreakRule
from tests.unit.engine.plans import Probe, S, call, deadline, failing, linear, plan, read, returning, run, sleeping

ANSWER = S + 20
TEXT: Schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def business(rules: Probe, **fields: Any) -> BusinessFallback:
    asks = fields.pop("asks", {})
    op = call(rules, ANSWER, asks, name="fallback")
    return BusinessFallback(**{"op": op, "is_mapped": bool(asks), "streak": StreakRule(), **fields})


def exercised(by: BusinessFallback, *, of: Run | None = None, **fields: Any) -> Exercised:
    planner = linear(call(returning("planner", {"x": 1}), S))
    made = of or run(planner, {"risk": "low"})
    what: Plan = plan(planner, business=by, **fields)
    return run_virtual(exercise(what, by, made))


def test_it_is_asked_what_the_run_was_and_its_answer_is_judged() -> None:
    rules = returning("rules", {"text": "x"})
    expectations = (
        Expectation(name="some", holds=lambda frame: frame[1]["text"] != ""),
        Expectation(name="risky", when=lambda frame: frame[0]["risk"] == "high", holds=lambda _: False),
    )
    found = exercised(business(rules, expectations=expectations), output_check=Check(TEXT))
    assert found.held
    assert found.expectations == {"some": True}
    assert rules.requests[0].input == {"risk": "low"}


def test_it_reads_the_steps_as_the_record_has_them_and_that_nothing_failed() -> None:
    rules = returning("rules", {})
    exercised(business(rules, asks={"x": read(S, "x"), "why": read(RUN, "failure", "code")}))
    assert rules.requests[0].input == {"x": 1, "why": "exercise"}


def test_an_answer_that_breaks_the_contract_or_an_expectation_is_told() -> None:
    never = (Expectation(name="never", holds=lambda _: False),)
    found = exercised(business(returning("rules", {"text": 1}), expectations=never), output_check=Check(TEXT))
    assert (found.answered, found.contract, found.held) == (True, False, False)
    assert "/text" in found.broken
    found = exercised(business(returning("rules", {"text": "x"}), expectations=never), output_check=Check(TEXT))
    assert (found.answered, found.contract, found.held) == (True, True, False)
    assert found.broken.startswith(f"not as expected: never, of the answer {found.answer}")
    assert found.answer.startswith("{")


def test_a_fallback_that_fails_or_hangs_has_not_answered() -> None:
    found = exercised(business(failing("rules", RuntimeError("gone"))))
    assert not found.answered
    assert "gone" in found.broken
    found = exercised(business(sleeping("rules", 60.0)), budget=deadline(2.0, reserve=0.5))
    assert not found.answered
    assert found.ms == 500.0


def test_its_answer_is_mapped_as_in_a_run() -> None:
    by = business(returning("rules", {"said": "x"}), output=(("text", read(ANSWER, "said")),))
    assert exercised(by, output_check=Check(TEXT)).held


def test_it_is_asked_for_the_tenant_of_the_run_and_told_that_it_is_an_exercise() -> None:
    rules = returning("rules", {})
    planner = linear(call(returning("planner", {"x": 1}), S))
    exercised(business(rules), of=run(planner, request={"tenant": "north", "labels": {"task": "a"}}))
    info = rules.requests[0].call.run
    assert (info.tenant, info.labels) == ("north", {"task": "a", "purpose": "exercise"})


def test_its_answer_crosses_into_the_domains_of_the_workflow() -> None:
    domain = Domain(name="intent", values=("track",))
    crossing = Crossing(
        at="output.text", path=("text",), domain=domain, exact={"track": "track", "where is it": "track"}
    )
    is_track = (Expectation(name="track", holds=lambda frame: frame[1]["text"] == "track"),)

    def judged(said: str) -> Exercised:
        by = business(returning("rules", {"text": said}), expectations=is_track, crossings_out=(crossing,))
        return exercised(by, output_check=Check(TEXT))

    assert judged("where is it").held
    found = judged("nonsense")
    assert (found.answered, found.contract) == (True, False)
    assert "nonsense" in found.broken
