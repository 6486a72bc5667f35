"""Components that call others: through the engine, bounded by its step, and never twice for one write."""

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from stretto.engine.engine import Engine
from stretto.engine.request import RunRequest
from stretto.plan.model import Block, Fallback, ProtectionRules, Retry
from stretto.record.model import Run, decoded
from stretto.testing import VirtualLoop, run_virtual
from stretto.types.enums import Effect, Reason, RunStatus, StepStatus
from stretto.types.errors import NOTHING_HAPPENED, Code, ComponentError, UsageError
from stretto.types.messages import Request, Response
from stretto.types.protection import BulkheadRule
from tests.unit.engine.books import LOST, TWICE, WRITE, Answer, Book, execute, resume, settled, stepping
from tests.unit.engine.plans import Ledger, Probe, S, call, failing, linear, plan, read, returning, run, sleeping


class TestNestedCalls:
    def test_what_a_component_left_behind_calls_nothing_in_a_run_that_has_ended(self) -> None:
        inner = returning("inner", {})
        late: list[asyncio.Task[object]] = []

        async def outer(request: Request) -> object:
            caller = request.call.caller
            assert caller is not None

            async def later() -> object:
                await asyncio.sleep(1)
                return await caller.call("inner", {})

            late.append(asyncio.create_task(later()))
            return {}

        async def main() -> Run:
            nested = {"inner": call(inner, S + 1)}
            body = linear(call(Probe("outer", outer), S, calls_others=True))
            result = await Engine(Ledger()).run(plan(body, nested=nested), RunRequest(input={}))
            with pytest.raises(UsageError, match="has ended, and 'inner' was to be called in it by what step 'outer'"):
                await late[0]
            return result

        result = run_virtual(main())
        assert [record.path for record in result.steps] == ["outer"]
        assert inner.requests == []

    def test_a_component_calls_another_through_the_engine(self) -> None:
        inner = returning("inner", {"x": 1})

        async def outer(request: Request) -> object:
            assert request.call.caller is not None
            first = await request.call.caller.call("inner", {"n": 1})
            await request.call.caller.call("inner", {"n": 2})
            return first

        body = linear(call(Probe("outer", outer), S, calls_others=True))
        result = run(body, output={"x": read(S, "x")}, nested={"inner": call(inner, S + 1)})
        assert [record.path for record in result.steps] == ["outer/inner#1", "outer/inner#2", "outer"]
        assert decoded(result.output) == {"x": 1}

    def test_a_hanging_inner_call_ends_at_the_deadline_of_the_outer(self) -> None:
        async def outer(request: Request) -> object:
            assert request.call.caller is not None
            return await request.call.caller.call("inner", {})

        body = linear(call(Probe("outer", outer), S, calls_others=True, timeout_s=2.0))
        result = run(body, nested={"inner": call(sleeping("inner", 99.0), S + 1)})
        assert result.reason is Reason.TIMEOUT
        assert result.duration_ms == 2000.0

    @pytest.mark.parametrize("beside", [False, True])
    def test_one_that_ignores_its_time_out_is_left_behind_and_the_outer_goes_on(self, beside: bool) -> None:
        async def stubborn(_request: Request) -> object:
            while True:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(100)

        async def outer(request: Request) -> object:
            assert request.call.caller is not None
            calling = request.call.caller.call("inner", {})
            with pytest.raises(ComponentError, match="did not answer within 2 s"):
                await (asyncio.ensure_future(calling) if beside else calling)
            await asyncio.sleep(1)
            return {"x": 1}

        async def main() -> tuple[Run, int]:
            nested = {"inner": call(Probe("inner", stubborn), S + 1, timeout_s=2.0)}
            body = linear(call(Probe("outer", outer), S, calls_others=True))
            loop, task = asyncio.get_running_loop(), asyncio.current_task()
            assert isinstance(loop, VirtualLoop)
            assert task is not None
            result = await Engine(Ledger(), clock=loop).run(plan(body, nested=nested), RunRequest(input={}))
            return result, task.cancelling()

        result, standing = run_virtual(main())
        assert (result.status, result.duration_ms, standing) == (RunStatus.OK, 4000.0, 0)


class TestCancellation:
    """What answers over its run's cancellation does not hide that from who called it."""

    @staticmethod
    async def cling(_request: Request) -> object:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(100)
        return {"id": 1}

    def cancelled(self, outer: Answer, *nested: Probe, book: Book | None = None) -> Run:
        book = book or Book()
        inner = {probe.card.name: call(probe, S + 1 + n) for n, probe in enumerate(nested)}
        body = linear(call(Probe("outer", outer), S, calls_others=True))

        async def main() -> None:
            await asyncio.wait_for(Engine(book).run(stepping(body, nested=inner), RunRequest(input={})), 1.0)

        with pytest.raises(TimeoutError):
            run_virtual(main())
        (sealed,) = book.runs
        assert sealed.status is RunStatus.CANCELLED
        return sealed

    @pytest.mark.parametrize("beside", [False, True])
    def test_nothing_more_is_called(self, beside: bool) -> None:
        last, gone_on = returning("last", {}), []

        async def outer(request: Request) -> object:
            caller = request.call.caller
            assert caller is not None
            calling = caller.call("inner", {})
            await (asyncio.ensure_future(calling) if beside else calling)
            gone_on.append(1)
            return await caller.call("last", {})

        sealed = self.cancelled(outer, Probe("inner", self.cling), last)
        assert (last.requests, gone_on) == ([], [])
        assert [(record.path, record.status) for record in sealed.steps] == [
            ("outer/inner#1", StepStatus.OK),
            ("outer", StepStatus.FAILED),
        ]

    def test_what_a_write_answered_is_handed_on_and_nothing_more_is_called(self) -> None:
        last, handed_on = returning("last", {}), []

        async def outer(request: Request) -> object:
            caller = request.call.caller
            assert caller is not None
            handed_on.append(await caller.call("pay", {}))
            return await caller.call("last", {})

        book = Book()
        self.cancelled(outer, Probe("pay", self.cling, effects=WRITE), last, book=book)
        assert (handed_on, last.requests, book.in_doubt) == ([{"id": 1}], [], [])

    def test_nor_by_a_component_that_takes_the_cancellation_for_a_failed_call(self) -> None:
        last = returning("last", {})

        async def outer(request: Request) -> object:
            caller = request.call.caller
            assert caller is not None
            for name in ("inner", "last", "last"):
                with suppress(asyncio.CancelledError):
                    await caller.call(name, {})
            return {}

        self.cancelled(outer, sleeping("inner", 99.0), last)
        assert last.requests == []

    def test_a_call_that_answers_for_a_task_group_that_failed_is_made(self) -> None:
        async def fail() -> None:
            raise KeyError("inner")

        async def outer(request: Request) -> object:
            assert request.call.caller is not None
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(fail())
            except* KeyError:
                answer = await request.call.caller.call("inner", {})
            return answer

        nested = {"inner": call(sleeping("inner", 1.0, {"x": 1}), S + 1)}
        result = run(linear(call(Probe("outer", outer), S, calls_others=True)), nested=nested)
        assert result.status is RunStatus.OK, result.error


class TestNestedWrites:
    def outer(self, *inner: tuple[str, dict[str, Any]], swallow: bool = False, wrap: bool = False) -> Answer:
        async def answer(request: Request) -> object:
            caller = request.call.caller
            assert caller is not None
            for name, fields in inner:
                try:
                    await caller.call(name, dict(fields))
                except ComponentError as error:
                    if wrap:
                        raise ValueError("inner trouble") from error
                    if not swallow:
                        raise
            return {"done": True}

        return answer

    def body(self, answer: Answer, **fields: Any) -> Block:
        return linear(call(Probe("outer", answer), S, calls_others=True, **fields))

    def test_a_retry_of_the_outer_step_does_not_repeat_a_write_that_was_made(self) -> None:
        book, pay = Book(), returning("pay", {"id": 1}, effects=WRITE)
        flaky = failing("look", LOST, {})
        body = self.body(self.outer(("pay", {"v": 1}), ("look", {}), wrap=True), retry=TWICE)
        result = execute(body, book, nested={"pay": call(pay, S + 1), "look": call(flaky, S + 2)})
        assert result.status is RunStatus.OK, result.error
        assert len(pay.requests) == 1

    @pytest.mark.parametrize("wrap", [False, True])
    def test_a_write_in_doubt_inside_a_step_lets_no_fallback_answer_for_the_step(self, wrap: bool) -> None:
        book, pay = Book(), failing("pay", LOST, effects=WRITE)
        body = self.body(self.outer(("pay", {}), wrap=wrap), retry=TWICE, fallback=Fallback(output=b"{}"))
        result = execute(body, book, nested={"pay": call(pay, S + 1)})
        assert len(pay.requests) == 1
        assert (result.status, result.reason) == (RunStatus.PARKED, Reason.IN_DOUBT)
        assert {record.status for record in result.steps} == {StepStatus.FAILED}

    def test_a_write_may_be_made_of_writes(self) -> None:
        book, pay = Book(), returning("pay", {"id": 1}, effects=WRITE)
        answer = self.outer(("pay", {"v": 1}), ("pay", {"v": 2}))
        outer = call(Probe("outer", answer, effects=WRITE), S, calls_others=True)
        result = execute(linear(outer), book, nested={"pay": call(pay, S + 1)})
        assert result.status is RunStatus.OK, result.error
        assert sorted(book.kept) == ["outer", "outer/pay#1", "outer/pay#2"]

    @pytest.mark.parametrize("code", sorted(NOTHING_HAPPENED))
    def test_a_refusal_inside_a_write_is_not_the_writes_own(self, code: Code) -> None:
        """It may have written before it called: it is not made again, and nothing answers for it."""
        book, look = Book(), failing("look", ComponentError("no", code))
        outer = Probe("outer", self.outer(("look", {})), effects=WRITE)
        again = Retry(max_attempts=3, base_s=0.0, codes=frozenset(Code))
        op = call(outer, S, calls_others=True, retry=again, fallback=Fallback(output=b"{}"))
        result = execute(linear(op), book, nested={"look": call(look, S + 1)})
        assert (len(outer.requests), result.status, book.in_doubt) == (1, RunStatus.PARKED, ["outer"])

    def test_a_write_that_takes_a_refusal_inside_for_its_own_says_so(self) -> None:
        async def answer(request: Request) -> object:
            assert request.call.caller is not None
            try:
                return await request.call.caller.call("look", {})
            except ComponentError as error:
                raise ComponentError("not without a look", Code.NOT_FOUND) from error

        book, look = Book(), failing("look", ComponentError("no", Code.NOT_FOUND))
        op = call(Probe("outer", answer, effects=WRITE), S, calls_others=True)
        result = execute(linear(op), book, nested={"look": call(look, S + 1)})
        assert (result.status, book.in_doubt) == (RunStatus.FAILED, [])

    def test_a_component_may_not_go_on_over_a_write_in_doubt(self) -> None:
        book, pay, after = Book(), failing("pay", LOST, effects=WRITE), returning("after", {})
        outer = call(Probe("outer", self.outer(("pay", {}), swallow=True)), S, calls_others=True)
        result = execute(linear(outer, call(after, S + 2)), book, nested={"pay": call(pay, S + 1)})
        assert result.status is RunStatus.PARKED
        assert after.requests == []

    def test_after_a_persons_word_the_outer_step_is_made_again_over_what_stands(self) -> None:
        book, pay = Book(), failing("pay", LOST, effects=WRITE)
        look = returning("look", {})
        body = self.body(self.outer(("look", {}), ("pay", {"v": 1})))
        nested = {"pay": call(pay, S + 1), "look": call(look, S + 2)}
        parked = execute(body, book, nested=nested)
        assert book.in_doubt == ["outer/pay#1"]
        settled(book, "outer/pay#1", {"id": 1})
        again = resume(parked, stepping(body, nested=nested), book)
        assert again.status is RunStatus.OK, again.error
        assert (len(pay.requests), len(look.requests)) == (1, 1)

    def test_a_replay_that_would_write_inside_a_step_ends_whatever_the_step_falls_back_to(self) -> None:
        pay = returning("pay", {"id": 1}, effects=WRITE)
        nested = {"pay": call(pay, S + 1)}
        recorded = run(self.body(self.outer(("pay", {"v": 1}))), nested=nested)
        changed = self.body(self.outer(("pay", {"v": 2})), fallback=Fallback(output=b"{}"))
        manifest = msgspec.structs.replace(recorded.manifest, components={"outer": "2.0.0@new"})

        async def main() -> Run:
            again = plan(changed, nested=nested, manifest=manifest)
            return await Engine(Ledger()).replay(again, recorded, RunRequest(input={}), outputs={})

        again = run_virtual(main())
        assert again.status is RunStatus.FAILED
        assert again.error is not None
        assert "not replayable" in again.error.message
        assert len(pay.requests) == 1


class TestTheTimeOfTheCallAround:
    def test_is_what_a_call_inside_is_told(self) -> None:
        inner = returning("inner", {})

        async def outer(request: Request) -> object:
            assert request.call.caller is not None
            await asyncio.sleep(1.0)
            return await request.call.caller.call("inner", {})

        op = call(Probe("outer", outer), S, calls_others=True, timeout_s=4.0)
        run(linear(op), nested={"inner": call(inner, S + 1, timeout_s=60.0)})
        assert inner.requests[0].call.deadline == 4.0

    def test_leaves_no_room_for_a_retry_that_would_end_after_it(self) -> None:
        busy = failing("inner", ComponentError("busy", Code.UNAVAILABLE, retry_after_s=5.0))

        async def outer(request: Request) -> object:
            assert request.call.caller is not None
            with suppress(ComponentError):
                return await request.call.caller.call("inner", {})
            return {"gave": "up"}

        op = call(Probe("outer", outer), S, calls_others=True, timeout_s=4.0)
        result = run(linear(op), nested={"inner": call(busy, S + 1, retry=Retry(9))})
        assert (len(busy.requests), result.duration_ms) == (1, 0.0)
        assert result.steps[-1].output_value == {"gave": "up"}

    def test_ends_a_call_inside_that_runs_in_another_task(self) -> None:
        ended: list[type] = []

        async def outer(request: Request) -> object:
            caller = request.call.caller
            assert caller is not None
            beside = asyncio.ensure_future(caller.call("inner", {}))
            beside.add_done_callback(lambda task: ended.append(type(task.exception())))
            await asyncio.wait([beside])
            return {}

        op = call(Probe("outer", outer), S, calls_others=True, timeout_s=4.0)
        result = run(linear(op), nested={"inner": call(sleeping("inner", 9.0), S + 1)})
        assert (result.duration_ms, ended) == (4000.0, [ComponentError])


class TestACallLeftBehind:
    """By a component that failed, as `asyncio.gather` does with the calls beside the one that raised."""

    @staticmethod
    def of(inner: Probe, **fields: Any) -> tuple[Run, Ledger]:
        async def outer(request: Request) -> object:
            caller = request.call.caller
            assert caller is not None
            await asyncio.gather(caller.call("bad", {}), caller.call("inner", {}))
            raise AssertionError

        async def main() -> tuple[Run, Ledger]:
            ledger = Ledger()
            nested = {"inner": call(inner, S + 1, **fields), "bad": call(failing("bad", LOST), S + 2)}
            body = linear(call(Probe("outer", outer), S, calls_others=True))
            result = await Engine(ledger).run(plan(body, nested=nested), RunRequest(input={}))
            await asyncio.sleep(10)
            return result, ledger

        return run_virtual(main())

    def test_is_no_part_of_a_run_that_has_ended(self) -> None:
        """The record was handed over: a step more broke its seal in the store."""
        result, _ = self.of(sleeping("inner", 1.0))
        assert [record.path for record in result.steps] == ["outer/bad#1", "outer"]

    def test_is_not_made_again(self) -> None:
        inner = failing("inner", LOST, {})
        self.of(inner, retry=Retry(max_attempts=2, base_s=1.0))
        assert len(inner.requests) == 1

    def test_keeps_its_deadline(self) -> None:
        """What it hung in would hold a place for ever."""
        cancelled: list[float] = []

        async def hangs(_request: Request) -> object:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(asyncio.get_running_loop().time())
                raise
            raise AssertionError

        self.of(Probe("inner", hangs), timeout_s=2.0)
        assert cancelled == [2.0]

    def test_is_not_sent_where_it_writes_and_has_waited_for_a_place(self) -> None:
        pays = sleeping("pays", 1.0, effects=WRITE)

        async def outer(request: Request) -> object:
            caller = request.call.caller
            assert caller is not None
            await asyncio.gather(*(caller.call("pays", {}) for _ in range(2)), caller.call("bad", {}))
            raise AssertionError

        async def main() -> Run:
            nested = {"pays": call(pays, S + 1, effect=Effect.WRITE), "bad": call(failing("bad", LOST), S + 2)}
            body = linear(call(Probe("outer", outer), S, calls_others=True))
            one = ProtectionRules(bulkhead=BulkheadRule(limit=1))
            what = plan(body, nested=nested, components={"pays": pays}, protections={"pays": one})
            result = await Engine(Ledger()).run(what, RunRequest(input={}))
            await asyncio.sleep(10)
            return result

        assert run_virtual(main()).status is RunStatus.PARKED
        assert [request.call.path for request in pays.requests] == ["outer/pays#1"]


class TestAWriteThatAnEarlierAttemptLeftBehind:
    """Asked meanwhile, its component says rightly that it did not happen."""

    @staticmethod
    def paying(took_s: float, **outer_op: Any) -> tuple[Run, list[str]]:
        made: list[str] = []

        class Pays(Probe):
            async def confirm(self, _request: Request) -> Response | None:
                return Response(output={}) if made else None

        async def pays(request: Request) -> object:
            now = asyncio.get_running_loop().time
            ends = now() + took_s
            while now() < ends:  # whoever cancels it
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(ends - now())
            made.append(request.call.path)
            return {"paid": True}

        async def outer(request: Request) -> object:
            caller = request.call.caller
            assert caller is not None
            try:
                paid, _ = await asyncio.gather(caller.call("pays", {}), caller.call("bad", {}))
            except ComponentError:
                raise LOST from None
            return paid

        async def main() -> Run:
            pay = call(Pays("pays", pays, effects=WRITE, confirms=True), S + 1, effect=Effect.WRITE)
            nested = {"pays": pay, "bad": call(failing("bad", LOST, {}), S + 2)}
            body = linear(call(Probe("outer", outer), S, calls_others=True, retry=TWICE, **outer_op))
            result = await Engine(Ledger()).run(plan(body, nested=nested), RunRequest(input={}))
            await asyncio.sleep(10)
            return result

        return run_virtual(main()), made

    def test_is_waited_for_and_not_made_twice(self) -> None:
        result, made = self.paying(1.0)
        assert (result.status, made) == (RunStatus.OK, ["outer/pays#1"])
        assert result.steps[-1].output_value == {"paid": True}

    def test_parks_the_run_when_it_has_not_ended_in_time(self) -> None:
        result, made = self.paying(5.0, timeout_s=2.0)
        assert (result.status, result.reason, made) == (RunStatus.PARKED, Reason.IN_DOUBT, [])


def test_a_run_that_went_on_from_a_call_that_was_stopped_ended_without_an_error() -> None:
    """It failed as it was stopped, and the component answered all the same."""

    async def stubborn(_request: Request) -> object:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            raise ComponentError("stopped", Code.UNAVAILABLE) from None
        return {}

    async def outer(request: Request) -> object:
        caller = request.call.caller
        assert caller is not None
        with suppress(TimeoutError):
            await asyncio.wait_for(caller.call("inner", {}), 1)
        return {}

    body = linear(call(Probe("outer", outer), S, calls_others=True))
    result = run(body, nested={"inner": call(Probe("inner", stubborn), S + 1)})
    assert (result.status, result.error) == (RunStatus.OK, None)
