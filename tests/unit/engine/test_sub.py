"""Sub-workflows: another plan inside a run, on an input of its own and from the run's budget."""

from typing import Any

import pytest

from stretto.plan.check import Check
from stretto.plan.model import Getter, Plan, SubOp
from stretto.record.model import decoded
from stretto.types.budget import BudgetSpec
from stretto.types.enums import Reason, RunStatus, StepStatus
from stretto.types.errors import Code, ComponentError
from stretto.types.json import Json, Schema
from stretto.types.messages import Response, Usage
from tests.unit.engine.plans import (
    S,
    call,
    deadline,
    failing,
    linear,
    plan,
    read,
    returning,
    run,
    sleeping,
    step,
)

NUMBER: Schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def sub(inner: Plan, **inputs: Getter) -> SubOp:
    return SubOp(name="sub", slot=S, plan=inner, inputs=tuple(inputs.items()))


class TestData:
    def test_it_sees_the_input_that_it_is_given_and_the_runs_other_roots(self) -> None:
        look = returning("look", {"m": 5})
        inner = plan(
            linear(call(look, S, {"n": read(0, "n"), "hidden": read(0, "hidden"), "shop": read(2, "shop")})),
            output={"m": read(S, "m")},
        )
        result = run(
            linear(sub(inner, n=read(0, "q"))),
            {"q": 3, "hidden": 1},
            output={"got": read(S, "m")},
            request={"resources": {"shop": "north"}},
        )
        assert [request.input for request in look.requests] == [{"n": 3, "hidden": None, "shop": "north"}]
        assert decoded(result.output) == {"got": 5}

    def test_its_steps_are_recorded_under_it_and_it_with_its_input_and_output(self) -> None:
        inner = plan(linear(call(returning("look", {"m": 5}), S)), output={"m": read(S, "m")})
        result = run(linear(sub(inner, n=read(0, "n"))), {"n": 3})
        assert [record.path for record in result.steps] == ["sub/look", "sub"]
        own = step(result, "sub")
        assert (decoded(own.input), decoded(own.output), own.status) == ({"n": 3}, {"m": 5}, StepStatus.OK)

    def test_its_slots_are_its_own(self) -> None:
        inner = plan(linear(call(returning("look", {"m": 5}), S + 1)), slots=S + 2, output={"before": read(S, "v")})
        before = call(returning("before", {"v": 1}), S)
        result = run(
            linear(before, SubOp(name="sub", slot=S + 1, plan=inner, inputs=())),
            output={"inside": read(S + 1, "before"), "outside": read(S, "v")},
        )
        assert decoded(result.output) == {"inside": None, "outside": 1}


class TestContract:
    @pytest.mark.parametrize(
        ("checks", "value", "says", "called"),
        [
            ({"input_check": Check(NUMBER)}, "x", "the input of sub-workflow 'test' breaks its schema", 0),
            ({"output_check": Check(NUMBER)}, "x", "the output of sub-workflow 'test' breaks its schema", 1),
            ({"input_check": Check(NUMBER), "output_check": Check(NUMBER)}, 3, "", 1),
        ],
    )
    def test_what_goes_in_and_out_is_held_to_its_own_contract(
        self, checks: dict[str, Any], value: Json, says: str, called: int
    ) -> None:
        look = returning("look", {"n": value})
        inner = plan(linear(call(look, S)), output={"n": read(S, "n")}, **checks)
        result = run(linear(sub(inner, n=read(0, "n"))), {"n": value})
        assert len(look.requests) == called
        if says:
            assert result.error is not None
            assert says in result.error.message
            assert (result.reason, step(result, "sub").status) == (Reason.CONTRACT, StepStatus.FAILED)
        else:
            assert result.status is RunStatus.OK


class TestBudget:
    @pytest.mark.parametrize(("own", "ends_ms"), [(deadline(2.0), 2000.0), (deadline(60.0), 5000.0)])
    def test_its_deadline_is_its_own_or_the_runs_whichever_comes_first(self, own: BudgetSpec, ends_ms: float) -> None:
        inner = plan(linear(call(sleeping("slow", 100.0), S)), budget=own)
        result = run(linear(sub(inner)), budget=deadline(5.0))
        assert (result.reason, result.duration_ms) == (Reason.BUDGET, ends_ms)

    def test_what_it_spends_the_run_has_spent(self) -> None:
        hungry = returning("hungry", Response(output={}, usage=Usage(output_tokens=10)))
        inner = plan(linear(call(hungry, S), call(hungry, S + 1, name="again")))
        result = run(linear(sub(inner), call(hungry, S + 2, name="after")), budget=BudgetSpec(tokens=20))
        assert len(hungry.requests) == 2
        assert (result.reason, step(result, "after").status) == (Reason.BUDGET, StepStatus.FAILED)

    def test_of_what_it_may_spend_the_rest_is_left_to_the_run(self) -> None:
        hungry = returning("hungry", Response(output={}, usage=Usage(output_tokens=10)))
        inner = plan(linear(call(hungry, S), call(hungry, S + 1, name="again")), budget=BudgetSpec(tokens=10))
        result = run(linear(sub(inner)), budget=BudgetSpec(tokens=100))
        assert len(hungry.requests) == 1
        assert result.reason is Reason.BUDGET


def test_a_failure_inside_fails_it_with_the_path_of_the_step_that_failed() -> None:
    bad = failing("bad", ComponentError("no", Code.INTERNAL))
    result = run(linear(sub(plan(linear(call(bad, S))))))
    assert result.error is not None
    assert result.error.path == "sub/bad"
    assert step(result, "sub").error == result.error
