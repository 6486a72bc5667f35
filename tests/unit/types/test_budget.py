"""The algebra of budgets: nothing grows, nothing is spent twice, children stay within their parents."""

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from stretto.types.budget import Budget, BudgetSpec
from stretto.types.errors import BudgetError

AMOUNTS = st.integers(0, 50)


def test_a_lease_gives_back_what_was_not_used() -> None:
    budget = Budget.start(BudgetSpec(tokens=100, cost=1.0), now=0.0)
    budget.lease(tokens=60, cost=0.5).settle(10, 0.1)
    assert budget.pool.tokens == 90
    assert budget.pool.cost == pytest.approx(0.9)


def test_a_lost_response_forfeits_its_lease() -> None:
    budget = Budget.start(BudgetSpec(tokens=100), now=0.0)
    lease = budget.lease(tokens=60)
    lease.forfeit()
    lease.settle(0, 0)
    assert budget.pool.tokens == 40


def test_an_estimate_beyond_what_is_left_is_refused_and_takes_nothing() -> None:
    budget = Budget.start(BudgetSpec(tokens=10), now=0.0)
    with pytest.raises(BudgetError, match="10 left, the call needs 11"):
        budget.lease(tokens=11)
    assert budget.pool.tokens == 10


@pytest.mark.parametrize(
    ("spec", "tokens", "cost", "says"),
    [
        (BudgetSpec(tokens=0), 0, 0.0, "token budget is spent, so no further call is made; give the run a larger"),
        (BudgetSpec(cost=0.0), 0, 0.0, "cost budget is spent, so no further call is made"),
        (BudgetSpec(tokens=1_234_567), 1_234_568, 0.0, "1,234,567 left, the call needs 1,234,568 or more"),
        (BudgetSpec(cost=0.25), 0, 0.5, "cost budget is too small: 0.25 left, the call needs 0.5 or more"),
    ],
)
def test_a_refused_call_is_told_what_is_left_where_anything_is(
    spec: BudgetSpec, tokens: int, cost: float, says: str
) -> None:
    with pytest.raises(BudgetError) as caught:
        Budget.start(spec, now=0.0).lease(tokens, cost)
    assert says in str(caught.value)


def test_the_reserve_is_open_to_fallbacks_only() -> None:
    budget = Budget.start(BudgetSpec(deadline=timedelta(seconds=5), reserve=timedelta(seconds=1)), now=10.0)
    assert budget.work_deadline == 14.0
    assert budget.with_reserve().work_deadline == 15.0


def test_a_child_spends_from_its_parent_and_never_beyond_its_cap() -> None:
    parent = Budget.start(BudgetSpec(tokens=100, retries=5), now=0.0)
    child = parent.child(BudgetSpec(tokens=30, retries=1), now=0.0)
    child.lease(tokens=20).settle(20, 0)
    assert parent.pool.tokens == 80
    with pytest.raises(BudgetError):
        child.lease(tokens=11)
    assert child.take_retry()
    assert not child.take_retry()
    assert parent.pool.retries == 4


@given(st.floats(0.1, 100), st.floats(0.1, 100), st.floats(0, 50))
def test_a_child_never_has_more_time_than_its_parent(outer: float, inner: float, now: float) -> None:
    parent = Budget.start(BudgetSpec(deadline=timedelta(seconds=outer)), now=0.0)
    child = parent.child(BudgetSpec(deadline=timedelta(seconds=inner)), now=now)
    assert child.final_deadline is not None
    assert parent.final_deadline is not None
    assert child.final_deadline <= parent.final_deadline


@given(st.lists(st.tuples(AMOUNTS, AMOUNTS, st.booleans()), max_size=30), st.integers(1, 100))
def test_no_order_of_leases_spends_more_than_the_pool_and_one_overrun(
    calls: list[tuple[int, int, bool]], limit: int
) -> None:
    budget = Budget.start(BudgetSpec(tokens=limit), now=0.0)
    spent = 0
    for estimate, used, lost in calls:
        before = budget.pool.tokens
        try:
            lease = budget.lease(tokens=estimate)
        except BudgetError:
            assert estimate > before or before <= 0
            continue
        if lost:
            lease.forfeit()
            spent += estimate
        else:
            lease.settle(used, 0)
            spent += used
        assert budget.pool.tokens == limit - spent
