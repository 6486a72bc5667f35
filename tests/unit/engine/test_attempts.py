"""The algebra of a step's attempts: whatever is declared and whatever goes wrong, nothing is tried more than it may be.

Whole runs on a virtual clock, with rules, budgets and outcomes that Hypothesis draws.
"""

import asyncio
from datetime import timedelta
from typing import Any

from hypothesis import given, settings, strategies as st

from stretto.engine.engine import Engine
from stretto.engine.request import RunRequest
from stretto.plan.model import Fallback, ProtectionRules, Retry
from stretto.record.model import Run
from stretto.testing import run_virtual
from stretto.types.budget import BudgetSpec
from stretto.types.enums import Effect, RunStatus
from stretto.types.errors import Code, ComponentError
from stretto.types.messages import Request
from stretto.types.protection import BreakerRule, BulkheadRule, HedgeRule, QuotaRule
from tests.unit.engine.plans import Ledger, Probe, S, call, linear, plan

ANSWER = Fallback(output=b'{"text": "later"}')

outcomes = st.tuples(
    st.sampled_from([0.0, 0.05, 0.5, 3.0, 50.0]),
    st.sampled_from([None, None, Code.UNAVAILABLE, Code.NOT_FOUND, Code.RESOURCE_EXHAUSTED, Code.ABORTED]),
)
rules = st.builds(
    ProtectionRules,
    quota=st.none() | st.builds(QuotaRule, ratio=st.sampled_from([0.0, 0.2, 1.0]), floor=st.integers(0, 3)),
    breaker=st.none() | st.builds(BreakerRule, min_calls=st.integers(1, 4), open_s=st.sampled_from([0.5, 5.0])),
    bulkhead=st.none() | st.builds(BulkheadRule, limit=st.none() | st.integers(1, 3), queue=st.integers(0, 4)),
)
retries = st.builds(Retry, max_attempts=st.integers(1, 4), base_s=st.sampled_from([0.0, 0.2]))
hedges = st.none() | st.builds(HedgeRule, after_s=st.sampled_from([None, 0.3]), copies=st.integers(1, 3))
budgets = st.builds(
    BudgetSpec,
    deadline=st.sampled_from([timedelta(seconds=2), timedelta(seconds=9)]),
    reserve=st.sampled_from([timedelta(0), timedelta(seconds=1)]),
    retries=st.none() | st.integers(0, 3),
)


def many(script: list[tuple[float, Code | None]], runs: int, budget: BudgetSpec, **op: Any) -> tuple[list[Run], Any]:
    """Runs begun a tenth of a second apart, whose calls end as the script says, over and over; and what was counted."""
    asked: list[Request] = []
    most = [0, 0]

    async def answer(request: Request) -> object:
        took_s, code = script[len(asked) % len(script)]
        asked.append(request)
        most[0] += 1
        most[1] = max(most)
        try:
            await asyncio.sleep(took_s)
        finally:
            most[0] -= 1
        if code is not None:
            raise ComponentError("no", code)
        return {"text": "here"}

    protected = op.pop("rules")
    api = Probe("api", answer, effects={"*": Effect.READ})
    of = plan(linear(call(api, S, **op)), components={"api": api}, protections={"api": protected}, budget=budget)
    engine = Engine(Ledger())

    async def main() -> list[Run]:
        begun = []
        for _ in range(runs):
            begun.append(asyncio.ensure_future(engine.run(of, RunRequest(input={}))))
            await asyncio.sleep(0.1)
        return list(await asyncio.gather(*begun))

    done = run_virtual(main())
    return done, (asked, most[1], engine.protections.stats["api"])


@settings(max_examples=150, deadline=None)
@given(st.lists(outcomes, min_size=1, max_size=6), rules, retries, hedges, budgets, st.none() | st.floats(0.1, 4.0))
def test_nothing_is_tried_more_than_it_may_be_and_every_run_answers_by_its_deadline(
    script: list[tuple[float, Code | None]],
    protected: ProtectionRules,
    retry: Retry,
    hedge: HedgeRule | None,
    budget: BudgetSpec,
    timeout_s: float | None,
) -> None:
    runs, (asked, most, stats) = many(
        script, 12, budget, rules=protected, retry=retry, hedge=hedge, timeout_s=timeout_s, fallback=ANSWER
    )
    assert budget.deadline is not None
    for run in runs:
        assert run.status in (RunStatus.OK, RunStatus.DEGRADED)
        assert run.duration_ms <= budget.deadline.total_seconds() * 1000 + 0.001
        assert run.retries <= (999 if budget.retries is None else budget.retries)
        assert len(run.steps[0].attempts) <= retry.max_attempts
    copies = 0 if hedge is None else hedge.copies
    assert len(asked) == stats.attempts <= len(runs) * retry.max_attempts * (1 + copies)
    assert all(request.call.previous_attempts == request.call.attempt - 1 for request in asked)
    quota = protected.quota or QuotaRule()
    again = len(asked) - len({request.call.run.id for request in asked})
    assert again <= stats.retries <= quota.floor + quota.ratio * len(runs) + 1e-9
    assert (stats.in_flight, stats.waiting) == (0, 0)
    if protected.bulkhead is not None and protected.bulkhead.limit is not None:
        assert most <= protected.bulkhead.limit
