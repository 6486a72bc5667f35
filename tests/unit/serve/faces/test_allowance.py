"""A run that answers a call has never more than its workflow allows, nor than its caller has left."""

import math
from datetime import timedelta

from hypothesis import given, strategies as st

from stretto.engine.request import RunRequest, check_request
from stretto.serve.faces.allowance import allowance
from stretto.testing import run_virtual
from stretto.testing.request import request_for
from stretto.types.budget import UNLIMITED, Budget, BudgetSpec, Pool
from stretto.types.messages import Call

_COUNTS = st.none() | st.integers(0, 1000)
_COSTS = st.none() | st.floats(0, 100)
_TIMES = st.none() | st.floats(0.002, 100)


@st.composite
def specs(draw: st.DrawFn) -> BudgetSpec:
    """What a workflow may declare."""
    deadline_s = draw(_TIMES)
    reserve = timedelta() if deadline_s is None else timedelta(seconds=deadline_s * draw(st.floats(0, 0.9)))
    return BudgetSpec(
        deadline=None if deadline_s is None else timedelta(seconds=deadline_s),
        reserve=reserve,
        retries=draw(_COUNTS),
        tokens=draw(_COUNTS),
        cost=draw(_COSTS),
    )


def call_with(left_s: float | None, pool: Pool) -> Call:
    """A call at time 0 of a virtual clock."""
    call = request_for().call
    return Call(call.run, call.path, 1, "", call.effect, left_s, Budget(pool, left_s, left_s))


@given(specs(), _TIMES, _COUNTS, _COUNTS, _COSTS)
def test_it_is_the_least_of_both(
    own: BudgetSpec, left_s: float | None, retries: int | None, tokens: int | None, cost: float | None
) -> None:
    pool = Pool(*(UNLIMITED if each is None else each for each in (retries, tokens, cost)))

    async def allowed() -> BudgetSpec:
        return allowance(own, call_with(left_s, pool))

    given_to_run = run_virtual(allowed())
    check_request(RunRequest(input={}, budget=given_to_run))
    for least, *both in (
        (given_to_run.retries, own.retries, retries),
        (given_to_run.tokens, own.tokens, tokens),
        (given_to_run.cost, own.cost, cost),
    ):
        assert _or_unlimited(least) == min(map(_or_unlimited, both))
    seconds = [_seconds(own.deadline), math.inf if left_s is None else left_s]
    assert _seconds(given_to_run.deadline) <= min(seconds)
    assert _seconds(given_to_run.deadline) >= min(seconds) * 0.949
    assert given_to_run.reserve <= own.reserve


def _or_unlimited(limit: float | None) -> float:
    return math.inf if limit is None else limit


def _seconds(time: timedelta | None) -> float:
    return math.inf if time is None else time.total_seconds()
