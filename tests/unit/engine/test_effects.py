"""Writes in doubt: what may be done about them, in every place where a step can stand."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from stretto.engine.engine import Engine
from stretto.engine.history import History
from stretto.engine.request import RunRequest
from stretto.plan.model import Block, CallOp, Carry, Fallback, LoopOp, MapOp, Plan, Retry, SubOp
from stretto.record.model import NULL, EffectRecord, Run, decoded
from stretto.testing import VirtualLoop, run_virtual
from stretto.types.budget import BudgetSpec
from stretto.types.enums import Durability, Effect, Reason, RunStatus, StepStatus
from stretto.types.errors import Code, ComponentError, ContractError, InDoubtError, ReplayError, StoreError
from stretto.types.ids import StepPath
from stretto.types.learning import Reward
from stretto.types.messages import Request, Response, Usage
from tests.unit.engine.plans import Ledger, Probe, S, call, failing, graph, linear, plan, read, returning, run, step

WRITE = {"*": Effect.WRITE}
LOST = ComponentError("connection lost", Code.UNAVAILABLE)
TWICE = Retry(max_attempts=2, base_s=0.0)

Answer = Callable[[Request], Awaitable[object]]


class Book(Ledger):
    """A ledger that keeps what a store would: a snapshot of each record at the time that it was handed over."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[StepPath, EffectRecord] = {}
        self.begun: list[str] = []
        """Kinds of what was handed over to be committed."""
        self.fail_at = ""
        """Kind of the next call that the disk fails at."""
        self.accepted_memory = NULL
        """The run's memory as the store was given it when the run was accepted."""

    async def open(self, run: Run, durability: Durability) -> "Book":
        self.accepted_memory = run.memory
        await super().open(run, durability)
        return self

    async def intent(self, effect: EffectRecord) -> None:
        await self._keep("intent", effect)
        await super().intent(effect)

    async def receipt(self, effect: EffectRecord) -> None:
        await self._keep("receipt", effect)
        await super().receipt(effect)

    @property
    def in_doubt(self) -> list[str]:
        return [path for path, effect in self.kept.items() if effect.in_doubt]

    async def _keep(self, kind: str, effect: EffectRecord) -> None:
        if self.fail_at == kind:
            self.fail_at = ""
            raise StoreError("the disk is full")
        self.begun.append(kind)
        before = self.kept.get(effect.path)
        assert before is None or before.receipt is None, "a receipt stands once"
        self.kept[effect.path] = msgspec.structs.replace(effect)
        await asyncio.sleep(0)


class Bank(Probe):
    """A component that writes and can tell: `told` answers about a write in doubt."""

    def __init__(self, answer: Answer, told: Answer, **card: Any) -> None:
        super().__init__("pay", answer, effects=WRITE, confirms=True, **card)
        self.asked: list[Request] = []
        self._told = told

    async def confirm(self, request: Request) -> Response | None:
        self.asked.append(request)
        told = await self._told(request)
        return None if told is None else Response(output=told)


def saying(value: object) -> Answer:
    async def answer(_request: Request) -> object:
        if isinstance(value, BaseException):
            raise value
        return value

    return answer


def execute(body: Block, book: Book, value: dict[str, Any] | None = None, **fields: Any) -> Run:
    return run(body, value, ledger=book, durability=Durability.STEP, **fields)


def killed(whole: Run, *, steps: int) -> Run:
    """The run as a store has it after a kill that came when so many steps were recorded."""
    return Run(
        id=whole.id,
        workflow_run_id=whole.workflow_run_id,
        manifest=whole.manifest,
        input=whole.input,
        input_digest=whole.input_digest,
        started_at_ns=whole.started_at_ns,
        seed=whole.seed,
        steps=list(whole.steps[:steps]),
    )


def resume(interrupted: Run, again: Plan, book: Book) -> Run:
    """Go on with a run in another process, which finds what `book` holds."""

    async def main() -> Run:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        effects = {path: msgspec.structs.replace(effect) for path, effect in book.kept.items()}
        history = History.resume(interrupted, effects)
        return await Engine(book, clock=loop).resume(again, interrupted, history, book)

    return run_virtual(main())


def settled(book: Book, path: str, response: object | None) -> None:
    """A person's word on a write in doubt."""
    effect = book.kept[StepPath(path)]
    assert effect.in_doubt
    if response is None:
        effect.refused = True
    else:
        effect.receipt = msgspec.Raw(msgspec.json.encode(response))


def stepping(body: Block, **fields: Any) -> Plan:
    return plan(body, durability=Durability.STEP, **fields)


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

    def test_a_run_cancelled_again_while_its_sessions_close_is_sealed_all_the_same(self) -> None:
        class Closing:
            async def __call__(self, request: Request) -> Response:
                await asyncio.sleep(100)
                return Response(output={})

            async def close(self) -> None:
                await asyncio.sleep(1)

        class PerRun(Probe):
            async def open_run(self, _run: object) -> Closing:
                return Closing()

        book = Book()
        probe = PerRun("s", saying({}))

        async def main() -> None:
            body = linear(call(probe, S, per_run=True))
            task = asyncio.ensure_future(Engine(book).run(stepping(body), RunRequest(input={})))
            for pause in (0.5, 0.5):
                await asyncio.sleep(pause)
                task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        run_virtual(main())
        assert [sealed.status for sealed in book.runs] == [RunStatus.CANCELLED]


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

    def test_what_recorded_steps_consumed_is_still_spent(self) -> None:
        book = Book()
        used = Response(output={}, usage=Usage(input_tokens=60), rewards=(Reward(name="r", value=1.0),))
        body = linear(
            call(returning("a", used), S), call(returning("b", used), S + 1), call(returning("c", used), S + 2)
        )
        budget = BudgetSpec(tokens=100)
        whole = execute(body, book, budget=budget)
        assert whole.reason is Reason.BUDGET
        again = resume(killed(whole, steps=1), stepping(body, budget=budget), book)
        assert again.reason is Reason.BUDGET
        assert [record.status for record in again.steps] == [StepStatus.OK, StepStatus.OK, StepStatus.FAILED]
        assert again.usage == Usage(input_tokens=120)
        assert [reward.value for reward in again.rewards] == [1.0, 1.0]


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


class TestMaps:
    def each(self, op: CallOp, **fields: Any) -> MapOp:
        return MapOp(
            name="each",
            slot=S,
            over=read(0, "items"),
            over_source="input.items",
            item_slot=S + 1,
            index_slot=S + 2,
            body=linear(op),
            result=read(op.slot),
            max_parallel=fields.pop("max_parallel", 1),
            **fields,
        )

    def test_an_item_in_doubt_is_not_read_as_null(self) -> None:
        book = Book()

        async def pay_all_but_two(request: Request) -> object:
            if request.input["v"] == 2:
                raise LOST
            return {"paid": request.input["v"]}

        pay = Probe("pay", pay_all_but_two, effects=WRITE)
        op = call(pay, S + 3, {"v": read(S + 1)})
        body = linear(self.each(op, null_on_error=True))
        parked = execute(body, book, {"items": [1, 2, 3]})
        assert (parked.status, book.in_doubt) == (RunStatus.PARKED, ["each[1]/pay"])
        settled(book, "each[1]/pay", {"paid": 2})
        again = resume(parked, stepping(body, output={"all": read(S, "items")}), book)
        assert again.status is RunStatus.OK, again.error
        assert decoded(again.output) == {"all": [{"paid": 1}, {"paid": 2}, {"paid": 3}]}
        assert [request.input["v"] for request in pay.requests] == [1, 2, 3]

    def test_an_item_that_failed_and_was_tolerated_stays_failed_in_a_resumed_run(self) -> None:
        book = Book()
        no = ComponentError("no", Code.INVALID_ARGUMENT)
        item = failing("item", {"v": 1}, no, {"v": 3}, {"v": 99})
        total = failing("total", LOST, effects=WRITE)
        op = call(item, S + 3, {"v": read(S + 1)})
        body = linear(self.each(op, null_on_error=True), call(total, S + 4, {"all": read(S, "items")}))
        parked = execute(body, book, {"items": [1, 2, 3]})
        assert parked.status is RunStatus.PARKED
        settled(book, "total", {"id": 1})
        again = resume(parked, stepping(body), book)
        assert len(item.requests) == 3
        assert again.status is RunStatus.DEGRADED, again.error


class TestStructure:
    """What stands of loops, maps, guards and sub-workflows when a run goes on."""

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

    def test_a_loop_goes_on_in_the_round_in_which_it_was_interrupted(self) -> None:
        book = Book()
        rounds: list[int] = []

        async def pay_in_turn(request: Request) -> object:
            n: Any = request.input["n"]
            rounds.append(n)
            if n == 2 and rounds.count(2) == 1:
                raise LOST
            return {"n": n + 1}

        pay = Probe("pay", pay_in_turn, effects=WRITE)
        loop = LoopOp(
            name="loop",
            slot=S,
            body=linear(call(pay, S + 3, {"n": read(S + 2)})),
            carries=(Carry(name="n", slot=S + 2, start=read(0, "n"), next=read(S + 3, "n")),),
            round_slot=S + 1,
            until=lambda frame: frame[S + 3]["n"] >= 4,
            until_source="",
            max_rounds=9,
            results=(("pay", S + 3),),
        )
        parked = execute(linear(loop), book, {"n": 1})
        assert (parked.status, book.in_doubt) == (RunStatus.PARKED, ["loop[2]/pay"])
        settled(book, "loop[2]/pay", None)
        again = resume(parked, stepping(linear(loop), output={"n": read(S, "carry", "n")}), book)
        assert decoded(again.output) == {"n": 4}
        assert rounds == [1, 2, 2, 3]


class TestReplayOfAParkedRun:
    def test_a_write_in_doubt_cannot_be_replayed_and_the_error_says_why(self) -> None:
        pay = failing("pay", LOST, effects=WRITE)
        body = linear(call(pay, S))
        parked = execute(body, Book())

        async def main(**options: Any) -> Run:
            return await Engine(Ledger()).replay(plan(body), parked, RunRequest(input={}), **{"outputs": {}, **options})

        again = run_virtual(main())
        assert again.status is RunStatus.FAILED
        assert again.error is not None
        assert "did not answer" in again.error.message
        dry = run_virtual(main(dry_run=True))
        assert step(dry, "pay").status is StepStatus.SKIPPED
        given = run_virtual(main(outputs={"pay": {"id": 1}}))
        assert given.simulated
        assert len(pay.requests) == 1

    def test_another_manifest_is_refused_before_the_run_is_touched(self) -> None:
        body = linear(call(returning("a", {}), S))
        whole = execute(body, Book())
        manifest = msgspec.structs.replace(whole.manifest, components={"a": "2.0.0@new"})
        with pytest.raises(ReplayError, match="changed since: a"):
            resume(whole, stepping(body, manifest=manifest), Book())
        assert whole.status is RunStatus.OK
