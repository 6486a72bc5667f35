"""After failures of a component in a row the fallbacks of its steps answer without asking it; on a virtual clock."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from stretto.engine.engine import Engine
from stretto.engine.request import RunRequest
from stretto.engine.standby import FallbackStats, Standbys
from stretto.engine.streak import StreakState
from stretto.plan.check import Check
from stretto.plan.meaning import Crossing, Domain
from stretto.plan.model import CallOp, Fallback, Plan, ProtectionRules, Retry
from stretto.record.model import Run, decoded
from stretto.testing import VirtualLoop, run_virtual
from stretto.types.enums import Durability, Effect, Reason, RunStatus, StepStatus
from stretto.types.errors import Code, ComponentError
from stretto.types.protection import BreakerRule, BulkheadRule, StreakRule
from tests.unit.engine.books import WRITE
from tests.unit.engine.plans import Ledger, S, call, failing, linear, plan, returning, sleeping, step

DOWN = ComponentError("down", Code.UNAVAILABLE)
REFUSED = ComponentError("what is that", Code.INVALID_ARGUMENT)
CARD = Fallback(output=b'{"by": "card"}')
RULE = StreakRule(after=3, retry_after_s=60.0)


def guarded(*ops: CallOp, rule: StreakRule = RULE, rules: ProtectionRules | None = None) -> Plan:
    components = {op.component_name: op.component for op in ops}
    protections = {} if rules is None else dict.fromkeys(components, rules)
    return plan(linear(*ops), components=components, streaks=dict.fromkeys(components, rule), protections=protections)


class House:
    """An engine whose runs know of each other."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self.standbys = Standbys()
        self.ledger = Ledger()
        self.engine = Engine(self.ledger, clock=loop, standbys=self.standbys)

    async def run(self, what: Plan) -> Run:
        return await self.engine.run(what, RunRequest(input={}))

    def stats(self, what: Plan, component: str) -> FallbackStats:
        return self.standbys.stats(what, self.engine.protections.streaks).components[component]


def lived(main: Callable[[House], Awaitable[Any]]) -> Any:
    async def go() -> Any:
        return await main(House())

    return run_virtual(go())


def test_after_three_failed_calls_the_component_is_not_asked() -> None:
    api = failing("api", DOWN)
    what = guarded(call(api, S, fallback=CARD))

    async def main(house: House) -> list[Run]:
        runs = [await house.run(what) for _ in range(5)]
        stats = house.stats(what, "api")
        assert stats.triggered == 5
        assert stats.reasons == {Reason.ERROR: 3, Reason.BREAKER: 2}
        assert stats.state is StreakState.STICKY
        return runs

    runs = lived(main)
    assert [run.status for run in runs] == [RunStatus.DEGRADED] * 5
    assert [run.reason for run in runs] == [Reason.ERROR] * 3 + [Reason.BREAKER] * 2
    assert len(api.requests) == 3
    error = step(runs[-1], "api").error
    assert error is not None
    assert "component 'api' is not asked: 3 calls in a row failed, the last so: down" in error.message


def test_retries_of_one_call_are_one_failure() -> None:
    api = failing("api", DOWN)
    op = call(api, S, fallback=CARD, retry=Retry(max_attempts=4, base_s=0.0))
    what = guarded(op, rules=ProtectionRules())

    async def main(house: House) -> list[Run]:
        return [await house.run(what) for _ in range(4)]

    runs = lived(main)
    assert len(api.requests) == 12
    assert runs[-1].reason is Reason.BREAKER


def test_an_answer_ends_the_row() -> None:
    api = failing("api", DOWN, DOWN, {"by": "api"}, DOWN, DOWN, {"by": "api"})
    what = guarded(call(api, S, fallback=CARD))

    async def main(house: House) -> list[Run]:
        return [await house.run(what) for _ in range(6)]

    lived(main)
    assert len(api.requests) == 6


def test_an_answer_that_breaks_its_schema_is_a_failure() -> None:
    api = failing("api", {"n": "text"}, output={"type": "object", "properties": {"n": {"type": "integer"}}})
    what = guarded(call(api, S, fallback=CARD))

    async def main(house: House) -> list[Run]:
        return [await house.run(what) for _ in range(4)]

    runs = lived(main)
    assert [run.reason for run in runs] == [Reason.CONTRACT] * 3 + [Reason.BREAKER]


def test_a_request_that_was_never_asked_says_nothing() -> None:
    api = failing("api", {})
    check = Check({"type": "object", "required": ["x"]})
    what = guarded(call(api, S, fallback=CARD, input_check=check))

    async def main(house: House) -> list[Run]:
        return [await house.run(what) for _ in range(5)]

    assert [run.reason for run in lived(main)] == [Reason.CONTRACT] * 5


def test_a_text_that_means_nothing_says_nothing_and_an_answer_that_does_is_a_failure() -> None:
    domain = Domain(name="intent", values=("track",))
    crossing = Crossing(at="api.said", path=("said",), domain=domain, exact={"track": "track"})
    api = failing("api", {"said": "nonsense"})
    told = guarded(call(api, S, {"said": lambda _: "nonsense"}, fallback=CARD, crossings_in=(crossing,)))
    answered = guarded(call(api, S, fallback=CARD, crossings_out=(crossing,)))

    async def main(house: House) -> list[Run]:
        return [await house.run(what) for what in [told] * 5 + [answered] * 4]

    assert [run.reason for run in lived(main)] == [Reason.CONTRACT] * 8 + [Reason.BREAKER]


def test_what_the_component_refuses_says_nothing_of_it() -> None:
    api = failing("api", REFUSED)
    what = guarded(call(api, S, fallback=CARD))

    async def main(house: House) -> list[Run]:
        return [await house.run(what) for _ in range(5)]

    assert [run.reason for run in lived(main)] == [Reason.ERROR] * 5


def test_a_trial_lets_it_come_back() -> None:
    api = failing("api", DOWN, DOWN, DOWN, DOWN, {"by": "api"})
    what = guarded(call(api, S, fallback=CARD))

    async def main(house: House) -> None:
        for _ in range(4):
            await house.run(what)
        await asyncio.sleep(60)
        assert (await house.run(what)).reason is Reason.ERROR
        await asyncio.sleep(119)
        assert (await house.run(what)).reason is Reason.BREAKER
        await asyncio.sleep(1)
        assert (await house.run(what)).status is RunStatus.OK
        assert (await house.run(what)).status is RunStatus.OK
        assert house.stats(what, "api").state is StreakState.TRYING

    lived(main)


def test_a_cancelled_trial_blocks_nobody() -> None:
    failed, slow = failing("api", DOWN), sleeping("api", 10.0, {"by": "api"})
    first, second = guarded(call(failed, S, fallback=CARD)), guarded(call(slow, S, fallback=CARD))

    async def main(house: House) -> None:
        for _ in range(3):
            await house.run(first)
        await asyncio.sleep(60)
        trial = asyncio.create_task(house.run(second))
        await asyncio.sleep(1)
        assert (await house.run(second)).reason is Reason.BREAKER
        trial.cancel()
        await asyncio.wait([trial])
        assert (await house.run(second)).status is RunStatus.OK

    lived(main)


def test_a_trial_that_found_no_place_is_nobodys_and_the_next_call_is_one() -> None:
    """What was let through and then not asked must not keep the others waiting for its lease."""
    failed, well = failing("api", DOWN), returning("api", {"by": "api"})
    slow = sleeping("api", 20.0, {"by": "api"})
    rules = ProtectionRules(bulkhead=BulkheadRule(limit=1, queue=0))
    of = partial(guarded, rules=rules)

    async def main(house: House) -> None:
        for _ in range(3):
            await house.run(of(call(failed, S, fallback=CARD)))
        await asyncio.sleep(55)
        holder = asyncio.create_task(house.run(of(call(slow, S))))  # has no fallback, so it tries, and holds the place
        await asyncio.sleep(10)
        assert (await house.run(of(call(well, S, fallback=CARD)))).reason is Reason.CONGESTION
        assert house.stats(of(call(well, S)), "api").state is StreakState.STICKY
        holder.cancel()
        await asyncio.wait([holder])
        assert (await house.run(of(call(well, S, fallback=CARD)))).status is RunStatus.OK

    lived(main)


def test_a_step_without_a_fallback_tries_all_the_same_and_may_bring_it_back() -> None:
    api = failing("api", DOWN, DOWN, DOWN, {"by": "api"})
    with_card, without = guarded(call(api, S, fallback=CARD)), guarded(call(api, S))

    async def main(house: House) -> None:
        for _ in range(3):
            await house.run(with_card)
        assert (await house.run(with_card)).reason is Reason.BREAKER
        assert (await house.run(without)).status is RunStatus.OK
        assert (await house.run(with_card)).status is RunStatus.OK

    lived(main)


def test_a_write_that_is_not_tried_leaves_no_intent() -> None:
    api = failing("api", ComponentError("busy", Code.RESOURCE_EXHAUSTED), effects=WRITE)
    what = dataclasses.replace(guarded(call(api, S, fallback=CARD, effect=Effect.WRITE)), durability=Durability.STEP)

    async def main(house: House) -> Run:
        for _ in range(3):
            await house.run(what)
        last = await house.run(what)
        assert house.ledger.events.count(("intent", "api")) == 3  # one for each try
        return last

    last = lived(main)
    assert last.status is RunStatus.DEGRADED
    assert decoded(step(last, "api").output) == {"by": "card"}


def test_beside_a_breaker_both_are_told() -> None:
    api = failing("api", DOWN, DOWN, DOWN, {"by": "api"})
    rules = ProtectionRules(breaker=BreakerRule(min_calls=50))
    what = guarded(call(api, S, fallback=CARD), rules=rules)

    async def main(house: House) -> None:
        for _ in range(4):
            await house.run(what)
        stats = house.engine.protections.stats["api"]
        assert stats.refused == 1
        assert stats.tally is not None
        assert stats.tally.failed == 3
        await asyncio.sleep(60)
        assert (await house.run(what)).status is RunStatus.OK

    lived(main)


def test_a_component_that_never_failed_is_asked_as_one_that_nothing_protects() -> None:
    what = guarded(call(failing("api", {}), S, fallback=CARD))

    async def main(house: House) -> None:
        await house.run(what)
        assert not house.engine.protections.of(what)
        assert house.engine.protections.stats == {}

    lived(main)


def test_an_engine_whose_runs_know_of_no_others_always_asks() -> None:
    api = failing("api", DOWN)
    what = guarded(call(api, S, fallback=CARD))

    async def main(house: House) -> None:
        alone = Engine(Ledger(), clock=asyncio.get_running_loop())  # type: ignore[arg-type]  # it is a virtual loop
        for _ in range(5):
            run = await alone.run(what, RunRequest(input={}))
            assert step(run, "api").status is StepStatus.FALLBACK

    lived(main)
    assert len(api.requests) == 5


def test_each_component_has_a_row_of_its_own() -> None:
    bad, good = failing("bad", DOWN), failing("good", {})
    what = guarded(call(bad, S, fallback=CARD), call(good, S + 1, fallback=CARD))

    async def main(house: House) -> None:
        for _ in range(4):
            await house.run(what)

    lived(main)
    assert len(bad.requests) == 3
    assert len(good.requests) == 4
