"""Blocks: conditions, branches side by side, and steps that hold others."""

import asyncio
from typing import Any

import pytest

from stretto.plan.model import LoopOp, SubOp
from stretto.record.model import decoded
from stretto.types.enums import Durability, Effect, Reason, RunStatus, StepStatus
from stretto.types.errors import Code, ComponentError
from stretto.types.messages import Request
from tests.unit.engine.plans import (
    Ledger,
    Probe,
    S,
    call,
    each,
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


class TestCondition:
    def test_a_false_guard_skips_the_step_and_its_output_reads_null(self) -> None:
        skipped = returning("skipped", {"x": 1})
        result = run(linear(call(skipped, S, guard=lambda _f: False)), output={"x": read(S, "x")})
        assert step(result, "skipped").status is StepStatus.SKIPPED
        assert skipped.requests == []
        assert decoded(result.output) == {"x": None}

    def test_a_condition_that_is_not_boolean_fails_the_run_with_the_condition_in_the_message(self) -> None:
        result = run(linear(call(returning("a", {}), S, guard=lambda _f: 3, guard_source="input.n")))
        assert result.status is RunStatus.FAILED
        assert result.error is not None
        assert "`input.n`" in result.error.message


class TestParallel:
    def test_branches_overlap_and_the_join_waits_for_both(self) -> None:
        left, right = sleeping("left", 2.0, {"v": 1}), sleeping("right", 3.0, {"v": 2})
        join = returning("join", {})
        body = graph(
            [
                call(left, S),
                call(right, S + 1),
                call(join, S + 2, {"l": read(S, "v"), "r": read(S + 1, "v")}),
            ],
            [(0, 2), (1, 2)],
        )
        result = run(body)
        assert result.duration_ms == 3000.0
        assert [request.input for request in join.requests] == [{"l": 1, "r": 2}]

    def test_a_fast_branch_goes_on_without_waiting_for_a_slow_one(self) -> None:
        body = graph(
            [
                call(sleeping("fast", 1.0), S),
                call(sleeping("next", 1.0), S + 1),
                call(sleeping("slow", 5.0), S + 2),
            ],
            [(0, 1)],
        )
        assert step(run(body), "next").ended_ms == 2000.0

    def test_a_failed_branch_cancels_the_others_and_they_are_recorded_as_cancelled(self) -> None:
        bad = failing("bad", ComponentError("no", Code.INTERNAL))
        result = run(graph([call(sleeping("slow", 9.0), S + 1), call(bad, S)], []))
        assert result.status is RunStatus.FAILED
        assert result.duration_ms == 0.0
        assert step(result, "slow").reason is Reason.CANCELLED

    def test_a_branch_that_cancels_its_own_task_fails_the_run(self) -> None:
        async def stop(_request: Request) -> object:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(1)
            return {}

        after = returning("after", {})
        ops = [call(returning("first", {}), S), call(Probe("stop", stop), S + 1), call(after, S + 2)]
        result = run(graph([*ops], [(1, 2)]))
        assert (result.status, result.reason) == (RunStatus.FAILED, Reason.CANCELLED)
        assert result.error is not None
        assert "step 'stop' cancelled the task" in result.error.message
        assert after.requests == []


def around(shape: str, component: Probe) -> Any:
    """A step named 'outer' that calls the component inside itself."""
    inner = call(component, S + 3)
    if shape == "loop":
        return LoopOp(
            name="outer", slot=S, body=linear(inner), carries=(), round_slot=S + 2, until=None, until_source="",
            max_rounds=2, results=((component.card.name, S + 3),),
        )  # fmt: skip
    if shape == "sub-workflow":
        return SubOp(name="outer", slot=S, plan=plan(linear(call(component, S))), inputs=())
    return each(inner, name="outer", max_parallel=1 if shape == "map, one at a time" else 4)


@pytest.mark.parametrize("shape", ["map, one at a time", "map", "loop", "sub-workflow"])
class TestHolders:
    def test_a_step_fails_with_the_step_inside_it_and_names_it(self, shape: str) -> None:
        bad = failing("bad", ComponentError("no", Code.INTERNAL))
        result = run(linear(around(shape, bad)), {"items": [1, 2]})
        held = step(result, "outer")
        assert (result.status, held.status, held.reason) == (RunStatus.FAILED, StepStatus.FAILED, Reason.ERROR)
        assert held.error == result.error
        assert result.error is not None
        assert result.error.path.endswith("bad")
        assert [each.path for each in result.steps].count(held.path) == 1

    def test_a_step_in_doubt_inside_leaves_the_step_around_it_open(self, shape: str) -> None:
        lost = failing("pay", ComponentError("connection lost", Code.UNAVAILABLE), effects={"*": Effect.WRITE})
        result = run(linear(around(shape, lost)), {"items": [1]}, ledger=Ledger(), durability=Durability.STEP)
        assert result.status is RunStatus.PARKED
        assert "outer" not in [each.path for each in result.steps]
