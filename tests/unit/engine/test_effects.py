"""Writes in doubt: what may be done about them, in every place where a step can stand."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from stretto.engine.engine import Engine
from stretto.engine.history import History
from stretto.engine.request import RunRequest
from stretto.plan.model import Block, Fallback, Retry
from stretto.record.model import Run, decoded
from stretto.testing import run_virtual
from stretto.types.budget import BudgetSpec
from stretto.types.enums import Durability, Effect, Reason, RunStatus, StepStatus
from stretto.types.errors import Code, ComponentError, ContractError, InDoubtError, StoreError
from stretto.types.ids import StepPath
from stretto.types.learning import Reward
from stretto.types.messages import Request, Response
from tests.unit.engine.books import LOST, TWICE, WRITE, Bank, Book, execute, killed, resume, saying, settled, stepping
from tests.unit.engine.plans import (
    UNAVAILABLE,
    Ledger,
    Probe,
    S,
    call,
    failing,
    graph,
    linear,
    plan,
    read,
    returning,
    run,
    sleeping,
)


class TestWrites:
    def write(self, *outcomes: object, **card: Any) -> Probe:
        return failing("pay", *outcomes, effects={"*": Effect.WRITE}, **card)

    def test_an_intent_precedes_the_write_and_a_receipt_follows_it(self) -> None:
        ledger = Ledger()
        result = run(linear(call(self.write({"id": 1}), S)), ledger=ledger, durability=Durability.STEP)
        assert result.status is RunStatus.OK
        assert [event for event, _ in ledger.events] == ["open", "intent", "receipt", "step", "seal"]

    def test_a_write_in_doubt_is_never_retried_and_parks_the_run(self) -> None:
        ledger = Ledger()
        lost = self.write(ComponentError("connection lost", Code.UNAVAILABLE))
        fallback = Fallback(output=b"{}")
        result = run(
            linear(call(lost, S, retry=Retry(max_attempts=5), fallback=fallback)),
            ledger=ledger,
            durability=Durability.STEP,
        )
        assert len(lost.requests) == 1
        assert result.status is RunStatus.PARKED
        assert result.reason is Reason.IN_DOUBT
        assert ledger.effects["pay"].in_doubt

    def test_a_refused_write_did_not_happen_and_the_run_fails(self) -> None:
        ledger = Ledger()
        refused = self.write(ComponentError("no such order", Code.NOT_FOUND))
        result = run(linear(call(refused, S)), ledger=ledger, durability=Durability.STEP)
        assert result.status is RunStatus.FAILED
        assert not ledger.effects["pay"].in_doubt

    def test_an_idempotent_write_is_sent_again_under_the_same_key(self) -> None:
        flaky = self.write(UNAVAILABLE, {"id": 1}, idempotent=True)
        result = run(linear(call(flaky, S, retry=Retry(max_attempts=2))))
        assert result.status is RunStatus.OK
        assert len({request.call.effect_key for request in flaky.requests}) == 1

    def test_a_component_that_can_tell_settles_the_doubt(self) -> None:
        class Confirming(Probe):
            async def confirm(self, _request: Request) -> Response | None:
                return Response(output={"id": 7})

        async def lose(_request: Request) -> object:
            raise ComponentError("lost", Code.UNAVAILABLE)

        pay = Confirming("pay", lose, effects={"*": Effect.WRITE}, confirms=True)
        result = run(linear(call(pay, S)), output={"id": read(S, "id")})
        assert decoded(result.output) == {"id": 7}

    def test_a_run_cancelled_in_a_write_is_parked_not_just_cancelled(self) -> None:
        ledger = Ledger()
        slow = sleeping("pay", 100.0, effects={"*": Effect.WRITE})

        async def main() -> None:
            engine = Engine(ledger)
            task = asyncio.ensure_future(engine.run(plan(linear(call(slow, S))), RunRequest(input={})))
            await asyncio.sleep(1.0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        run_virtual(main())
        assert ledger.runs[0].status is RunStatus.PARKED


class TestWhatAFailureSays:
    def test_a_component_that_says_in_doubt_is_believed_although_its_code_is_aborted(self) -> None:
        book = Book()
        pay = failing("pay", InDoubtError("the server was lost"), effects=WRITE)
        result = execute(linear(call(pay, S)), book)
        assert result.status is RunStatus.PARKED
        assert book.in_doubt == ["pay"]

    def test_a_doubt_that_asking_dispels_is_an_ordinary_failure_that_may_be_tried_again(self) -> None:
        book = Book()
        outcomes: list[object] = [InDoubtError("the server was lost"), {"id": 1}]

        async def answer(_request: Request) -> object:
            outcome = outcomes.pop(0)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        pay = Bank(answer, saying(None))
        result = execute(linear(call(pay, S, retry=TWICE)), book)
        assert result.status is RunStatus.OK, result.error
        assert len(pay.requests) == 2

    def test_a_dispelled_doubt_is_kept(self) -> None:
        book = Book()
        pay = Bank(saying(LOST), saying(None))
        result = execute(linear(call(pay, S)), book)
        assert result.status is RunStatus.FAILED
        assert book.in_doubt == []

    @pytest.mark.parametrize("answered", [{"x": float("nan")}, 7])
    def test_an_answer_that_cannot_be_kept_does_not_mean_that_nothing_happened(self, answered: object) -> None:
        class Odd(Probe):
            async def __call__(self, request: Request) -> Response:
                self.requests.append(request)
                return answered if answered == 7 else Response(output=answered)  # type: ignore[return-value]

        book = Book()
        pay = Odd("pay", saying(None), effects=WRITE)
        result = execute(linear(call(pay, S, retry=TWICE, fallback=Fallback(output=b"{}"))), book)
        assert result.status is RunStatus.PARKED
        assert book.in_doubt == ["pay"]
        assert len(pay.requests) == 1

    def test_a_report_that_cannot_be_kept_leaves_the_receipt(self) -> None:
        book = Book()
        odd = Response(output={"id": 1}, rewards=(Reward(name="r", value=float("nan")),))
        result = execute(linear(call(returning("pay", odd, effects=WRITE), S)), book)
        assert result.status is RunStatus.FAILED
        assert book.in_doubt == []

    def test_a_component_that_refuses_by_contract_did_nothing(self) -> None:
        book = Book()
        pay = failing("pay", ContractError("no such field"), effects=WRITE)
        result = execute(linear(call(pay, S, fallback=Fallback(output=b"{}"))), book)
        assert result.status is RunStatus.DEGRADED
        assert book.in_doubt == []

    def test_an_idempotent_write_in_doubt_is_not_settled_by_a_second_sending_that_is_refused(self) -> None:
        book = Book()
        pay = failing("pay", LOST, ComponentError("too many", Code.RESOURCE_EXHAUSTED), effects=WRITE, idempotent=True)
        result = execute(linear(call(pay, S, retry=TWICE, fallback=Fallback(output=b"{}"))), book)
        assert len(pay.requests) == 2
        assert result.status is RunStatus.PARKED
        assert book.in_doubt == ["pay"]

    def test_a_fallback_never_answers_for_an_idempotent_write_in_doubt(self) -> None:
        book = Book()
        pay = failing("pay", LOST, effects=WRITE, idempotent=True)
        result = execute(linear(call(pay, S, retry=TWICE, fallback=Fallback(output=b"{}"))), book)
        assert [record.status for record in result.steps] == [StepStatus.FAILED]
        assert (result.status, result.reason) == (RunStatus.PARKED, Reason.IN_DOUBT)

    def test_it_says_why_no_fallback_answered_and_that_resuming_is_enough(self) -> None:
        pay = failing("pay", LOST, effects=WRITE, idempotent=True)
        result = execute(linear(call(pay, S, fallback=Fallback(output=b"{}"))), Book())
        assert result.error is not None
        assert "its fallback does not answer, since the write may have happened" in result.error.message
        assert result.error.message.endswith("'pay' is idempotent, so resuming the run sends it again")

    def test_resuming_is_not_promised_where_it_is_not_enough(self) -> None:
        result = execute(linear(call(failing("pay", LOST, effects=WRITE), S)), Book())
        assert result.error is not None
        assert "idempotent, so resuming" not in result.error.message
        assert "fallback" not in result.error.message


class TestAsking:
    def test_it_is_asked_about_the_request_that_was_sent_also_when_the_component_changed_its_copy(self) -> None:
        async def spoil(request: Request) -> object:
            request.input["v"] = "changed"
            raise LOST

        pay = Bank(spoil, saying({"id": 1}))
        result = execute(linear(call(pay, S, {"v": read(0, "v")})), Book(), {"v": "sent"})
        assert result.status is RunStatus.OK, result.error
        assert [request.input for request in pay.asked] == [{"v": "sent"}]

    def test_a_component_that_never_says_is_asked_no_longer_than_the_step_may_take(self) -> None:
        async def hang(_request: Request) -> object:
            await asyncio.sleep(1e6)
            return None

        pay = Bank(saying(LOST), hang)
        result = execute(linear(call(pay, S, timeout_s=5.0)), Book())
        assert result.status is RunStatus.PARKED
        assert result.duration_ms == pytest.approx(5000.0)
        assert result.error is not None
        assert "did not say" in result.error.message

    def test_a_component_that_cancels_itself_while_it_is_asked_does_not_cancel_the_run(self) -> None:
        async def cancel_itself(_request: Request) -> object:
            raise asyncio.CancelledError

        result = execute(linear(call(Bank(saying(LOST), cancel_itself), S)), Book())
        assert result.status is RunStatus.PARKED
        assert result.error is not None
        assert "asking 'pay' failed" in result.error.message

    def test_it_may_give_a_task_and_fail_in_its_own_way_when_time_is_up(self) -> None:
        async def told(_request: Request) -> object:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                raise InDoubtError("not now") from None
            return None

        class Tasked(Bank):
            def confirm(self, request: Request) -> asyncio.Task[Response | None]:  # type: ignore[override]  # what users give
                return asyncio.ensure_future(super().confirm(request))

        async def main() -> tuple[Run, int]:
            body = linear(call(Tasked(saying(LOST), told), S, timeout_s=2.0))
            result = await Engine(Ledger()).run(plan(body), RunRequest(input={}))
            task = asyncio.current_task()
            assert task is not None
            return result, task.cancelling()

        result, standing = run_virtual(main())
        assert (result.status, standing) == (RunStatus.PARKED, 0)
        assert result.error is not None
        assert "'pay' cannot tell: not now" in result.error.message

    def test_an_answer_over_the_runs_cancellation_lets_nothing_be_sent(self) -> None:
        async def told(_request: Request) -> object:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(100)
            return None

        book, pay = Book(), Bank(saying(LOST), saying(InDoubtError("not now")))
        parked = execute(linear(call(pay, S)), book)
        pay._told = told

        async def main() -> None:
            history = History.resume(parked, dict(book.kept))
            await asyncio.wait_for(Engine(book).resume(stepping(linear(call(pay, S))), parked, history, book), 1.0)

        with pytest.raises(TimeoutError):
            run_virtual(main())
        assert (parked.status, len(pay.requests), book.in_doubt) == (RunStatus.CANCELLED, 1, [])

    def test_asking_may_use_the_reserve_and_ends_with_the_run(self) -> None:
        async def hang(_request: Request) -> object:
            await asyncio.sleep(1e6)
            return None

        pay = Bank(hang, hang)
        budget = BudgetSpec(deadline=timedelta(seconds=10), reserve=timedelta(seconds=3))
        result = execute(linear(call(pay, S)), Book(), budget=budget)
        assert len(pay.asked) == 1
        assert result.status is RunStatus.PARKED
        assert result.duration_ms == pytest.approx(10_000.0)


class TestCancellation:
    def cancelled(self, body: Block, book: Book, when: Callable[[Book], bool]) -> Run:
        """The run that is cancelled as soon as `when` holds."""

        async def main() -> None:
            task = asyncio.ensure_future(Engine(book).run(plan(body, durability=Durability.STEP), RunRequest(input={})))
            while not when(book):  # noqa: ASYNC110  # a line of the engine is waited for, and it sets no event
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        run_virtual(main())
        return book.runs[-1]

    def test_a_write_cancelled_while_its_intent_is_committed_was_surely_not_sent(self) -> None:
        book, pay = Book(), returning("pay", {"id": 1}, effects=WRITE)
        result = self.cancelled(linear(call(pay, S)), book, lambda book: bool(book.kept))
        assert pay.requests == []
        assert book.in_doubt == []
        assert result.status is RunStatus.CANCELLED

    def test_a_second_sending_cancelled_so_leaves_the_first_in_doubt(self) -> None:
        book, pay = Book(), failing("pay", LOST, {"id": 1}, effects=WRITE, idempotent=True)
        result = self.cancelled(linear(call(pay, S, retry=TWICE)), book, lambda book: book.begun == ["intent"] * 2)
        assert len(pay.requests) == 1
        assert book.in_doubt == ["pay"]
        assert result.status is RunStatus.PARKED

    def test_a_write_cancelled_while_its_receipt_is_committed_has_it(self) -> None:
        book, pay = Book(), returning("pay", {"id": 1}, effects=WRITE)
        result = self.cancelled(
            linear(call(pay, S)), book, lambda book: any(e.receipt is not None for e in book.kept.values())
        )
        assert book.in_doubt == []
        assert result.status is RunStatus.CANCELLED


class TestBrokenStore:
    def test_an_intent_that_cannot_be_kept_means_that_nothing_is_sent(self) -> None:
        book, pay = Book(), returning("pay", {"id": 1}, effects=WRITE)
        book.fail_at = "intent"
        with pytest.raises(StoreError):
            execute(linear(call(pay, S)), book)
        assert pay.requests == []
        assert [sealed.status for sealed in book.runs] == [RunStatus.FAILED]

    def test_a_receipt_that_cannot_be_kept_leaves_the_run_parked(self) -> None:
        book, pay = Book(), returning("pay", {"id": 1}, effects=WRITE)
        book.fail_at = "receipt"
        with pytest.raises(StoreError):
            execute(linear(call(pay, S)), book)
        assert [sealed.status for sealed in book.runs] == [RunStatus.PARKED]
        assert book.in_doubt == ["pay"]


class TestParallel:
    def test_a_write_in_doubt_in_one_branch_parks_the_run_whatever_the_others_did(self) -> None:
        async def later(_request: Request) -> object:
            await asyncio.sleep(1)
            raise LOST

        pay, other = Probe("pay", later, effects=WRITE), failing("other", LOST)
        good, join = returning("good", {}), returning("join", {})
        body = graph(
            [call(good, S), call(pay, S + 1), call(other, S + 2, fallback=Fallback(output=b"{}")), call(join, S + 3)],
            [(0, 3), (1, 3), (2, 3)],
        )
        book = Book()
        result = execute(body, book)
        assert (result.status, book.in_doubt) == (RunStatus.PARKED, ["pay"])
        assert join.requests == []

    def test_a_write_under_way_when_another_branch_fails_is_in_doubt_and_the_run_says_so(self) -> None:
        async def slow(_request: Request) -> object:
            await asyncio.sleep(5)
            return {}

        async def fail(_request: Request) -> object:
            await asyncio.sleep(1)
            raise ComponentError("no", Code.INVALID_ARGUMENT)

        book = Book()
        body = graph([call(Probe("pay", slow, effects=WRITE), S), call(Probe("bad", fail), S + 1)], [])
        result = execute(body, book)
        assert (result.status, result.reason, book.in_doubt) == (RunStatus.PARKED, Reason.IN_DOUBT, ["pay"])

    def test_a_resumed_run_that_fails_before_it_reaches_the_write_stays_parked(self) -> None:
        book = Book()
        first = failing("first", {}, ComponentError("no", Code.INVALID_ARGUMENT))
        pay = failing("pay", LOST, effects=WRITE)
        body = linear(call(first, S), call(pay, S + 1))
        parked = execute(body, book)
        again = resume(killed(parked, steps=0), stepping(body), book)
        assert again.status is RunStatus.PARKED
        assert again.reason is Reason.IN_DOUBT

    def test_a_resumed_run_that_takes_another_way_is_not_called_ok_while_a_write_is_in_doubt(self) -> None:
        book = Book()
        choose = failing("choose", {"go": True}, {"go": False})
        pay = failing("pay", LOST, effects=WRITE)
        body = linear(call(choose, S), call(pay, S + 1, guard=read(S, "go")))
        parked = execute(body, book)
        again = resume(killed(parked, steps=0), stepping(body), book)
        assert again.status is RunStatus.PARKED


class TestResume:
    def test_a_write_in_doubt_is_confirmed_for_the_request_that_was_sent_not_for_another_one(self) -> None:
        book = Book()
        look = failing("look", {"v": 1}, {"v": 2})
        log: list[object] = []

        async def lose(request: Request) -> object:
            log.append(request.input["v"])
            raise LOST

        async def told(request: Request) -> object:
            return {"id": 1} if request.input["v"] in log else None

        pay = Bank(lose, saying(InDoubtError("not now")))
        body = linear(call(look, S), call(pay, S + 1, {"v": read(S, "v")}))
        parked = execute(body, book)
        assert parked.status is RunStatus.PARKED
        pay._told = told
        again = resume(killed(parked, steps=0), stepping(body), book)
        assert pay.asked[-1].input == {"v": 1}
        assert log == [1], "the world has one write, and the run did not ask for a second"
        assert again.status is RunStatus.FAILED
        assert again.error is not None
        assert "receipt for another request" in again.error.message
        assert book.in_doubt == []

    def test_an_idempotent_write_in_doubt_is_not_sent_with_another_request(self) -> None:
        book = Book()
        look = failing("look", {"v": 1}, {"v": 2})
        pay = failing("pay", LOST, {"id": 2}, effects=WRITE, idempotent=True)
        body = linear(call(look, S), call(pay, S + 1, {"v": read(S, "v")}))
        parked = execute(body, book)
        again = resume(killed(parked, steps=0), stepping(body), book)
        assert len(pay.requests) == 1
        assert again.status is RunStatus.PARKED
        assert decoded(book.kept[StepPath("pay")].request) == {"v": 1}

    def test_a_receipt_stands_when_the_recorded_step_was_asked_in_another_order_of_keys(self) -> None:
        book, pay = Book(), returning("pay", {"id": 1}, effects=WRITE)
        order: list[str] = ["a", "b"]

        async def outer(request: Request) -> object:
            assert request.call.caller is not None
            return await request.call.caller.call("pay", dict.fromkeys(order, 1))

        body = linear(call(Probe("outer", outer), S, calls_others=True))
        nested = {"pay": call(pay, S + 1)}
        whole = execute(body, book, nested=nested)
        order.reverse()
        again = resume(killed(whole, steps=1), stepping(body, nested=nested), book)
        assert again.status is RunStatus.OK, again.error
        assert len(pay.requests) == 1

    def test_what_a_person_settled_goes_on(self) -> None:
        for response, sent in (({"id": 5}, 1), (None, 2)):
            book, pay = Book(), failing("pay", LOST, {"id": 6}, effects=WRITE)
            body = linear(call(pay, S))
            output = {"id": read(S, "id")}
            parked = execute(body, book, output=output)
            settled(book, "pay", response)
            again = resume(parked, stepping(body, output=output), book)
            assert again.status is RunStatus.OK, again.error
            assert decoded(again.output) == ({"id": 5} if response else {"id": 6})
            assert len(pay.requests) == sent
