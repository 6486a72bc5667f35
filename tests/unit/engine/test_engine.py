"""A run from its beginning to its seal, on a virtual clock: data passed on and kept apart, cancelled, gone on with."""

import asyncio
import dataclasses
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from stretto.engine.engine import Engine
from stretto.engine.request import RunRequest
from stretto.plan.model import AnyOp, Block, Carry, Fallback, LoopOp, Retry, SubOp
from stretto.record.model import Run, decoded
from stretto.testing import run_virtual
from stretto.types.enums import Reason, RunStatus, StepStatus
from stretto.types.errors import Code, ComponentError, ReplayError
from stretto.types.learning import Reward
from stretto.types.messages import Request, Response, Usage
from tests.unit.engine.books import LOST, WRITE, Answer, Book, execute, killed, resume, settled, stepping
from tests.unit.engine.plans import (
    Ledger,
    Probe,
    S,
    call,
    deadline,
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


class TestRecord:
    def test_a_linear_run_passes_outputs_on_and_records_every_step(self) -> None:
        first = returning("first", {"x": 2})
        second = returning("second", {"y": 3})
        result = run(
            linear(call(first, S), call(second, S + 1, {"x": read(S, "x")})),
            {"q": 1},
            output={"answer": read(S + 1, "y")},
        )
        assert result.status is RunStatus.OK
        assert decoded(result.output) == {"answer": 3}
        assert [record.path for record in result.steps] == ["first", "second"]
        assert decoded(step(result, "second").input) == {"x": 2}
        assert second.requests[0].input == {"x": 2}

    def test_a_component_cannot_change_what_others_see(self) -> None:
        async def vandal(request: Request) -> object:
            request.input["items"].append("mine")  # type: ignore[union-attr]
            return {}

        later = returning("later", {})
        result = run(
            linear(
                call(Probe("vandal", vandal), S, {"items": read(0, "items")}),
                call(later, S + 1, {"items": read(0, "items")}),
            ),
            {"items": [1]},
        )
        assert later.requests[0].input == {"items": [1]}
        assert decoded(step(result, "vandal").input) == {"items": [1]}

    def test_an_output_kept_and_changed_by_its_component_stays_as_returned(self) -> None:
        shared: dict[str, Any] = {"rows": [1]}

        async def remembers(_request: Request) -> object:
            return shared

        async def changes(_request: Request) -> object:
            shared["rows"].append(2)
            return {}

        result = run(
            linear(call(Probe("a", remembers), S), call(Probe("b", changes), S + 1)), output={"rows": read(S, "rows")}
        )
        assert decoded(result.output) == {"rows": [1]}

    def test_only_reward_steps_see_the_reference(self) -> None:
        plain, judge = returning("plain", {}), returning("judge", {})
        run(
            linear(call(plain, S), call(judge, S + 1, sees_reference=True)),
            request={"reference": {"gold": 1}},
        )
        assert plain.requests[0].call.run.reference is None
        assert judge.requests[0].call.run.reference == {"gold": 1}

    def test_a_reward_that_the_contract_names_and_no_step_gave_is_unknown(self) -> None:
        judge = returning("judge", Response(output={}, rewards=(Reward(name="right", value=1.0),)))
        known = run(linear(call(judge, S)), reward_weights={"right": 0.5})
        assert known.reward == 0.5
        unknown = run(linear(call(judge, S)), reward_weights={"right": 0.5, "quick": 0.5})
        assert unknown.reward is None
        assert [reward.value for reward in unknown.rewards] == [1.0, None]

    def test_usage_adds_up_over_steps(self) -> None:
        paid = returning("paid", Response(output={}, usage=Usage(input_tokens=3, output_tokens=4, cost=0.5)))
        result = run(linear(call(paid, S), call(paid, S + 1, name="again")))
        assert result.usage == Usage(input_tokens=6, output_tokens=8, cost=1.0)


def answering_over_cancellation(answer: object) -> Answer:
    async def stay(_request: Request) -> object:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            if isinstance(answer, Exception):
                raise answer from None
        return answer

    return stay


async def failing_soon() -> None:
    await asyncio.sleep(0.1)
    raise ValueError("no")


def cancelled_after_1_s(body: Block, value: dict[str, Any] | None = None, **fields: Any) -> Run:
    """The sealed run of a body, cancelled when it has been under way for a second."""
    ledger = Ledger()

    async def main() -> None:
        task = asyncio.ensure_future(Engine(ledger).run(plan(body, **fields), RunRequest(input=value or {})))
        await asyncio.sleep(1.0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_virtual(main())
    (sealed,) = ledger.runs
    return sealed


def branches(stay: Probe, last: Probe) -> SubOp:
    """Two branches with a step after each, where one waits as long."""
    ops = [call(stay, S + 1), call(last, S + 2), call(sleeping("beside", 100.0), S + 3), call(last, S + 4)]
    return SubOp(name="sub", slot=S + 9, plan=plan(graph([*ops], [(0, 1), (2, 3)])), inputs=())


SHAPES: dict[str, Callable[[Probe, Probe], AnyOp]] = {
    "step": lambda stay, _last: call(stay, S + 3),
    "step tried again": lambda stay, _last: call(stay, S + 3, retry=Retry(3, codes=frozenset(Code))),
    "step with a fallback": lambda stay, last: call(stay, S + 3, fallback=Fallback(op=call(last, S + 4))),
    "fallback": lambda stay, _last: call(failing("bad", LOST), S + 3, fallback=Fallback(op=call(stay, S + 4))),
    "branches": branches,
    "map": lambda stay, _last: each(call(stay, S + 3), max_parallel=1, null_on_error=True),
    "map side by side": lambda stay, _last: each(call(stay, S + 3), max_parallel=2, null_on_error=True),
    "loop": lambda stay, last: LoopOp(
        name="loop", slot=S, body=linear(call(stay, S + 3), call(last, S + 4)), carries=(), round_slot=S + 2,
        until=None, until_source="", max_rounds=2, results=(("stay", S + 3),),
    ),
    "sub-workflow": lambda stay, last: SubOp(
        name="sub", slot=S, plan=plan(linear(call(stay, S), call(last, S + 1))), inputs=()
    ),
}  # fmt: skip
"""Steps that hold one that stays, by what they are."""


class TestCancellation:
    def test_cancelling_the_run_reaches_the_component_and_seals_the_record(self) -> None:
        ledger = Ledger()
        reached: list[str] = []

        async def wait(_request: Request) -> object:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                reached.append("cancelled")
                raise
            return {}

        async def main() -> None:
            engine = Engine(ledger)
            body = linear(call(Probe("wait", wait), S, timeout_s=50.0))
            task = asyncio.ensure_future(engine.run(plan(body, budget=deadline(60.0)), RunRequest(input={})))
            await asyncio.sleep(1.0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        run_virtual(main())
        assert reached == ["cancelled"]
        assert ledger.runs[0].status is RunStatus.CANCELLED
        assert step(ledger.runs[0], "wait").reason is Reason.CANCELLED

    def test_a_task_group_that_failed_inside_a_step_cancels_no_later_step(self) -> None:
        async def grouped(_request: Request) -> object:
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(failing_soon())
            except* ValueError:
                pass
            return {}

        op = call(sleeping("slow", 9.0), S + 1, timeout_s=1.0, fallback=Fallback(output=b"{}"))
        result = run(linear(call(Probe("grouped", grouped), S), op))
        assert (result.status, result.reason) == (RunStatus.DEGRADED, Reason.TIMEOUT)

    def test_a_time_out_after_a_task_group_failed_in_the_same_call_is_a_time_out(self) -> None:
        async def grouped(_request: Request) -> object:
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(failing_soon())
            except* ValueError:
                await asyncio.sleep(100)
            return {}

        result = run(linear(call(Probe("grouped", grouped), S, timeout_s=1.0)))
        assert (result.status, result.reason) == (RunStatus.FAILED, Reason.TIMEOUT)

    def test_branches_that_failed_cancel_no_later_item(self) -> None:
        async def odd(request: Request) -> object:
            await asyncio.sleep(0.1)
            if request.input["n"] == 1:
                raise ValueError("no")
            return {}

        body = graph([call(sleeping("first", 0.01), S + 3), call(Probe("odd", odd), S + 4, {"n": read(S + 1)})], [])
        slow = call(sleeping("slow", 9.0), S + 5, timeout_s=1.0, fallback=Fallback(output=b"{}"))
        each_null = dataclasses.replace(
            each(call(returning("x", {}), S + 3)), body=body, max_parallel=1, null_on_error=True
        )
        result = run(linear(each_null, slow), {"items": [1, 2, 3]})
        assert result.status is RunStatus.DEGRADED
        assert [record.path for record in result.steps if record.status is StepStatus.FALLBACK] == ["each", "slow"]

    @pytest.mark.parametrize("answer", [{"x": 1}, ValueError("in cleaning up"), ComponentError("no", Code.ABORTED)])
    @pytest.mark.parametrize("shape", SHAPES)
    def test_after_a_cancellation_nothing_more_is_begun_whatever_the_component_says(
        self, shape: str, answer: object
    ) -> None:
        stay, last = Probe("stay", answering_over_cancellation(answer)), returning("last", {})
        sealed = cancelled_after_1_s(linear(SHAPES[shape](stay, last), call(last, S)), {"items": [1, 2, 3, 4]})
        assert (sealed.status, sealed.reason, sealed.duration_ms) == (RunStatus.CANCELLED, Reason.CANCELLED, 1000.0)
        assert (len(stay.requests), last.requests) == (2 if "side by side" in shape else 1, [])

    def test_after_a_cancellation_that_the_memory_answers_over_no_step_is_begun(self) -> None:
        last, memory = returning("last", {}), call(Probe("stay", answering_over_cancellation({"x": 1})), S + 1)
        sealed = cancelled_after_1_s(linear(call(last, S)), memory=memory)
        assert (sealed.status, [record.path for record in sealed.steps]) == (RunStatus.CANCELLED, ["$memory"])
        assert last.requests == []

    @pytest.mark.parametrize("shape", ["branches", "map side by side"])
    def test_components_side_by_side_that_ignore_a_cancellation_are_left_behind_after_a_grace(self, shape: str) -> None:
        async def ignore(_request: Request) -> object:
            for _ in range(100):
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(100)
            return {}

        ignoring = Probe("ignoring", ignore)
        sealed = cancelled_after_1_s(linear(SHAPES[shape](ignoring, returning("last", {}))), {"items": [1, 2, 3, 4]})
        assert (sealed.status, sealed.duration_ms) == (RunStatus.CANCELLED, 2000.0)
        assert {record.reason for record in sealed.steps} == {Reason.CANCELLED}

    def test_a_cancellation_counts_also_after_a_task_group_failed_in_the_same_call(self) -> None:
        async def grouped(request: Request) -> object:
            with suppress(BaseExceptionGroup):
                async with asyncio.TaskGroup() as group:
                    group.create_task(failing_soon())
            return await answering_over_cancellation({})(request)

        last = returning("last", {})
        sealed = cancelled_after_1_s(linear(call(Probe("grouped", grouped), S), call(last, S + 1)))
        assert (sealed.status, last.requests) == (RunStatus.CANCELLED, [])
        assert step(sealed, "grouped").status is StepStatus.OK  # it was let answer

    def test_a_cancellation_counts_that_came_to_a_task_group(self) -> None:
        async def grouped(_request: Request) -> object:
            with suppress(asyncio.CancelledError):
                async with asyncio.TaskGroup() as group:
                    group.create_task(asyncio.sleep(100))
            return {}

        last = returning("last", {})
        sealed = cancelled_after_1_s(linear(call(Probe("grouped", grouped), S), call(last, S + 1)))
        assert (sealed.status, last.requests) == (RunStatus.CANCELLED, [])


class TestResume:
    def test_given_memory_is_what_the_interrupted_run_saw(self) -> None:
        book, look = Book(), returning("look", {})
        body = linear(call(look, S, {"m": read(1, "recent")}))
        whole = execute(body, book, request={"memory": {"recent": [1]}})
        kept = killed(whole, steps=0)
        kept.memory = book.accepted_memory
        resume(kept, stepping(body), book)
        assert [request.input for request in look.requests] == [{"m": [1]}] * 2

    def test_steps_and_duration_count_from_the_beginning_of_the_run(self) -> None:
        async def slowly(_request: Request) -> object:
            await asyncio.sleep(2)
            return {}

        book = Book()
        body = linear(call(Probe("a", slowly), S), call(Probe("b", slowly), S + 1))
        whole = execute(body, book)
        kept = killed(whole, steps=1)
        kept.started_at_ns = -10_000_000_000  # ten seconds before the clock of the second process begins
        again = resume(kept, stepping(body), book)
        assert [record.started_ms for record in again.steps] == [0.0, pytest.approx(10_000.0)]
        assert again.duration_ms == pytest.approx(12_000.0)

    def test_nothing_that_was_recorded_is_recorded_again(self) -> None:
        book = Book()

        async def one_more(request: Request) -> object:
            n: Any = request.input["n"]
            return {"n": n + 1}

        add = Probe("add", one_more)
        pay = failing("pay", LOST, effects=WRITE)
        loop = LoopOp(
            name="loop",
            slot=S,
            body=linear(call(add, S + 3, {"n": read(S + 2)})),
            carries=(Carry(name="n", slot=S + 2, start=read(0, "n"), next=read(S + 3, "n")),),
            round_slot=S + 1,
            until=None,
            until_source="",
            max_rounds=2,
            results=(("add", S + 3),),
        )
        inner = plan(linear(call(returning("in", {"v": 1}), 4)), slots=5, output={"v": read(4, "v")})
        never = call(returning("never", {}), S + 4, guard=lambda _frame: False)
        sub = SubOp(name="sub", slot=S + 5, plan=inner, inputs=())
        body = linear(loop, never, sub, call(pay, S + 6, {"n": read(S, "carry", "n"), "v": read(S + 5, "v")}))
        parked = execute(body, book, {"n": 0})
        before = [record.path for record in parked.steps]
        assert before == ["loop[1]/add", "loop[2]/add", "loop", "never", "sub/in", "sub", "pay"]
        settled(book, "pay", {"id": 1})
        again = resume(parked, stepping(body), book)
        assert again.status is RunStatus.OK, again.error
        assert [record.path for record in again.steps] == [*before, "pay"]
        assert len(add.requests) == 2

    def test_another_manifest_is_refused_before_the_run_is_touched(self) -> None:
        body = linear(call(returning("a", {}), S))
        whole = execute(body, Book())
        manifest = msgspec.structs.replace(whole.manifest, components={"a": "2.0.0@new"})
        with pytest.raises(ReplayError, match="changed since: a"):
            resume(whole, stepping(body, manifest=manifest), Book())
        assert whole.status is RunStatus.OK
