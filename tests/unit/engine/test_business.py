"""A run always answers: what its fallback is asked, when, and what it must not paper over; on a virtual clock."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from stretto.engine.engine import Engine
from stretto.engine.request import RunRequest
from stretto.engine.standby import Standbys
from stretto.engine.streak import StreakState
from stretto.plan.check import Check
from stretto.plan.meaning import Crossing, Domain
from stretto.plan.model import RUN, BusinessFallback, CallOp, Fallback, Frame, Plan
from stretto.record.model import Run, decoded
from stretto.testing import VirtualLoop, run_virtual
from stretto.types.budget import BudgetSpec
from stretto.types.enums import Durability, Effect, Reason, RunStatus
from stretto.types.errors import (
    BreakerOpenError,
    BudgetError,
    Code,
    ComponentError,
    ContractError,
    RejectedError,
    ShedError,
    StrettoError,
)
from stretto.types.json import Json
from stretto.types.messages import Request, Response, Usage
from stretto.types.protection import StreakRule
from tests.unit.engine.books import LOST, WRITE, Book, killed, resume, stepping
from tests.unit.engine.plans import (
    Ledger,
    Probe,
    S,
    call,
    deadline,
    deaf,
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

DOWN = ComponentError("down", Code.UNAVAILABLE)
ANSWER = S + 20


def business(component: Probe, *, rule: StreakRule | None = None, **fields: Any) -> BusinessFallback:
    op = call(component, ANSWER, fields.pop("asks", None), name="fallback")
    return BusinessFallback(
        **{"op": op, "is_mapped": bool(op.inputs), "streak": rule or StreakRule(after=1000), **fields}
    )


def answered(*ops: CallOp, by: BusinessFallback, **fields: Any) -> Plan:
    return plan(linear(*ops), business=by, **fields)


class House:
    """An engine whose runs know of each other, on the virtual clock."""

    def __init__(self, standbys: Standbys | None = None) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self.loop = loop
        self.standbys = standbys or Standbys()
        self.ledger = Ledger()
        self.engine = Engine(self.ledger, clock=loop, standbys=self.standbys)

    async def run(self, what: Plan, **request: Any) -> Run:
        return await self.engine.run(what, RunRequest(input={"risk": "low"}, **request))


def one(what: Plan, **request: Any) -> Run:
    async def main() -> Run:
        return await House().run(what, **request)

    return run_virtual(main())


class TestAnswer:
    def test_a_failed_run_is_answered_and_keeps_why_it_failed(self) -> None:
        rules = returning("rules", {"text": "call us"})
        run = one(answered(call(failing("planner", DOWN), S), by=business(rules)))
        assert run.status is RunStatus.BUSINESS_FALLBACK
        assert run.reason is Reason.ERROR
        assert run.error is not None
        assert run.error.path == "planner"
        assert decoded(run.output) == {"text": "call us"}
        assert [record.path for record in run.steps] == ["planner", "fallback"]
        assert rules.requests[0].input == {"risk": "low"}
        assert run.answered
        assert not run.succeeded

    def test_it_is_told_why_the_run_failed(self) -> None:
        rules = returning("rules", {})
        by = business(rules, asks={"why": read(RUN, "failure"), "id": read(RUN, "id")})
        run = one(answered(call(failing("planner", DOWN), S), by=by))
        assert rules.requests[0].input == {
            "why": {
                "step": "planner",
                "component": "planner",
                "reason": "error",
                "code": "component",
                "message": "down",
            },
            "id": run.id,
        }

    def test_its_answer_may_be_mapped(self) -> None:
        by = business(returning("rules", {"text": "x"}), output=(("response", read(ANSWER, "text")),))
        run = one(answered(call(failing("planner", DOWN), S), by=by))
        assert decoded(run.output) == {"response": "x"}

    def test_a_run_that_answers_never_asks_it(self) -> None:
        rules = returning("rules", {})
        run = one(answered(call(returning("planner", {"x": 1}), S), by=business(rules), output={"x": read(S, "x")}))
        assert run.status is RunStatus.OK
        assert rules.requests == []

    def test_an_output_that_breaks_the_contract_is_answered_over(self) -> None:
        what = answered(
            call(returning("planner", {"text": 1}), S),
            by=business(returning("rules", {"text": "x"})),
            output={"text": read(S, "text")},
            output_check=Check({"type": "object", "properties": {"text": {"type": "string"}}}),
        )
        run = one(what)
        assert run.status is RunStatus.BUSINESS_FALLBACK
        assert run.reason is Reason.CONTRACT
        assert decoded(run.output) == {"text": "x"}

    def test_a_fallback_that_fails_fails_the_run_of_both(self) -> None:
        run = one(answered(call(failing("planner", DOWN), S), by=business(failing("rules", RuntimeError("gone")))))
        assert run.status is RunStatus.FAILED
        assert run.error is not None
        assert run.error.path == "planner"
        assert "down; and the workflow's fallback" in run.error.message
        assert "gone" in run.error.message

    def test_spent_tokens_do_not_keep_it_from_answering(self) -> None:
        async def spends(_request: Request) -> object:
            return Response(output={}, usage=Usage(input_tokens=10, output_tokens=0))

        what = answered(
            call(Probe("first", spends), S),
            call(returning("second", {}), S + 1),
            by=business(returning("rules", {"text": "x"})),
            budget=BudgetSpec(tokens=5),
        )
        run = one(what)
        assert run.status is RunStatus.BUSINESS_FALLBACK
        assert run.reason is Reason.BUDGET


class TestDeadline:
    def test_a_run_that_would_expire_is_answered_within_the_reserve(self) -> None:
        what = answered(
            call(sleeping("planner", 60.0), S),
            by=business(sleeping("rules", 0.2, {"text": "x"})),
            budget=deadline(2.0, reserve=0.5),
        )
        run = one(what)
        assert run.status is RunStatus.BUSINESS_FALLBACK
        assert run.reason is Reason.BUDGET
        assert run.duration_ms == 1700.0

    def test_a_component_that_ignores_cancellation_leaves_it_half_of_the_reserve(self) -> None:
        what = answered(
            call(Probe("planner", deaf), S),
            by=business(sleeping("rules", 0.1, {"text": "x"})),
            budget=deadline(2.0, reserve=0.4),
        )
        run = one(what)
        assert run.status is RunStatus.BUSINESS_FALLBACK
        assert run.duration_ms == 1900.0

    def test_parallel_branches_that_ignore_it_do_so_too(self) -> None:
        body = graph([call(Probe("one", deaf), S), call(Probe("two", deaf), S + 1)], [])
        run = one(plan(body, business=business(returning("rules", {})), budget=deadline(2.0, reserve=0.5)))
        assert run.status is RunStatus.BUSINESS_FALLBACK
        assert run.duration_ms <= 2000.0

    @pytest.mark.parametrize(("seconds", "reserved"), [(2.0, 0.2), (60.0, 1.0)])
    def test_a_deadline_without_a_reserve_keeps_a_part_of_itself(self, seconds: float, reserved: float) -> None:
        what = answered(
            call(sleeping("planner", 100.0), S), by=business(returning("rules", {})), budget=deadline(seconds)
        )
        run = one(what)
        assert run.status is RunStatus.BUSINESS_FALLBACK
        assert run.duration_ms == pytest.approx((seconds - reserved) * 1000)

    def test_a_fallback_that_hangs_ends_with_the_deadline(self) -> None:
        what = answered(
            call(failing("planner", DOWN), S), by=business(sleeping("rules", 60.0)), budget=deadline(2.0, reserve=0.5)
        )
        run = one(what)
        assert run.status is RunStatus.FAILED
        assert run.duration_ms == 2000.0

    @pytest.mark.parametrize(
        ("held_s", "answers_s", "status"), [(3.0, 0.0, "ok"), (1.95, 0.1, "ok"), (3.0, 0.3, "late")]
    )
    def test_where_the_event_loop_was_held_it_answers_late(self, held_s: float, answers_s: float, status: str) -> None:
        async def holds_it(_request: Request) -> object:
            loop = asyncio.get_running_loop()
            assert isinstance(loop, VirtualLoop)
            loop._jumping.now += held_s  # as a call that blocks does
            return {}

        rules = sleeping("rules", answers_s, {"text": "x"})
        run = one(answered(call(Probe("planner", holds_it), S), by=business(rules), budget=deadline(2.0, reserve=0.4)))
        assert run.error is not None
        assert "it blocked the event loop" in run.error.message
        if status == "ok":
            assert run.status is RunStatus.BUSINESS_FALLBACK
            assert run.duration_ms == pytest.approx((held_s + answers_s) * 1000)
        else:  # it has what is left of the reserve at least, and no more
            assert run.status is RunStatus.EXPIRED
            assert run.duration_ms == pytest.approx(3200.0)


class TestNotPaperedOver:
    def test_a_write_in_doubt_parks_the_run(self) -> None:
        rules = returning("rules", {})
        run = one(answered(call(failing("pay", LOST, effects=WRITE), S, effect=Effect.WRITE), by=business(rules)))
        assert run.status is RunStatus.PARKED
        assert rules.requests == []

    def test_a_cancelled_run_is_cancelled(self) -> None:
        rules = returning("rules", {})

        async def main() -> House:
            house = House()
            task = asyncio.create_task(house.run(answered(call(sleeping("planner", 60.0), S), by=business(rules))))
            await asyncio.sleep(1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return house

        house = run_virtual(main())
        assert house.ledger.runs[0].status is RunStatus.CANCELLED
        assert rules.requests == []

    def test_one_that_is_cancelled_while_its_fallback_answers_is_cancelled_too(self) -> None:
        async def over_it(_request: Request) -> object:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
            return {"text": "call us"}

        async def main() -> House:
            house = House()
            what = answered(call(failing("planner", DOWN), S), by=business(Probe("rules", over_it)))
            task = asyncio.create_task(house.run(what))
            await asyncio.sleep(1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return house

        assert run_virtual(main()).ledger.runs[0].status is RunStatus.CANCELLED

    def test_a_replay_that_cannot_be_made_has_failed(self) -> None:
        rules = returning("rules", {})
        pays = call(failing("pay", LOST, effects=WRITE), S + 1, effect=Effect.WRITE)
        what = answered(call(failing("planner", DOWN), S), pays, by=business(rules))

        async def main() -> Run:
            house = House()
            first = await house.run(what)
            assert first.status is RunStatus.BUSINESS_FALLBACK
            well = answered(call(returning("planner", {}), S), pays, by=business(rules))
            return await house.engine.replay(well, first, RunRequest(input={"risk": "low"}), outputs={})

        run = run_virtual(main())
        assert run.status is RunStatus.FAILED
        assert run.error is not None
        assert run.error.code == "replay"


class TestResume:
    def test_an_interrupted_run_that_fails_when_it_goes_on_is_answered(self) -> None:
        first, second, rules = (
            returning("first", {"x": 1}),
            failing("second", {}, DOWN),
            returning("rules", {"by": "x"}),
        )
        by = business(rules, asks={"x": read(S, "x")})
        body = linear(call(first, S), call(second, S + 1))
        whole = run(body, business=by, durability=Durability.STEP)
        again = resume(killed(whole, steps=1), stepping(body, business=by), Book())
        assert again.status is RunStatus.BUSINESS_FALLBACK
        assert len(first.requests) == 1
        assert rules.requests[0].input == {"x": 1}

    def test_one_that_was_interrupted_after_the_answer_is_not_answered_twice(self) -> None:
        planner, rules = failing("planner", DOWN), returning("rules", {"by": "rules"})
        by, body = business(rules), linear(call(planner, S))
        whole = run(body, {"risk": "low"}, business=by, durability=Durability.STEP)
        again = resume(killed(whole, steps=2), stepping(body, business=by), Book())
        assert again.status is RunStatus.BUSINESS_FALLBACK
        assert decoded(again.output) == {"by": "rules"}
        assert len(planner.requests) == 2
        assert len(rules.requests) == 1


class TestInARow:
    RULE = StreakRule(after=3, retry_after_s=60.0)

    def made(self, outcomes: object, main: Callable[[House, Plan, Probe], Any]) -> Any:
        planner = failing("planner", *outcomes) if isinstance(outcomes, tuple) else failing("planner", outcomes)
        what = answered(call(planner, S), by=business(returning("rules", {"by": "rules"}), rule=self.RULE))

        async def go() -> Any:
            return await main(House(), what, planner)

        return run_virtual(go())

    def test_after_three_it_answers_without_trying(self) -> None:
        async def main(house: House, what: Plan, planner: Probe) -> list[Run]:
            runs = [await house.run(what) for _ in range(5)]
            assert len(planner.requests) == 3
            assert house.standbys.stats(what, {}).workflow is not None
            return runs

        runs = self.made(DOWN, main)
        assert [run.status for run in runs] == [RunStatus.BUSINESS_FALLBACK] * 5
        assert [run.reason for run in runs] == [Reason.ERROR] * 3 + [Reason.BREAKER] * 2
        last = runs[-1]
        assert [record.path for record in last.steps] == ["fallback"]
        assert "'test' is not tried: 3 runs in a row failed, the last so: down" in last.error.message

    def test_texts_that_mean_nothing_do_not_make_a_row(self) -> None:
        domain = Domain(name="intent", values=("track",))
        crossing = Crossing(at="planner.said", path=("said",), domain=domain, exact={"track": "track"})
        said: list[Json] = [*["nonsense"] * 5, "track"]
        planner = returning("planner", {})
        asks = {"said": lambda _: said.pop(0)}
        rules = business(returning("rules", {"by": "rules"}), rule=self.RULE)
        what = answered(call(planner, S, asks, crossings_in=(crossing,)), by=rules)

        async def main() -> list[Run]:
            house = House()
            return [await house.run(what) for _ in range(6)]

        runs = run_virtual(main())
        assert [run.status for run in runs] == [RunStatus.BUSINESS_FALLBACK] * 5 + [RunStatus.OK]
        assert {run.reason for run in runs[:5]} == {Reason.CONTRACT}

    @pytest.mark.parametrize(
        "refusal",
        [
            ComponentError("no such order", Code.NOT_FOUND),
            ComponentError("not yours", Code.PERMISSION_DENIED),
            ShedError("full"),
        ],
    )
    def test_what_says_nothing_of_the_workflow_makes_no_row(self, refusal: ComponentError) -> None:
        planner = failing("planner", *[refusal] * 4, {})
        rules = business(returning("rules", {"by": "rules"}), rule=self.RULE)

        async def main() -> list[Run]:
            house = House()
            return [await house.run(answered(call(planner, S), by=rules)) for _ in range(5)]

        runs = run_virtual(main())
        assert [run.status for run in runs] == [RunStatus.BUSINESS_FALLBACK] * 4 + [RunStatus.OK]

    @pytest.mark.parametrize(
        "error",
        [
            ContractError("misfit"),
            RejectedError("empty"),
            BudgetError("spent"),
            BreakerOpenError("shut", retry_after_s=1.0),
        ],
    )
    def test_an_answer_that_is_none_makes_a_row(self, error: StrettoError) -> None:
        async def main(house: House, what: Plan, _planner: Probe) -> list[Run]:
            return [await house.run(what) for _ in range(4)]

        assert self.made(error, main)[-1].reason is Reason.BREAKER

    def test_a_trial_that_answers_ends_it(self) -> None:
        async def main(house: House, what: Plan, planner: Probe) -> list[Run]:
            runs = [await house.run(what) for _ in range(4)]
            await asyncio.sleep(60)
            runs += [await house.run(what) for _ in range(2)]
            return runs

        runs = self.made((DOWN, DOWN, DOWN, {}), main)
        assert [run.status for run in runs[4:]] == [RunStatus.OK] * 2

    def test_a_trial_that_fails_waits_twice_as_long(self) -> None:
        async def main(house: House, what: Plan, planner: Probe) -> int:
            for _ in range(3):
                await house.run(what)
            await asyncio.sleep(60)
            await house.run(what)
            await asyncio.sleep(119)
            await house.run(what)
            assert len(planner.requests) == 4
            await asyncio.sleep(1)
            await house.run(what)
            return len(planner.requests)

        assert self.made(DOWN, main) == 5

    def test_while_one_is_tried_the_others_are_answered(self) -> None:
        async def main(house: House, what: Plan, planner: Probe) -> None:
            for _ in range(3):
                await house.run(what)
            await asyncio.sleep(60)
            slow = answered(call(sleeping("planner", 10.0), S), by=what.business)  # type: ignore[arg-type]
            trial = asyncio.create_task(house.run(slow))
            await asyncio.sleep(1)
            other = await house.run(slow)
            assert other.reason is Reason.BREAKER
            assert (await trial).status is RunStatus.OK
            assert (await house.run(slow)).status is RunStatus.OK

        self.made(DOWN, main)

    def test_a_trial_that_is_cancelled_blocks_nobody(self) -> None:
        async def main(house: House, what: Plan, planner: Probe) -> None:
            for _ in range(3):
                await house.run(what)
            await asyncio.sleep(60)
            slow = answered(call(sleeping("planner", 10.0), S), by=what.business)  # type: ignore[arg-type]
            trial = asyncio.create_task(house.run(slow))
            await asyncio.sleep(1)
            trial.cancel()
            await asyncio.wait([trial])
            assert (await house.run(slow)).status is RunStatus.OK

        self.made(DOWN, main)

    def test_a_degraded_run_is_no_failure(self) -> None:
        planner = call(failing("planner", DOWN), S, fallback=Fallback(output=b"{}"))

        async def main() -> StreakState | None:
            house = House()
            what = answered(planner, by=business(returning("rules", {}), rule=self.RULE))
            for _ in range(5):
                assert (await house.run(what)).status is RunStatus.DEGRADED
            stats = house.standbys.stats(what, {})
            assert stats.workflow is not None
            assert stats.workflow.triggered == 0
            assert stats.components["planner"].reasons == {Reason.ERROR: 5}
            return stats.workflow.state

        assert run_virtual(main()) is StreakState.TRYING

    def test_who_brings_too_small_a_budget_says_nothing_to_others(self) -> None:
        async def main() -> StreakState | None:
            house = House()
            what = answered(call(sleeping("planner", 1.0), S), by=business(returning("rules", {}), rule=self.RULE))
            for _ in range(5):
                run = await house.run(what, budget=deadline(0.5))
                assert run.status is RunStatus.BUSINESS_FALLBACK
            stats = house.standbys.stats(what, {}).workflow
            assert stats is not None
            assert stats.reasons == {Reason.BUDGET: 5}
            return stats.state

        assert run_virtual(main()) is StreakState.TRYING

    def test_another_version_is_tried_on_its_own(self) -> None:
        async def main(house: House, what: Plan, planner: Probe) -> None:
            for _ in range(3):
                await house.run(what)
            other = answered(call(returning("planner", {}), S), by=what.business, manifest_digest="1" * 64)  # type: ignore[arg-type]
            assert (await house.run(other)).status is RunStatus.OK

        self.made(DOWN, main)

    def test_a_replay_is_made_whatever_the_runs_before_came_to(self) -> None:
        async def main(house: House, what: Plan, planner: Probe) -> Run:
            runs = [await house.run(what) for _ in range(4)]
            again = await house.engine.replay(what, runs[3], RunRequest(input={"risk": "low"}), outputs={})
            stats = house.standbys.stats(what, {}).workflow
            assert stats is not None
            assert stats.triggered == 4
            return again

        again = self.made((DOWN, DOWN, DOWN, {}), main)
        assert again.status is RunStatus.OK

    def test_a_replay_of_an_answered_run_is_answered_alike(self) -> None:
        async def main(house: House, what: Plan, planner: Probe) -> tuple[Run, Run]:
            run = await house.run(what)
            return run, await house.engine.replay(what, run, RunRequest(input={"risk": "low"}), outputs={})

        run, again = self.made(DOWN, main)
        assert again.status is RunStatus.BUSINESS_FALLBACK
        assert bytes(again.output) == bytes(run.output)
        assert step(again, "fallback").reused_from == run.id
        assert step(again, "planner").reused_from == ""

    def test_runs_that_know_of_no_others_are_all_tried(self) -> None:
        planner = failing("planner", DOWN)
        what = answered(call(planner, S), by=business(returning("rules", {}), rule=self.RULE))

        async def main() -> None:
            house = House()
            house.engine = Engine(Ledger(), clock=house.loop)
            for _ in range(5):
                assert (await house.run(what)).reason is Reason.ERROR

        run_virtual(main())
        assert len(planner.requests) == 5


def test_the_frame_of_the_run_is_what_its_fallback_reads() -> None:
    seen: list[object] = []

    def late(frame: Frame) -> Any:
        seen.append(list(frame[S : S + 2]))
        return frame[S]

    by = business(returning("rules", {}), asks={"first": late})
    what = answered(call(returning("first", {"x": 1}), S), call(failing("second", DOWN), S + 1), by=by)
    one(what)
    assert seen == [[{"x": 1}, None]]
