"""The algebra of budgets: nothing grows, nothing is spent twice, children stay within their parents."""

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from stretto.types.budget import Budget, BudgetSpec, Lease
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


class AnyCalls(RuleBasedStateMachine):
    """Scopes inside scopes that lease, settle, lose and retry in any order: nobody ever has more than before, nor more
    than those around it, and all that was spent was spent from the root."""

    scopes = Bundle("scopes")
    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.root = Budget.start(BudgetSpec(deadline=timedelta(seconds=100), tokens=1000, retries=20), now=0.0)
        self.children: list[tuple[Budget, Budget]] = []
        self.now = 0.0
        self.spent = 0
        self.retries_left = 20.0

    @initialize(target=scopes)
    def begin(self) -> Budget:
        return self.root

    @rule(
        target=scopes,
        scope=scopes,
        tokens=st.none() | st.integers(1, 2000),
        retries=st.none() | st.integers(0, 40),
        seconds=st.floats(0.1, 200),
        later=st.floats(0, 5),
    )
    def enter(self, scope: Budget, tokens: int | None, retries: int | None, seconds: float, later: float) -> Budget:
        self.now += later
        child = scope.child(BudgetSpec(deadline=timedelta(seconds=seconds), tokens=tokens, retries=retries), self.now)
        self.children.append((scope, child))
        return child

    @rule(target=scopes, scope=scopes, part=st.floats(0.01, 1.0))
    def share(self, scope: Budget, part: float) -> Budget:
        child = scope.shared(part)
        self.children.append((scope, child))
        return child

    @rule(target=leases, scope=scopes, tokens=AMOUNTS)
    def lease(self, scope: Budget, tokens: int) -> tuple[Lease, int]:
        before = scope.pool.tokens
        try:
            lease = scope.lease(tokens=tokens)
        except BudgetError:
            assert before < tokens or before <= 0
            return Lease(scope.pool, 0, 0.0), 0
        self.spent += tokens
        return lease, tokens

    @rule(lease=consumes(leases), part=st.floats(0, 1))
    def settle(self, lease: tuple[Lease, int], part: float) -> None:
        one, estimate = lease
        used = int(estimate * part)
        one.settle(used, 0.0)
        one.settle(0, 0.0)  # only the first counts
        self.spent -= estimate - used

    @rule(lease=consumes(leases))
    def lose(self, lease: tuple[Lease, int]) -> None:
        lease[0].forfeit()
        lease[0].settle(0, 0.0)

    @rule(scope=scopes)
    def retry(self, scope: Budget) -> None:
        left = scope.pool.retries
        assert scope.take_retry() is (left >= 1)
        assert self.root.pool.retries in (self.retries_left, self.retries_left - 1)
        self.retries_left = self.root.pool.retries

    @invariant()
    def all_is_spent_from_the_root(self) -> None:
        assert self.root.pool.tokens == 1000 - self.spent
        assert 0 <= self.root.pool.tokens <= 1000
        assert self.root.pool.retries >= 0

    @invariant()
    def nobody_has_more_than_those_around_it(self) -> None:
        for outer, inner in self.children:
            assert inner.pool.tokens <= outer.pool.tokens
            assert inner.pool.retries <= outer.pool.retries
            assert inner.work_deadline is not None
            assert outer.work_deadline is not None
            assert inner.work_deadline <= outer.work_deadline


TestAnyCalls = AnyCalls.TestCase
