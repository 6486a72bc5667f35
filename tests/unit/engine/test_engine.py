"""The engine on a virtual clock: order, isolation, budgets, retries, fallbacks, cancellation, records."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from stretto.engine.engine import Engine
from stretto.engine.request import RunRequest
from stretto.plan.check import Check
from stretto.plan.model import Carry, Fallback, LoopOp, MapOp, Retry, SubOp
from stretto.record.model import decoded
from stretto.testing import run_virtual
from stretto.types.budget import BudgetSpec
from stretto.types.enums import Durability, Effect, Reason, RunStatus, Scope, StepStatus
from stretto.types.errors import Code, ComponentError, InputError, UsageError
from stretto.types.json import Json
from stretto.types.learning import Reward
from stretto.types.messages import Request, Response, Usage
from tests.unit.engine.plans import (
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
    step,
)

UNAVAILABLE = ComponentError("down", Code.UNAVAILABLE)


def deadline(seconds: float, reserve: float = 0.0, **limits: Any) -> BudgetSpec:
    return BudgetSpec(deadline=timedelta(seconds=seconds), reserve=timedelta(seconds=reserve), **limits)


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

    def test_an_input_that_is_not_an_object_makes_no_run(self) -> None:
        ledger = Ledger()
        with pytest.raises(InputError):
            run(linear(), [1], ledger=ledger)  # type: ignore[arg-type]  # the bad input under test
        assert ledger.events == []


class TestBudget:
    def test_a_hanging_step_is_cancelled_at_its_time_out(self) -> None:
        cleaned: list[str] = []

        async def hang(_request: Request) -> object:
            try:
                await asyncio.Event().wait()
            finally:
                cleaned.append("yes")
            return {}

        result = run(linear(call(Probe("hang", hang), S, timeout_s=3.0)))
        assert result.status is RunStatus.FAILED
        assert result.reason is Reason.TIMEOUT
        assert result.duration_ms == 3000.0
        assert cleaned == ["yes"]

    def test_a_component_that_ignores_cancellation_is_abandoned_after_a_grace(self) -> None:
        async def stubborn(_request: Request) -> object:
            while True:
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    continue

        result = run(linear(call(Probe("stubborn", stubborn), S, timeout_s=3.0)))
        assert result.reason is Reason.TIMEOUT
        assert result.duration_ms == 4000.0

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

    def test_the_wait_before_a_retry_is_full_jitter(self) -> None:
        rule = Retry(max_attempts=9, base_s=1.0, cap_s=4.0)
        assert [rule.delay_s(n, UNAVAILABLE, 0.5) for n in (1, 2, 3, 4)] == [0.5, 1.0, 2.0, 2.0]


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


def each(body_op: Any, **fields: Any) -> MapOp:
    return MapOp(
        **{
            "name": "each", "slot": S, "over": read(0, "items"), "over_source": "input.items", "item_slot": S + 1,
            "index_slot": S + 2, "body": linear(body_op), "result": read(body_op.slot), "max_parallel": 2, **fields,
        }
    )  # fmt: skip


class TestMap:
    def test_results_are_in_item_order_whatever_finishes_first(self) -> None:
        async def answer(request: Request) -> object:
            value = request.input["n"]
            assert isinstance(value, int)
            await asyncio.sleep(10 - value)
            return {"n": value}

        body = each(call(Probe("one", answer), S + 3, {"n": read(S + 1)}), max_parallel=3)
        result = run(linear(body), {"items": [1, 2, 3]}, output={"all": read(S, "items")})
        assert decoded(result.output) == {"all": [{"n": 1}, {"n": 2}, {"n": 3}]}
        assert {record.path for record in result.steps} == {"each[0]/one", "each[1]/one", "each[2]/one", "each"}

    def test_no_more_than_max_parallel_are_in_flight(self) -> None:
        result = run(linear(each(call(sleeping("one", 1.0), S + 3))), {"items": list(range(5))})
        assert result.duration_ms == 3000.0

    def test_a_failed_item_reads_null_where_the_map_tolerates_it(self) -> None:
        flaky = failing("one", ComponentError("no", Code.INTERNAL), {"v": 1})
        body = each(call(flaky, S + 3), max_parallel=1, null_on_error=True)
        result = run(linear(body), {"items": [1, 2]}, output={"all": read(S, "items")})
        assert decoded(result.output) == {"all": [None, {"v": 1}]}
        assert result.status is RunStatus.DEGRADED
        assert step(result, "each").evidence == {"failed_items": [0]}

    @pytest.mark.parametrize("items", [3, "abc", {"a": 1}])
    def test_a_value_that_is_not_a_list_fails_the_step(self, items: object) -> None:
        result = run(linear(each(call(returning("one", {}), S + 3))), {"items": items})
        assert result.error is not None
        assert "is not a list" in result.error.message
        assert [record.path for record in result.steps] == ["each"]


class TestLoop:
    def loop(self, **fields: Any) -> LoopOp:
        async def add(request: Request) -> object:
            value = request.input["n"]
            assert isinstance(value, int)
            return {"n": value + 1}

        carry = Carry(name="n", slot=S + 1, start=read(0, "n"), next=read(S + 3, "n"))
        body = linear(call(Probe("add", add), S + 3, {"n": read(S + 1)}))
        return LoopOp(
            **{
                "name": "loop", "slot": S, "body": body, "carries": (carry,), "round_slot": S + 2, "until": None,
                "until_source": "", "max_rounds": 4, "results": (("add", S + 3),), **fields,
            }
        )  # fmt: skip

    def test_it_stops_at_max_rounds_and_says_that_it_is_not_done(self) -> None:
        result = run(linear(self.loop()), {"n": 0}, output={"loop": read(S)})
        assert decoded(result.output)["loop"] == {
            "last": {"add": {"n": 4}}, "rounds": 4, "done": False, "carry": {"n": 4},
        }  # fmt: skip

    def test_it_stops_when_its_condition_holds(self) -> None:
        result = run(linear(self.loop(until=lambda frame: frame[S + 3]["n"] == 2)), {"n": 0}, output={"loop": read(S)})
        assert decoded(result.output)["loop"]["rounds"] == 2
        assert [record.path for record in result.steps] == ["loop[1]/add", "loop[2]/add", "loop"]

    def test_its_condition_sees_what_the_round_carried_on(self) -> None:
        result = run(linear(self.loop(until=lambda frame: frame[S + 1] == 2)), {"n": 0}, output={"loop": read(S)})
        assert decoded(result.output)["loop"]["rounds"] == 2


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

    @pytest.mark.parametrize("answer", [{"x": 1}, ValueError("in cleaning up"), ComponentError("no", Code.ABORTED)])
    def test_after_a_cancellation_nothing_more_is_begun_whatever_the_component_says(self, answer: object) -> None:
        ledger = Ledger()
        last, card = returning("last", {}), returning("card", {})

        async def stay(_request: Request) -> object:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                if isinstance(answer, Exception):
                    raise answer from None
            return answer

        async def main() -> None:
            op = call(Probe("stay", stay), S, retry=Retry(3), fallback=Fallback(op=call(card, S + 1)))
            body = linear(op, call(last, S + 2))
            task = asyncio.ensure_future(Engine(ledger).run(plan(body), RunRequest(input={})))
            await asyncio.sleep(1.0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        run_virtual(main())
        assert ledger.runs[0].status is RunStatus.CANCELLED
        assert [record.path for record in ledger.runs[0].steps] == ["stay"]
        assert (last.requests, card.requests) == ([], [])

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

    def test_an_item_that_cancels_its_own_task_fails_the_map(self) -> None:
        async def stop(request: Request) -> object:
            task = asyncio.current_task()
            assert task is not None
            if request.input["n"] == 2:
                task.cancel()
            await asyncio.sleep(1)
            return {}

        result = run(linear(each(call(Probe("stop", stop), S + 3, {"n": read(S + 1)}))), {"items": [1, 2, 3]})
        assert (result.status, result.reason) == (RunStatus.FAILED, Reason.CANCELLED)
        assert result.error is not None
        assert "step 'each[1]' cancelled the task" in result.error.message

    def test_a_session_whose_opening_ignores_cancellation_is_abandoned_too(self) -> None:
        class Stubborn(Probe):
            async def open_run(self, _run: object) -> None:
                while True:
                    try:
                        await asyncio.sleep(100)
                    except asyncio.CancelledError:
                        continue

        component = Stubborn("slow", returning("slow", {}), scope=Scope.RUN)
        result = run(linear(call(component, S, timeout_s=2.0, per_run=True)))
        assert result.reason is Reason.TIMEOUT
        assert result.duration_ms == 3000.0

    def test_an_answer_over_a_time_out_is_late_and_not_said_to_have_held_the_loop(self) -> None:
        async def cling(_request: Request) -> object:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                return {"x": 1}
            return {}

        result = run(linear(call(Probe("cling", cling), S, timeout_s=2.0)))
        assert result.reason is Reason.TIMEOUT
        assert result.error is not None
        assert "did not answer within 2 s" in result.error.message

    def test_a_cancellation_that_nobody_asked_for_is_the_components_own_failure(self) -> None:
        result = run(linear(call(failing("odd", asyncio.CancelledError()), S)))
        assert result.status is RunStatus.FAILED
        assert result.error is not None
        assert "nobody had cancelled the step" in result.error.message


class TestRequest:
    @pytest.mark.parametrize(
        "wrong",
        [{"seed": 2**63}, {"seed": True}, {"labels": {"task": 3}}, {"tenant": "\ud800"}, {"memory": [1]}],
    )
    def test_what_no_record_could_hold_is_refused_before_anything_is_run(self, wrong: dict[str, Any]) -> None:
        ledger = Ledger()
        with pytest.raises(UsageError, match=r"expected|no text"):
            run(linear(), ledger=ledger, request=wrong)
        assert ledger.events == []


class TestNestedCalls:
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
