"""A component's breaker, bulkhead and quota, as runs meet them. On a virtual clock."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from stretto.engine.engine import Engine
from stretto.engine.protection_stats import ProtectionStats
from stretto.engine.request import RunRequest
from stretto.plan.model import CallOp, Fallback, ProtectionRules, Retry
from stretto.record.model import Run
from stretto.testing import run_virtual
from stretto.types.enums import Durability, Effect, Reason, RunStatus, StepStatus
from stretto.types.errors import Code, ComponentError, ContractError
from stretto.types.messages import Request, Response, Usage
from stretto.types.protection import BreakerRule, BulkheadRule, QuotaRule
from tests.unit.engine.plans import Ledger, Probe, S, call, deadline, failing, linear, plan, returning, sleeping

DOWN = ComponentError("no route", Code.UNAVAILABLE)
THREE = Retry(3, base_s=0.0)
ANSWER = Fallback(output=b'{"text": "later"}')


class Shop:
    """One engine, whose runs share what protects component ``api``."""

    def __init__(self, op: CallOp, **budget: Any) -> None:
        self.ledger = Ledger()
        self.engine = Engine(self.ledger)
        self._plan = plan(linear(op), components={"api": op.component}, **budget)

    @property
    def stats(self) -> ProtectionStats:
        return self.engine.protections.stats["api"]

    async def run(self) -> Run:
        return await self.engine.run(self._plan, RunRequest(input={}))

    async def run_many(self, count: int, apart_s: float = 0.0) -> list[Run]:
        """Runs begun one after another, some time apart, in the order in which they began."""
        begun = []
        for _ in range(count):
            begun.append(asyncio.ensure_future(self.run()))
            await asyncio.sleep(apart_s)
        return list(await asyncio.gather(*begun))


def shop(probe: Probe, rules: ProtectionRules, *, budget: Any = None, **op: Any) -> Shop:
    fields: dict[str, Any] = {} if budget is None else {"budget": budget}
    return Shop(call(probe, S, **op), protections={"api": rules}, **fields)


def virtually(main: Callable[[], Awaitable[Any]]) -> Any:
    async def started() -> Any:
        return await main()

    return run_virtual(started())


class TestQuota:
    def test_retries_of_many_runs_are_a_part_of_their_calls(self) -> None:
        probe = failing("api", DOWN)
        at = shop(probe, ProtectionRules(quota=QuotaRule(ratio=0.2, floor=3)), retry=THREE)
        runs = virtually(lambda: at.run_many(100))
        assert {run.status for run in runs} == {RunStatus.FAILED}
        assert len(probe.requests) == at.stats.attempts <= 100 + 20 + 3
        assert (at.stats.calls, at.stats.retries) == (100, len(probe.requests) - 100)
        assert at.stats.amplification <= 1.23
        alone = [run.steps[0] for run in runs if len(run.steps[0].attempts) == 1]
        assert alone
        assert all("the quota of component 'api' is used up" in str(step.evidence["retry_withheld"]) for step in alone)
        assert at.stats.retries_refused > 0

    def test_a_lone_run_has_all_its_retries(self) -> None:
        probe = failing("api", DOWN, DOWN, {"text": "here"})
        run = virtually(shop(probe, ProtectionRules(), retry=THREE).run)
        assert (run.status, run.retries, len(run.steps[0].attempts)) == (RunStatus.OK, 2, 3)

    def test_what_the_runs_budget_refuses_is_not_taken_from_the_quota(self) -> None:
        at = shop(failing("api", DOWN), ProtectionRules(), retry=THREE, budget=deadline(9.0, retries=0))
        virtually(lambda: at.run_many(3))
        assert (at.stats.retries, at.stats.retries_refused) == (0, 0)


class TestBreaker:
    RULES = ProtectionRules(breaker=BreakerRule(min_calls=4, open_s=10.0, probes=1))

    def test_a_component_that_fails_is_asked_no_more_and_the_fallback_says_why(self) -> None:
        probe = failing("api", DOWN)
        at = shop(probe, self.RULES, fallback=ANSWER)
        runs = virtually(lambda: at.run_many(20, apart_s=0.1))
        assert len(probe.requests) == 4
        assert {run.status for run in runs} == {RunStatus.DEGRADED}
        assert [run.reason for run in runs] == [Reason.ERROR] * 4 + [Reason.BREAKER] * 16
        assert (at.stats.refused, at.stats.state) == (16, "open")
        error = runs[-1].steps[0].error
        assert error is not None
        assert error.code == "component.breaker_open"
        assert "component 'api' is not asked: of its last 4 calls 4 failed and 0 were slow" in error.message
        assert "it is tried again in 8.4 s" in error.message

    def test_it_is_tried_again_and_heard_when_it_has_recovered(self) -> None:
        probe = failing("api", *[DOWN] * 4, {"text": "here"})
        at = shop(probe, self.RULES)
        runs = virtually(lambda: at.run_many(20, apart_s=1.0))
        assert [run.status for run in runs[:4]] == [RunStatus.FAILED] * 4
        assert [run.status for run in runs[4:13]] == [RunStatus.FAILED] * 9
        assert {run.status for run in runs[13:]} == {RunStatus.OK}
        assert at.stats.state == "closed"

    def test_a_refusal_is_not_tried_again_at_once(self) -> None:
        probe = failing("api", DOWN)
        rules = dataclasses.replace(self.RULES, quota=QuotaRule(floor=9))
        at = shop(probe, rules, retry=Retry(9, base_s=0.0, codes=frozenset(Code)))
        (run,) = virtually(lambda: at.run_many(1))
        assert [attempt.error is not None and attempt.error.code for attempt in run.steps[0].attempts] == [
            *["component"] * 4,
            "component.breaker_open",
        ]

    @pytest.mark.parametrize(
        ("outcome", "opens"),
        [
            (ComponentError("no such order", Code.NOT_FOUND), False),
            (ComponentError("not yours", Code.PERMISSION_DENIED), False),
            (ComponentError("deadlock", Code.ABORTED), False),
            (ComponentError("gone", Code.UNAVAILABLE), True),
            (ComponentError("cannot be reached", Code.UNAVAILABLE, sent=False), True),
            (asyncio.CancelledError(), True),
            (ComponentError("too many", Code.RESOURCE_EXHAUSTED), True),
            (ContractError("no object"), True),
            (ValueError("a bug"), True),
            ("text where an object is promised", True),
        ],
    )
    def test_only_what_says_something_of_the_component_counts(self, outcome: object, opens: bool) -> None:
        at = shop(failing("api", outcome), self.RULES)
        virtually(lambda: at.run_many(5))
        assert at.stats.state == ("open" if opens else "closed")

    def test_a_component_that_hangs_opens_it(self) -> None:
        at = shop(sleeping("api", 100.0), self.RULES, timeout_s=1.0)
        runs = virtually(lambda: at.run_many(6, apart_s=1.1))
        assert [run.reason for run in runs] == [Reason.TIMEOUT] * 4 + [Reason.BREAKER] * 2

    def test_a_probe_that_takes_longer_than_its_lease_but_not_than_its_time_out_closes_it(self) -> None:
        slow = {"text": "here"}
        outcomes: list[object] = [DOWN] * 4

        async def answer(_request: Request) -> object:
            if outcomes:
                raise outcomes.pop()  # type: ignore[misc]  # an error
            await asyncio.sleep(60.0)
            return slow

        rules = ProtectionRules(breaker=BreakerRule(min_calls=4, open_s=1.0, probes=1, lease_s=5.0))
        at = shop(Probe("api", answer), rules, timeout_s=90.0)
        runs = virtually(lambda: at.run_many(6, apart_s=0.5))
        assert [run.status for run in runs] == [RunStatus.FAILED] * 5 + [RunStatus.OK]
        assert at.stats.state == "closed"

    def test_a_cancelled_run_says_nothing_of_the_component(self) -> None:
        at = shop(sleeping("api", 100.0), self.RULES)

        async def main() -> None:
            begun = [asyncio.ensure_future(at.run()) for _ in range(9)]
            await asyncio.sleep(1.0)
            for task in begun:
                task.cancel()
            await asyncio.wait(begun)

        virtually(main)
        assert (at.stats.state, at.stats.in_flight) == ("closed", 0)

    def test_a_write_that_is_refused_was_not_sent(self) -> None:
        pay = failing("api", ComponentError("no", Code.RESOURCE_EXHAUSTED), effects={"*": Effect.WRITE})
        at = Shop(call(pay, S), protections={"api": self.RULES}, durability=Durability.STEP)
        runs = virtually(lambda: at.run_many(6))
        assert [run.reason for run in runs] == [Reason.CONGESTION] * 4 + [Reason.BREAKER] * 2
        assert at.ledger.events.count(("intent", "api")) == 4

    def test_writes_that_hang_open_it_though_each_is_in_doubt_and_a_probe_that_hangs_does_not_close_it(self) -> None:
        pay = sleeping("api", 100.0, effects={"*": Effect.WRITE})
        rules = dataclasses.replace(self.RULES, breaker=BreakerRule(min_calls=4, open_s=5.0, probes=1))
        at = Shop(call(pay, S, timeout_s=1.0), protections={"api": rules}, durability=Durability.STEP)
        runs = virtually(lambda: at.run_many(12, apart_s=1.1))
        parked = [run.status is RunStatus.PARKED for run in runs]
        assert parked == [True] * 4 + [False] * 5 + [True] + [False] * 2
        assert "'api' is not asked: its last call failed" in str(runs[-1].error)
        assert at.stats.state == "open"

    def test_a_probe_that_was_never_made_proves_nothing(self) -> None:
        probe = failing("api", *[DOWN] * 4, {"text": "here"})
        at = shop(probe, self.RULES, budget=deadline(99.0, tokens=10), estimate_tokens=0)
        poor = plan(
            linear(call(probe, S, estimate_tokens=100)),
            components={"api": probe},
            protections={"api": self.RULES},
            budget=deadline(99.0, tokens=10),
        )

        async def main() -> Run:
            await at.run_many(4)
            await asyncio.sleep(11.0)
            return await at.engine.run(poor, RunRequest(input={}))

        assert virtually(main).reason is Reason.BUDGET
        assert (at.stats.attempts, at.stats.state) == (4, "half_open")

    def test_a_write_in_doubt_is_settled_also_while_the_breaker_is_open(self) -> None:
        asked: list[int] = []

        class Pays(Probe):
            async def confirm(self, _request: Request) -> Response | None:
                asked.append(1)
                return Response(output={"paid": True})

        async def hang(_request: Request) -> object:
            await asyncio.sleep(100.0)
            return {}

        pay = Pays("api", hang, effects={"*": Effect.WRITE}, confirms=True)
        at = Shop(call(pay, S, timeout_s=1.0), protections={"api": self.RULES}, durability=Durability.STEP)
        runs = virtually(lambda: at.run_many(4))
        assert ({run.status for run in runs}, len(asked)) == ({RunStatus.OK}, 4)
        assert at.stats.state == "open"

    def test_a_write_in_doubt_is_not_sent_again_while_the_breaker_is_open(self) -> None:
        pay = failing("api", DOWN, effects={"*": Effect.WRITE}, idempotent=True)
        rules = ProtectionRules(breaker=BreakerRule(min_calls=1, open_s=100.0))
        at = Shop(call(pay, S, retry=THREE), protections={"api": rules}, durability=Durability.STEP)
        (run,) = virtually(lambda: at.run_many(1))
        assert (run.status, run.reason, len(pay.requests)) == (RunStatus.PARKED, Reason.IN_DOUBT, 1)
        assert [attempt.error is not None and attempt.error.code for attempt in run.steps[0].attempts] == [
            "component",
            "component.breaker_open",
        ]

    def test_the_reason_it_gives_is_that_for_which_it_opened_however_long_ago(self) -> None:
        rules = ProtectionRules(breaker=BreakerRule(min_calls=4, open_s=100.0, window_s=5.0))
        at = shop(failing("api", DOWN), rules)
        (*_, last) = virtually(lambda: at.run_many(10, apart_s=2.0))
        assert "of its last 4 calls 4 failed" not in str(last.steps[0].error)
        rules = ProtectionRules(breaker=BreakerRule(min_calls=2, open_s=100.0, window_s=5.0))
        at = shop(failing("api", DOWN), rules)
        (*_, last) = virtually(lambda: at.run_many(10, apart_s=2.0))
        assert "of its last 2 calls 2 failed" in str(last.steps[0].error)


class TestBulkhead:
    def test_no_more_than_its_limit_are_asked_at_once_and_waiting_is_told_from_working(self) -> None:
        under_way: list[int] = [0, 0]

        async def work(_request: Request) -> object:
            under_way[0] += 1
            under_way[1] = max(under_way)
            await asyncio.sleep(1.0)
            under_way[0] -= 1
            return {}

        at = shop(Probe("api", work), ProtectionRules(bulkhead=BulkheadRule(limit=2)))
        runs = virtually(lambda: at.run_many(6))
        assert under_way == [0, 2]
        assert [run.steps[0].queue_ms for run in runs] == [0.0, 0.0, 1000.0, 1000.0, 2000.0, 2000.0]
        assert {run.steps[0].service_ms for run in runs} == {1000.0}

    def test_a_write_that_is_sent_again_takes_a_place_too(self) -> None:
        under_way: list[int] = [0, 0]

        async def work(_request: Request) -> object:
            under_way[0] += 1
            under_way[1] = max(under_way)
            try:
                await asyncio.sleep(1.0 + (len(pay.requests) <= 4))
            finally:
                under_way[0] -= 1
            return {}

        pay = Probe("api", work, effects={"*": Effect.WRITE}, idempotent=True)
        rules = ProtectionRules(bulkhead=BulkheadRule(limit=2))
        at = Shop(call(pay, S, retry=THREE, timeout_s=1.5), protections={"api": rules}, durability=Durability.STEP)
        runs = virtually(lambda: at.run_many(4))
        assert RunStatus.OK in {run.status for run in runs}
        assert len(pay.requests) > 4
        assert under_way == [0, 2]

    def test_what_finds_the_queue_full_is_congestion(self) -> None:
        at = shop(sleeping("api", 1.0), ProtectionRules(bulkhead=BulkheadRule(limit=1, queue=1)), fallback=ANSWER)
        runs = virtually(lambda: at.run_many(3))
        assert [run.reason for run in runs] == [None, None, Reason.CONGESTION]
        assert (at.stats.shed, at.stats.attempts) == (1, 2)
        assert [run.steps[0].status for run in runs][2] is StepStatus.FALLBACK

    def test_a_call_whose_time_comes_while_it_waits_is_congestion_and_gives_its_place_up(self) -> None:
        probe = sleeping("api", 10.0)
        rules = {"api": ProtectionRules(bulkhead=BulkheadRule(limit=1))}
        engine = Engine(Ledger())
        patient, hasty = (
            plan(linear(call(probe, S, timeout_s=each)), components={"api": probe}, protections=rules)
            for each in (20.0, 4.0)
        )

        async def main() -> list[Run]:
            begun = [asyncio.ensure_future(engine.run(each, RunRequest(input={}))) for each in (patient, hasty)]
            return list(await asyncio.gather(*begun))

        first, second = virtually(main)
        assert (first.status, second.reason, second.duration_ms) == (RunStatus.OK, Reason.CONGESTION, 4000.0)
        (attempt,) = second.steps[0].attempts
        assert (attempt.queue_ms, attempt.service_ms) == (4000.0, 0.0)
        assert attempt.error is not None
        assert "had no place for this call before its deadline" in attempt.error.message
        stats = engine.protections.stats["api"]
        assert (stats.attempts, stats.shed, stats.in_flight, stats.waiting) == (1, 1, 0, 0)

    def test_a_call_that_waits_for_its_next_attempt_holds_no_place(self) -> None:
        flaky = failing("api", ComponentError("busy", Code.UNAVAILABLE, retry_after_s=5.0), {}, {})
        at = shop(flaky, ProtectionRules(bulkhead=BulkheadRule(limit=1)), retry=THREE)
        runs = virtually(lambda: at.run_many(2))
        assert [run.duration_ms for run in runs] == [5000.0, 0.0]

    def test_a_run_whose_time_is_spent_in_the_queue_has_expired_of_congestion(self) -> None:
        probe = sleeping("api", 10.0)
        rules = {"api": ProtectionRules(bulkhead=BulkheadRule(limit=1))}
        engine = Engine(Ledger())
        patient, hasty = (
            plan(linear(call(probe, S)), components={"api": probe}, protections=rules, budget=deadline(each))
            for each in (20.0, 4.0)
        )

        async def main() -> list[Run]:
            begun = [asyncio.ensure_future(engine.run(each, RunRequest(input={}))) for each in (patient, hasty)]
            return list(await asyncio.gather(*begun))

        _, run = virtually(main)
        assert (run.status, run.reason) == (RunStatus.EXPIRED, Reason.CONGESTION)

    def test_what_was_shed_may_be_tried_again_without_the_quota(self) -> None:
        at = shop(
            sleeping("api", 1.0),
            ProtectionRules(bulkhead=BulkheadRule(limit=1, queue=0), quota=QuotaRule(ratio=0.0, floor=0)),
            retry=Retry(9, base_s=4.0),
        )
        runs = virtually(lambda: at.run_many(3))
        assert {run.status for run in runs} == {RunStatus.OK}
        assert (at.stats.retries, at.stats.retries_refused) == (0, 0)

    def test_a_cancelled_run_leaves_the_queue(self) -> None:
        at = shop(sleeping("api", 1.0), ProtectionRules(bulkhead=BulkheadRule(limit=1)))

        async def main() -> Run:
            first, second, third = (asyncio.ensure_future(at.run()) for _ in range(3))
            await asyncio.sleep(0.5)
            second.cancel()
            await asyncio.wait([first, second])
            return await third

        assert virtually(main).steps[0].queue_ms == 1000.0
        assert (at.stats.in_flight, at.stats.waiting, at.stats.shed) == (0, 0, 0)

    def test_the_step_of_higher_priority_goes_first(self) -> None:
        probe = sleeping("api", 1.0)
        rules = {"api": ProtectionRules(bulkhead=BulkheadRule(limit=1))}
        engine = Engine(Ledger())
        low, high = (
            plan(linear(call(probe, S, priority=rank)), components={"api": probe}, protections=rules) for rank in (0, 5)
        )

        async def main() -> list[float]:
            begun = [asyncio.ensure_future(engine.run(each, RunRequest(input={}))) for each in (low, low, high)]
            return [run.duration_ms for run in await asyncio.gather(*begun)]

        assert virtually(main) == [1000.0, 3000.0, 2000.0]


class TestInside:
    """Components that call others."""

    RULES = ProtectionRules(bulkhead=BulkheadRule(limit=1, queue=0), breaker=BreakerRule(min_calls=4))

    def test_a_call_that_would_wait_for_its_own_place_is_refused(self) -> None:
        async def again(request: Request) -> object:
            assert request.call.caller is not None
            return await request.call.caller.call("api", {}) if "/" not in request.call.path else {}

        op = call(Probe("api", again), S, calls_others=True)
        at = Shop(op, protections={"api": self.RULES}, nested={"api": op})
        run = virtually(at.run)
        assert run.error is not None
        assert "component 'api' would wait for itself" in run.error.message
        assert (at.stats.in_flight, at.stats.waiting) == (0, 0)

    def test_what_is_refused_inside_says_nothing_of_the_component_around_it(self) -> None:
        inner = call(sleeping("api", 10.0), S)

        async def around(request: Request) -> object:
            assert request.call.caller is not None
            return await request.call.caller.call("api", {})

        outer = call(Probe("outer", around), S, calls_others=True)
        rules = {"api": self.RULES, "outer": ProtectionRules(breaker=BreakerRule(min_calls=4))}
        components = {"api": inner.component, "outer": outer.component}
        engine = Engine(Ledger())
        whole = plan(linear(outer), components=components, protections=rules, nested={"api": inner})

        async def main() -> list[Run]:
            return list(await asyncio.gather(*(engine.run(whole, RunRequest(input={})) for _ in range(8))))

        runs = virtually(main)
        assert [run.reason for run in runs] == [None] + [Reason.CONGESTION] * 7
        assert engine.protections.stats["outer"].state == "closed"
        assert engine.protections.stats["api"].shed == 7


class TestLoops:
    RULES = ProtectionRules(bulkhead=BulkheadRule(limit=1), breaker=BreakerRule(min_calls=4, open_s=50.0))

    def test_a_loop_that_begins_after_the_last_has_ended_goes_on_with_what_that_learnt(self) -> None:
        at = shop(failing("api", DOWN), self.RULES)
        for _ in range(4):
            asyncio.run(at.run())
        assert asyncio.run(at.run()).reason is Reason.BREAKER
        assert (at.stats.calls, at.stats.attempts) == (5, 4)

    def test_a_clock_that_begins_anew_has_learnt_nothing(self) -> None:
        at = shop(failing("api", DOWN), self.RULES)
        virtually(lambda: at.run_many(9, apart_s=1.0))
        assert virtually(at.run).reason is Reason.ERROR

    def test_loops_beside_each_other_wake_nobody_in_another(self) -> None:
        at = shop(sleeping("api", 0.02), self.RULES)
        with ThreadPoolExecutor() as threads:
            made = list(threads.map(lambda _: asyncio.run(at.run_many(5)), range(4)))
        assert {run.status for runs in made for run in runs} == {RunStatus.OK}
        assert (at.stats.calls, at.stats.in_flight, at.stats.waiting) == (20, 0, 0)


def test_a_component_without_protection_has_none() -> None:
    at = Shop(call(returning("api", {}), S, retry=THREE))
    virtually(at.run)
    assert at.engine.protections.stats == {}


NONSENSE: list[Any] = [
    7,
    "many",
    {"output_tokens": 3},
    Usage(output_tokens=10**400),
    Usage(output_tokens="3"),  # type: ignore[arg-type]  # what a component may return all the same
    Usage(output_tokens=-1),
]


@pytest.mark.parametrize("usage", NONSENSE, ids=range(len(NONSENSE)))
@pytest.mark.parametrize("limit", [None, 2])
def test_a_usage_that_makes_no_sense_fails_the_step_and_nothing_else(usage: Any, limit: int | None) -> None:
    async def answer(_request: Request) -> object:
        return Response(output={}, usage=usage)

    rules = ProtectionRules(bulkhead=BulkheadRule(limit=limit))
    at = Shop(call(Probe("api", answer), S), protections={"api": rules})
    runs: list[Run] = virtually(lambda: at.run_many(30))
    assert {run.reason for run in runs} == {Reason.CONTRACT}
    assert at.stats.in_flight == 0
