"""`on_breach`: a value of the run stands in for a step that broke its promise."""

import asyncio
from typing import Any

import msgspec
import pytest

from stretto.plan.compile import compile_workflow
from stretto.plan.model import CallOp, Plan
from stretto.spec.contract import parse_contract
from stretto.spec.report import Report
from stretto.spec.workflow import parse_workflow
from stretto.types.card import ANY_OBJECT
from stretto.types.enums import Reason, RunStatus, StepStatus
from stretto.types.errors import Problem, SpecError
from stretto.types.json import Schema
from stretto.types.messages import Request
from tests.unit.engine.plans import Probe, run
from tests.unit.plan.flows import Shelf, fields

TEXT = fields(text="string")
STEPS = """
steps:
  - {name: planner, component: planner}
  - {name: executor, component: executor}
"""


def compiled(
    breach: str, *, answers: object, gives: Schema = TEXT, steps: str = STEPS, plans: Any = ANY_OBJECT
) -> Plan:
    """A planner that answers so, and an executor that takes longer than it may."""
    spec = parse_workflow(f"stretto: 1\n{steps}", name="w.yaml")
    contract = parse_contract(f"sla: {{executor: {{max_latency: 800ms, on_breach: {breach}}}}}", name="c.yaml")

    async def plan(_request: Request) -> object:
        return answers

    async def execute(_request: Request) -> object:
        await asyncio.sleep(60.0)
        return {}

    planner, executor = Probe("planner", plan, output=plans), Probe("executor", execute, output=gives)
    shelf = Shelf([planner, executor])
    return compile_workflow(msgspec.structs.replace(spec, contract=contract), shelf, Report(), lambda _: None)


def problem_of(*args: Any, **options: Any) -> Problem:
    with pytest.raises(SpecError) as caught:
        compiled(*args, **options)
    (problem,) = caught.value.problems
    return problem


def executor_of(plan: Plan) -> CallOp:
    op = plan.body.ops[1]
    assert isinstance(op, CallOp)
    return op


class TestRun:
    def result(self, breach: str, answers: object, **options: Any) -> Any:
        plan = compiled(breach, answers=answers, **options)
        return run(plan.body, slots=plan.slots)

    def test_the_value_stands_in_when_the_step_takes_longer_than_it_may(self) -> None:
        done = self.result("{use: planner.default}", {"default": {"text": "later"}})
        planner, executor = done.steps
        assert (executor.status, executor.reason) == (StepStatus.FALLBACK, Reason.TIMEOUT)
        assert executor.output_value == {"text": "later"}
        assert executor.ended_ms - executor.started_ms == pytest.approx(800.0)
        assert (done.status, done.reason) == (RunStatus.DEGRADED, Reason.TIMEOUT)
        assert planner.status is StepStatus.OK

    def test_a_value_that_is_no_object_is_the_only_field(self) -> None:
        done = self.result("{skip: true, use: planner.default}", {"default": "later"})
        assert done.steps[1].output_value == {"text": "later"}

    def test_a_value_that_is_not_there_fails_the_step_and_is_told(self) -> None:
        done = self.result("{use: planner.default}", {})
        executor = done.steps[1]
        assert (executor.status, done.status) == (StepStatus.FAILED, RunStatus.FAILED)
        assert "planner.default" in executor.evidence["fallback_refused"]

    def test_without_a_value_the_step_is_left_out(self) -> None:
        done = self.result("{skip: true}", {})
        assert (done.steps[1].status, done.steps[1].output_value) == (StepStatus.FALLBACK, None)
        assert done.status is RunStatus.DEGRADED


class TestCompile:
    def test_the_step_waits_for_what_may_stand_in_for_it(self) -> None:
        plan = compiled("{use: planner.default}", answers={})
        assert plan.body.linear
        assert plan.body.ops[0].slot in executor_of(plan).reads

    def test_the_longest_that_a_call_may_take_is_its_time_out(self) -> None:
        assert executor_of(compiled("{skip: true}", answers={})).timeout_s == 0.8

    def test_its_own_time_out_goes_first(self) -> None:
        steps = STEPS.replace("component: executor}", "component: executor, resilience: {timeout: 300ms}}")
        assert executor_of(compiled("{skip: true}", answers={}, steps=steps)).timeout_s == 0.3

    def test_what_reads_a_step_that_may_be_left_out_may_read_null(self) -> None:
        steps = STEPS + "output: {said: steps.executor.text}"
        plan = compiled("{skip: true}", answers={}, steps=steps)
        assert plan.output_type.fields["said"].nullable

    def test_an_alias_may_be_used_as_well(self) -> None:
        steps = STEPS.replace("component: planner}", "component: planner, output_mapping: {default: plan.reply}}")
        assert executor_of(compiled("{use: plan.reply}", answers={}, steps=steps)).fallback is not None

    def test_a_value_that_can_never_stand_there_is_a_problem(self) -> None:
        problem = problem_of("{use: planner.n}", answers={}, plans=fields(n="integer"))
        assert problem.code == "plan.fallback"
        assert "integer" in problem.message
        assert "its only field 'text'" in problem.expected

    @pytest.mark.parametrize(
        ("use", "code", "told"),
        [
            ("executor.text", "plan.fallback", "read from that step itself"),
            ("planer.default", "expr.unknown_path", "planer"),
            ("input.n + 1", "plan.fallback", "it is no path"),
        ],
    )
    def test_what_is_no_path_to_another_step_is_a_problem(self, use: str, code: str, told: str) -> None:
        problem = problem_of(f"{{use: '{use}'}}", answers={})
        assert (problem.code, problem.file) == (code, "c.yaml")
        assert told in problem.message

    def test_a_step_has_one_fallback(self) -> None:
        steps = STEPS.replace(
            "component: executor}", "component: executor, resilience: {fallback: {output: {text: a}}}}"
        )
        problem = problem_of("{use: planner.default}", answers={}, steps=steps)
        assert problem.code == "spec.conflict"
        assert "has a `fallback` already" in problem.message

    def test_of_a_step_that_calls_nothing_itself_it_has_no_effect(self) -> None:
        steps = "steps: [{name: executor, repeat: {max_rounds: 2, steps: [{name: planner, component: planner}]}}]"
        problem = problem_of("{skip: true}", answers={}, steps=steps)
        assert problem.code == "spec.no_effect"


def test_what_stands_in_out_of_resources_is_among_what_the_step_sees_of_them() -> None:
    plan = compiled("{use: resources.region}", answers={})
    assert executor_of(plan).resources == {("region",)}
