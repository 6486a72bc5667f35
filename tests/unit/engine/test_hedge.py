"""Hedges: a call that takes longer than most is made a second time, and the first answer counts. On a virtual clock."""

import asyncio
from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Any

import pytest

from stretto.engine.hedge import copies_of
from stretto.plan.model import Fallback, ProtectionRules, Retry
from stretto.record.model import Run
from stretto.types.enums import Effect, Reason, RunStatus, StepStatus
from stretto.types.errors import Code, ComponentError
from stretto.types.messages import Request, Response, Usage
from stretto.types.protection import BreakerRule, BulkheadRule, HedgeRule, QuotaRule
from tests.unit.engine.plans import Probe, S, call, deadline
from tests.unit.engine.test_meaning import into
from tests.unit.engine.test_protection import Shop, virtually

AFTER_1_S = HedgeRule(after_s=1.0)
NOTHING = ProtectionRules()


class Replicas:
    """A component whose calls, in the order in which they come, take these times; the last one for ever after."""

    def __init__(self, *times_s: float, errors: Mapping[int, Exception] | None = None, **card: Any) -> None:
        self.times_s = list(times_s)
        self.errors = errors or {}
        self.cancelled: list[int] = []
        self.probe = Probe("api", self._answer, **card)

    async def _answer(self, request: Request) -> object:
        number = len(self.probe.requests)
        request.input["mine"] = number
        try:
            await asyncio.sleep(self.times_s[min(number, len(self.times_s)) - 1])
        except asyncio.CancelledError:
            self.cancelled.append(number)
            raise
        if number in self.errors:
            raise self.errors[number]
        return Response(output={"from": number}, usage=Usage(input_tokens=10, output_tokens=number, cost=0.5))


def shop(replicas: Replicas, hedge: HedgeRule = AFTER_1_S, rules: ProtectionRules = NOTHING, **op: Any) -> Shop:
    budget = {"budget": op.pop("budget")} if "budget" in op else {}
    return Shop(call(replicas.probe, S, hedge=hedge, **op), protections={"api": rules}, **budget)


def timed(at: Shop) -> tuple[Run, float]:
    async def main() -> tuple[Run, float]:
        began = asyncio.get_running_loop().time()
        return await at.run(), asyncio.get_running_loop().time() - began

    run, took_s = virtually(main)
    return run, round(took_s, 6)


class TestTheSecondCall:
    def test_answers_in_place_of_one_that_hangs(self) -> None:
        replicas = Replicas(100.0, 0.2)
        at = shop(replicas, timeout_s=5.0)
        run, took_s = timed(at)
        assert (run.status, took_s) == (RunStatus.OK, 1.2)
        assert run.steps[0].output_value == {"from": 2}
        assert replicas.cancelled == [1]
        assert (at.stats.calls, at.stats.attempts, at.stats.hedges, at.stats.in_flight) == (1, 2, 1, 0)

    def test_is_not_made_when_the_first_answers_in_time(self) -> None:
        replicas = Replicas(0.9)
        run, took_s = timed(shop(replicas))
        assert (took_s, len(replicas.probe.requests), run.steps[0].evidence) == (0.9, 1, {})

    def test_leaves_the_first_to_answer_when_that_is_sooner(self) -> None:
        replicas = Replicas(1.1, 5.0)
        run, took_s = timed(shop(replicas))
        assert (took_s, run.steps[0].output_value, replicas.cancelled) == (1.1, {"from": 1}, [2])

    def test_is_on_the_record_with_what_it_cost(self) -> None:
        replicas = Replicas(100.0, 0.2)
        budget = deadline(60.0, tokens=1000, cost=10.0)
        run, _ = timed(shop(replicas, budget=budget, estimate_tokens=40, estimate_cost=0.25))
        step = run.steps[0]
        assert step.evidence["hedge"] == [
            {"started_ms": 0.0, "ended_ms": 1200.0, "tokens": 40, "cost": 0.25, "estimated": True},
            {"started_ms": 1000.0, "ended_ms": 1200.0, "beside": True, "answered": True},
        ]
        assert step.attempts == ()
        assert run.retries == 1
        assert run.usage == Usage(input_tokens=10, output_tokens=2, cost=0.5)

    def test_sees_the_request_as_the_first_was_given_it(self) -> None:
        replicas = Replicas(100.0, 0.2)
        op = call(replicas.probe, S, {"of": lambda _: {"a": [1]}}, hedge=AFTER_1_S)
        virtually(Shop(op, protections={"api": NOTHING}).run)
        assert [request.input for request in replicas.probe.requests] == [
            {"of": {"a": [1]}, "mine": 1},
            {"of": {"a": [1]}, "mine": 2},
        ]
        first, second = replicas.probe.requests
        assert first.call.effect_key == second.call.effect_key

    def test_what_a_loser_answered_in_the_same_moment_is_paid_for(self) -> None:
        replicas = Replicas(100.0, 2.0, 1.0)
        run, took_s = timed(shop(replicas, HedgeRule(after_s=1.0, copies=2)))
        assert (took_s, run.steps[0].output_value) == (3.0, {"from": 2})
        assert run.usage is not None
        assert run.usage.cost == 1.0
        lost = run.steps[0].evidence["hedge"]
        assert lost == [
            {"started_ms": 0.0, "ended_ms": 3000.0},
            {"started_ms": 1000.0, "ended_ms": 3000.0, "answered": True, "beside": True},
            {"started_ms": 2000.0, "ended_ms": 3000.0, "tokens": 13, "cost": 0.5, "beside": True},
        ]

    def test_what_crossed_into_a_domain_in_the_copy_that_answered_is_on_the_record(self) -> None:
        async def answer(_request: Request) -> object:
            await asyncio.sleep(100.0 if len(probe.requests) == 1 else 0.2)
            return {"a": "find"}

        probe = Probe("api", answer)
        at = Shop(
            call(probe, S, {"a": lambda _: "FIND"}, hedge=AFTER_1_S, crossings_in=into(), crossings_out=into()),
            protections={"api": NOTHING},
        )
        step = virtually(at.run).steps[0]
        assert step.output_value == {"a": "track"}
        told: Any = step.evidence["alignments"]
        assert [note["value"] for note in told] == ["FIND", "find"]

    def test_the_copies_of_each_attempt_are_kept_and_stay_counted_when_the_run_is_resumed(self) -> None:
        gone = {n: ComponentError("gone", Code.UNAVAILABLE) for n in (1, 2)}
        replicas = Replicas(1.5, 1.0, 100.0, 0.1, errors=gone)
        run, _ = timed(shop(replicas, retry=Retry(2, base_s=0.0)))
        copies: Any = run.steps[0].evidence["hedge"]
        assert [copy.get("beside", False) for copy in copies] == [False, True, False, True]
        assert (copies_of(run.steps[0]), run.retries) == (2, 3)

    def test_one_that_fails_at_once_leaves_another_to_be_made(self) -> None:
        replicas = Replicas(100.0, 0.0, 0.5, errors={2: ComponentError("gone", Code.UNAVAILABLE)})
        run, took_s = timed(shop(replicas, HedgeRule(after_s=1.0, copies=2)))
        assert (took_s, run.steps[0].output_value) == (2.5, {"from": 3})

    def test_of_several_copies_each_waits_its_turn(self) -> None:
        replicas = Replicas(100.0, 100.0, 0.5)
        run, took_s = timed(shop(replicas, HedgeRule(after_s=1.0, copies=3)))
        assert (took_s, run.steps[0].output_value, sorted(replicas.cancelled)) == (2.5, {"from": 3}, [1, 2])


class TestWhenItIsNotMade:
    def test_a_write_is_made_once(self) -> None:
        replicas = Replicas(3.0, effects={"*": Effect.WRITE})
        _, took_s = timed(shop(replicas))
        assert (took_s, len(replicas.probe.requests)) == (3.0, 1)

    def test_of_a_component_with_several_actions_only_those_that_read_are(self) -> None:
        replicas = Replicas(3.0, 0.5, effects={"find": Effect.READ, "pay": Effect.WRITE}, action_field="what")
        for what, took_s in (("pay", 3.0), ("find", 0.5)):
            op = call(
                replicas.probe, S, {"what": partial(lambda what, _: what, what)}, hedge=AFTER_1_S, action_field="what"
            )
            assert timed(Shop(op, protections={"api": NOTHING}))[1] == took_s

    def test_the_quota_of_retries_bounds_it(self) -> None:
        replicas = Replicas(2.0)
        at = shop(replicas, rules=ProtectionRules(quota=QuotaRule(ratio=0.2, floor=3)))
        virtually(lambda: at.run_many(100, apart_s=0.01))
        assert at.stats.hedges <= 20 + 3
        assert at.stats.attempts == 100 + at.stats.hedges
        assert at.stats.amplification <= 1.23

    def test_the_runs_budget_bounds_it(self) -> None:
        replicas = Replicas(3.0)
        _, took_s = timed(shop(replicas, budget=deadline(9.0, retries=0)))
        assert (took_s, len(replicas.probe.requests)) == (3.0, 1)

    def test_a_call_that_waits_for_a_place_is_not_slow(self) -> None:
        replicas = Replicas(2.5, 0.5)
        at = shop(replicas, HedgeRule(after_s=2.0), ProtectionRules(bulkhead=BulkheadRule(limit=1, queue=9)))

        async def main() -> list[Run]:
            return await at.run_many(2)

        virtually(main)
        assert len(replicas.probe.requests) <= 3

    def test_nothing_is_hedged_while_a_breaker_tries_the_component(self) -> None:
        down = ComponentError("no route", Code.UNAVAILABLE)
        replicas = Replicas(0.1, 0.1, 3.0, errors={1: down, 2: down})
        rules = ProtectionRules(breaker=BreakerRule(min_calls=2, open_s=1.0, probes=2))
        at = shop(replicas, rules=rules)

        async def main() -> None:
            await at.run_many(2)
            await asyncio.sleep(5.0)
            await at.run()

        virtually(main)
        assert (len(replicas.probe.requests), at.stats.hedges) == (3, 0)


class TestTheUsualTime:
    def test_is_the_components_own_p95_once_it_is_known(self) -> None:
        replicas = Replicas(*[0.1 * n for n in range(20, 0, -1)], 100.0, 0.3)
        at = shop(replicas, HedgeRule())

        async def main() -> tuple[Run, float]:
            await at.run_many(20, apart_s=3.0)
            began = asyncio.get_running_loop().time()
            return await at.run(), asyncio.get_running_loop().time() - began

        run, took_s = virtually(main)
        assert (run.steps[0].output_value, round(took_s, 6)) == ({"from": 22}, 2.2)

    def test_nothing_is_hedged_before_that(self) -> None:
        replicas = Replicas(100.0)
        at = shop(replicas, HedgeRule(), timeout_s=50.0)
        virtually(at.run)
        assert len(replicas.probe.requests) == 1

    def test_is_a_millisecond_at_least(self) -> None:
        """A loop that has anything else to do is later than what answers at once."""
        replicas = Replicas(0.0)
        at = shop(replicas, HedgeRule())
        virtually(lambda: at.run_many(40, apart_s=0.1))
        assert (at.stats.calls, at.stats.hedges) == (40, 0)

    def test_losers_count_as_slow_so_that_the_hedges_do_not_feed_themselves(self) -> None:
        """Left out, they would leave only the quick ones to judge by, and ever more calls would seem slow."""
        draw = Random(1).expovariate
        replicas = Replicas(*(draw(1.0) for _ in range(4000)))
        rules = ProtectionRules(quota=QuotaRule(ratio=1.0, floor=100))
        at = shop(replicas, HedgeRule(), rules)
        virtually(lambda: at.run_many(1000, apart_s=1.0))
        assert 0.02 <= at.stats.hedges / at.stats.calls <= 0.1


class TestFailures:
    def test_a_copy_that_fails_leaves_the_first_to_answer(self) -> None:
        replicas = Replicas(3.0, 0.1, errors={2: ComponentError("no", Code.INVALID_ARGUMENT)})
        run, took_s = timed(shop(replicas))
        assert (run.status, took_s) == (RunStatus.OK, 3.0)

    def test_the_first_that_fails_for_a_while_leaves_the_copy_to_answer(self) -> None:
        replicas = Replicas(1.5, 1.0, errors={1: ComponentError("gone", Code.UNAVAILABLE)})
        run, took_s = timed(shop(replicas))
        assert (run.status, took_s, run.steps[0].output_value) == (RunStatus.OK, 2.0, {"from": 2})

    def test_the_first_that_fails_for_good_ends_them_all(self) -> None:
        replicas = Replicas(1.5, 9.0, errors={1: ComponentError("no such order", Code.NOT_FOUND)})
        run, took_s = timed(shop(replicas))
        assert (run.status, took_s, replicas.cancelled) == (RunStatus.FAILED, 1.5, [2])

    def test_when_all_fail_the_first_error_stands_and_is_tried_again(self) -> None:
        gone = {n: ComponentError(f"gone {n}", Code.UNAVAILABLE) for n in (1, 2)}
        replicas = Replicas(1.5, 1.0, 0.1, errors=gone)
        run, took_s = timed(shop(replicas, retry=Retry(2, base_s=0.0)))
        assert (run.status, took_s) == (RunStatus.OK, 2.1)
        error = run.steps[0].attempts[0].error
        assert error is not None
        assert error.message == "gone 1"

    def test_a_deadline_ends_them_all(self) -> None:
        replicas = Replicas(100.0)
        at = shop(replicas, timeout_s=3.0, fallback=Fallback(output=b'{"from": 0}'))
        run, took_s = timed(at)
        assert (run.reason, took_s, run.steps[0].status) == (Reason.TIMEOUT, 3.0, StepStatus.FALLBACK)
        assert (sorted(replicas.cancelled), at.stats.in_flight) == ([1, 2], 0)

    def test_a_run_that_is_cancelled_cancels_them_all(self) -> None:
        replicas = Replicas(100.0)
        at = shop(replicas)

        async def main() -> None:
            begun = asyncio.ensure_future(at.run())
            await asyncio.sleep(2.0)
            begun.cancel()
            await asyncio.wait([begun])
            assert begun.cancelled()

        virtually(main)
        assert (sorted(replicas.cancelled), at.stats.in_flight) == ([1, 2], 0)

    def test_one_that_is_cancelled_when_the_first_has_failed_cancels_the_copy_that_may_answer_yet(self) -> None:
        replicas = Replicas(1.5, 100.0, errors={1: ComponentError("gone", Code.UNAVAILABLE)})
        at = shop(replicas)

        async def main() -> None:
            begun = asyncio.ensure_future(at.run())
            await asyncio.sleep(2.0)
            begun.cancel()
            await asyncio.wait([begun])
            assert (begun.cancelled(), replicas.cancelled, at.stats.in_flight) == (True, [2], 0)

        virtually(main)

    @pytest.mark.parametrize(
        ("ignores", "ignores_s", "took_s", "ended_s"),
        [(1, 0.5, 1.7, 1.7), (1, 100.0, 2.2, 2.2), (2, 0.5, 2.0, 2.5), (2, 100.0, 2.0, 3.0)],
    )
    def test_a_loser_that_ignores_its_cancellation_is_left_behind_a_copy_at_once_the_first_after_a_second(
        self, ignores: int, ignores_s: float, took_s: float, ended_s: float
    ) -> None:
        ended: list[float] = []

        async def answer(_request: Request) -> object:
            number = len(probe.requests)
            if number != ignores:
                await asyncio.sleep(0.2 if number == 2 else 2.0)
                return {"from": number}
            try:
                await asyncio.sleep(100.0)
            except asyncio.CancelledError:
                await asyncio.sleep(ignores_s)
            finally:
                ended.append(asyncio.get_running_loop().time())
            return {"from": number}

        probe = Probe("api", answer)
        at = Shop(call(probe, S, hedge=AFTER_1_S), protections={"api": NOTHING})

        async def main() -> tuple[float, float]:
            began = asyncio.get_running_loop().time()
            run = await at.run()
            assert run.steps[0].output_value == {"from": 3 - ignores}
            took_s = asyncio.get_running_loop().time() - began
            await asyncio.sleep(5.0)
            return round(took_s, 6), round(ended[0] - began, 6)

        assert virtually(main) == (took_s, ended_s)
        assert at.stats.in_flight == 0

    def test_a_copy_whose_task_somebody_cancels_has_failed(self) -> None:
        tasks: list[asyncio.Task[Any]] = []

        async def answer(_request: Request) -> object:
            task = asyncio.current_task()
            assert task is not None
            tasks.append(task)
            await asyncio.sleep(3.0)
            return {"from": len(tasks)}

        at = Shop(call(Probe("api", answer), S, hedge=AFTER_1_S), protections={"api": NOTHING})

        async def main() -> Run:
            begun = asyncio.ensure_future(at.run())
            await asyncio.sleep(2.0)
            tasks[1].cancel()
            return await begun

        run: Run = virtually(main)
        assert (run.status, run.steps[0].output_value) == (RunStatus.OK, {"from": 2})


def test_a_copy_takes_and_leaves_a_place_of_its_own() -> None:
    replicas = Replicas(*[100.0, 0.2] * 20)
    at = shop(replicas, rules=ProtectionRules(bulkhead=BulkheadRule(limit=2)))
    runs: list[Run] = virtually(lambda: at.run_many(5, apart_s=3.0))
    assert {run.status for run in runs} == {RunStatus.OK}
    assert (at.stats.hedges, at.stats.in_flight) == (5, 0)
