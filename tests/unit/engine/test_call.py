"""One step's call: what its answer must be, what it may spend, how often it is tried."""

import asyncio

import pytest

from stretto.engine.engine import Engine
from stretto.engine.request import RunRequest
from stretto.plan.check import Check
from stretto.plan.model import Fallback, LoopOp, MapOp, Retry, SubOp
from stretto.record.model import Run, decoded
from stretto.testing import run_virtual
from stretto.types.budget import BudgetSpec
from stretto.types.enums import Reason, RunStatus, StepStatus
from stretto.types.errors import Code, ComponentError
from stretto.types.json import Json
from stretto.types.messages import Response, Usage
from tests.unit.engine.plans import (
    UNAVAILABLE,
    Ledger,
    S,
    call,
    deadline,
    failing,
    graph,
    linear,
    plan,
    read,
    returning,
    run,
    sleeping,
    step,
)


class TestBadAnswers:
    @pytest.mark.parametrize(
        ("output", "says"),
        [
            ([1], "not an object"),
            ({"x": float("nan")}, "/x"),
            ({"x": "\ud800"}, "not JSON"),
            ({"x": 2**70}, "not JSON"),
            ({"x": object()}, "not JSON"),
            ({"x": "a" * 9_000_000}, "not JSON"),
        ],
    )
    def test_an_output_that_is_not_json_fails_the_step_and_says_where(self, output: object, says: str) -> None:
        result = run(linear(call(returning("bad", output), S)))
        assert result.status is RunStatus.FAILED
        assert result.reason is Reason.CONTRACT
        assert result.error is not None
        assert says in result.error.message

    def test_an_output_that_breaks_its_schema_names_every_violation(self) -> None:
        schema: dict[str, Json] = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}
        bad = returning("bad", {"n": "x", "s": 1})
        result = run(linear(call(bad, S, output_check=Check(schema))))
        assert result.error is not None
        assert [violation.pointer for violation in result.error.violations] == ["/n", "/s"]


class TestBudget:
    @pytest.mark.parametrize("shape", ["sequential", "parallel", "mapped", "looped", "sub"])
    def test_the_deadline_of_the_run_holds_in_every_shape(self, shape: str) -> None:
        slow = call(sleeping("slow", 10.0), S + 5)
        body = {
            "sequential": linear(slow),
            "parallel": graph([slow, call(sleeping("other", 20.0), S + 6)], []),
            "mapped": linear(
                MapOp(
                    name="map",
                    slot=S,
                    over=read(0, "items"),
                    over_source="input.items",
                    item_slot=S + 1,
                    index_slot=S + 2,
                    body=linear(slow),
                    result=read(S + 5),
                    max_parallel=2,
                )
            ),
            "looped": linear(
                LoopOp(
                    name="loop",
                    slot=S,
                    body=linear(slow),
                    carries=(),
                    round_slot=S + 1,
                    until=None,
                    until_source="",
                    max_rounds=3,
                    results=(),
                )
            ),
            "sub": linear(SubOp(name="sub", slot=S, plan=plan(linear(slow)), inputs=())),
        }[shape]
        result = run(body, {"items": [1, 2, 3]}, budget=deadline(5.0))
        assert result.status is RunStatus.EXPIRED
        assert result.reason is Reason.BUDGET
        assert result.duration_ms == 5000.0

    def test_the_reserve_lets_a_fallback_answer_before_the_deadline(self) -> None:
        rescue = sleeping("rescue", 0.5, {"x": 1})
        slow = call(sleeping("slow", 60.0), S, fallback=Fallback(op=call(rescue, S)))
        result = run(linear(slow), budget=deadline(5.0, reserve=1.0), output={"x": read(S, "x")})
        assert result.status is RunStatus.DEGRADED
        assert result.reason is Reason.BUDGET
        assert result.duration_ms == 4500.0
        assert decoded(result.output) == {"x": 1}
        assert step(result, "slow").status is StepStatus.FALLBACK
        assert step(result, "slow/fallback").component == "rescue"

    def test_steps_after_the_working_time_fall_back_without_being_called(self) -> None:
        never = returning("never", {"x": 0})
        late = call(never, S + 1, fallback=Fallback(output=b'{"x":9}'))
        slow = call(sleeping("slow", 60.0), S, fallback=Fallback(output=b"{}"))
        result = run(linear(slow, late), budget=deadline(5.0, reserve=1.0), output={"x": read(S + 1, "x")})
        assert never.requests == []
        assert decoded(result.output) == {"x": 9}

    def test_spent_tokens_stop_further_calls(self) -> None:
        hungry = returning("hungry", Response(output={}, usage=Usage(output_tokens=10)))
        steps = [call(hungry, S + n, name=f"s{n}") for n in range(4)]
        result = run(linear(*steps), budget=BudgetSpec(tokens=20))
        assert len(hungry.requests) == 2
        assert result.reason is Reason.BUDGET
        assert result.error is not None
        assert "token budget is spent" in result.error.message

    def test_a_branch_may_not_overspend_what_the_others_leased(self) -> None:
        hungry = sleeping("hungry", 1.0)
        steps = [call(hungry, S + n, name=f"s{n}", estimate_cost=0.4) for n in range(3)]
        result = run(graph(list(steps), []), budget=BudgetSpec(cost=1.0))
        assert len(hungry.requests) == 2
        assert result.reason is Reason.BUDGET


class TestRetry:
    def test_a_passing_failure_is_tried_again_and_every_attempt_is_recorded(self) -> None:
        flaky = failing("flaky", UNAVAILABLE, UNAVAILABLE, {"x": 1})
        result = run(linear(call(flaky, S, retry=Retry(max_attempts=3))), output={"x": read(S, "x")})
        assert result.status is RunStatus.OK
        assert result.retries == 2
        record = step(result, "flaky")
        assert [attempt.error is None for attempt in record.attempts] == [False, False, True]
        assert [request.call.attempt for request in flaky.requests] == [1, 2, 3]
        assert len({request.call.effect_key for request in flaky.requests}) == 1

    @pytest.mark.parametrize("code", [Code.INVALID_ARGUMENT, Code.INTERNAL, Code.FAILED_PRECONDITION])
    def test_a_failure_that_repeats_itself_is_not_tried_again(self, code: Code) -> None:
        broken = failing("broken", ComponentError("no", code))
        run(linear(call(broken, S, retry=Retry(max_attempts=5))))
        assert len(broken.requests) == 1

    def test_a_retry_that_cannot_fit_the_deadline_is_not_made(self) -> None:
        error = ComponentError("later", Code.UNAVAILABLE, retry_after_s=10.0)
        broken = failing("broken", error)
        result = run(linear(call(broken, S, retry=Retry(max_attempts=5))), budget=deadline(5.0))
        assert len(broken.requests) == 1
        assert result.duration_ms == 0.0

    def test_retries_of_all_steps_come_from_one_pool(self) -> None:
        broken = failing("broken", UNAVAILABLE)
        steps = [
            call(broken, S + n, name=f"s{n}", retry=Retry(max_attempts=5), fallback=Fallback(output=b"{}"))
            for n in range(3)
        ]
        result = run(linear(*steps), budget=BudgetSpec(retries=4))
        assert len(broken.requests) == 3 + 4
        assert result.status is RunStatus.DEGRADED


def test_a_step_whose_fallback_was_at_work_when_the_run_was_cancelled_is_on_the_record_with_what_it_used() -> None:
    empty = returning("empty", Response(output={"n": "x"}, usage=Usage(input_tokens=7)))
    fallback = Fallback(op=call(sleeping("faq", 60.0), S + 1))
    body = linear(call(empty, S, output_check=Check({"properties": {"n": {"type": "integer"}}}), fallback=fallback))

    async def main() -> Run:
        ledger = Ledger()
        task = asyncio.create_task(Engine(ledger).run(plan(body), RunRequest(input={})))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return ledger.runs[0]

    result = run_virtual(main())
    used = [None if step.usage is None else step.usage.input_tokens for step in result.steps]
    assert [(step.path, step.reason) for step in result.steps] == [
        ("empty/fallback", Reason.CANCELLED),
        ("empty", Reason.CANCELLED),
    ]
    assert (used, result.usage) == ([None, 7], Usage(input_tokens=7))
    assert result.error == result.steps[1].error
