"""What a run may still spend: time, retries, tokens and money, one pool owned by the root run.

A call takes a lease of its estimate, settles what it really used on return, and the rest goes back. A lost
response forfeits its lease. Parallel branches share the pool, so no interleaving can overspend it. The reserve
is a pocket of time that only fallbacks may use.
"""

import math
from datetime import timedelta
from typing import Final, Self

import msgspec

from stretto.types.errors import BudgetError

UNLIMITED = math.inf

RESERVED_PART: Final = 0.1
"""Of a deadline, kept for a business fallback where nobody says how much: rules answer in milliseconds."""

MOST_RESERVED: Final = timedelta(seconds=1)
"""The longest that is kept so."""


class BudgetSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Limits as declared; None is no limit."""

    deadline: timedelta | None = None
    reserve: timedelta = timedelta(0)
    """Part of the deadline that only fallbacks may use."""
    retries: int | None = None
    tokens: int | None = None
    cost: float | None = None

    @property
    def working(self) -> timedelta | None:
        """What a run's ordinary steps have: the deadline less the reserve; None without a deadline."""
        return None if self.deadline is None else self.deadline - self.reserve

    def reserving(self) -> "BudgetSpec":
        """The same limits, with time for a business fallback: a tenth of the deadline, at most 1 s, unless it has."""
        if self.deadline is None or self.reserve:
            return self
        return msgspec.structs.replace(self, reserve=min(self.deadline * RESERVED_PART, MOST_RESERVED))


class Pool:
    """Retries, tokens and cost left to a root run; shared by all that it calls."""

    __slots__ = ("cost", "retries", "tokens")

    def __init__(self, retries: float = UNLIMITED, tokens: float = UNLIMITED, cost: float = UNLIMITED) -> None:
        self.retries = retries
        self.tokens = tokens
        self.cost = cost


class Lease:
    """Tokens and cost set aside for one call until it settles."""

    __slots__ = ("_pool", "cost", "tokens")

    def __init__(self, pool: Pool, tokens: float, cost: float) -> None:
        self._pool: Pool | None = pool
        self.tokens = tokens
        self.cost = cost

    def settle(self, tokens: float, cost: float) -> None:
        """Give back what was not used, or take what was used beyond the estimate. Only the first call counts."""
        if self._pool is None:
            return
        self._pool.tokens += self.tokens - tokens
        self._pool.cost += self.cost - cost
        self._pool = None

    def forfeit(self) -> None:
        """Keep the whole estimate spent: the response was lost, and so is the knowledge of what it cost."""
        self._pool = None


class Budget:
    """One scope's view of the pool, with its own absolute deadlines."""

    __slots__ = ("final_deadline", "limited", "pool", "work_deadline")

    def __init__(self, pool: Pool, work_deadline: float | None, final_deadline: float | None) -> None:
        self.pool = pool
        self.limited = pool.tokens != UNLIMITED or pool.cost != UNLIMITED
        """Whether calls need a lease at all."""
        self.work_deadline = work_deadline
        """Event-loop time by which ordinary steps must end; None when unlimited."""
        self.final_deadline = final_deadline
        """Event-loop time by which the run must answer; the span between the two is the reserve."""

    @classmethod
    def start(cls, spec: BudgetSpec, now: float) -> Self:
        """Open the pool of a root run at event-loop time `now`."""
        work, final = _deadlines(spec, now)
        return cls(_pool(spec), work, final)

    def child(self, spec: BudgetSpec, now: float) -> "Budget":
        """A sub-workflow's view: the same pool, capped by its own limits, and the earlier of both deadlines."""
        work, final = _deadlines(spec, now)
        pool = self.pool
        if spec.retries is not None or spec.tokens is not None or spec.cost is not None:
            pool = _CappedPool(self.pool, _pool(spec))
        return Budget(pool, _earlier(self.work_deadline, work), _earlier(self.final_deadline, final))

    def shared(self, part: float) -> "Budget":
        """At most this part, in (0, 1], of what is left now; spent from the same pool."""
        left = self.pool
        cap = Pool(left.retries * part, left.tokens * part, left.cost * part)
        return Budget(_CappedPool(left, cap), self.work_deadline, self.final_deadline)

    def with_reserve(self) -> "Budget":
        """The same pool with the reserve unlocked: what a fallback may use."""
        return Budget(self.pool, self.final_deadline, self.final_deadline)

    def by(self, deadline: float | None) -> "Budget":
        """The same pool until a time that is earlier: what a call inside another may use."""
        return Budget(self.pool, _earlier(self.work_deadline, deadline), _earlier(self.final_deadline, deadline))

    def take_retry(self) -> bool:
        """Spend one retry; False when none is left."""
        if self.pool.retries < 1:
            return False
        self.pool.retries -= 1
        return True

    def lease(self, tokens: float = 0, cost: float = 0.0) -> Lease:
        """Set aside an estimate for one call.

        Raises BudgetError when the pool is already spent or cannot cover the estimate.
        """
        pool = self.pool
        if pool.tokens < tokens or pool.tokens <= 0:
            raise _short("token", "tokens", pool.tokens, tokens)
        if pool.cost < cost or pool.cost <= 0:
            raise _short("cost", "cost", pool.cost, cost)
        pool.tokens -= tokens
        pool.cost -= cost
        return Lease(pool, tokens, cost)


class _CappedPool(Pool):
    """A share of a parent's pool: whatever is spent here is spent there, and never more than the cap."""

    __slots__ = ("_cap", "_parent")

    def __init__(self, parent: Pool, cap: Pool) -> None:
        self._parent = parent
        self._cap = cap

    @property  # a view, not storage: reads the smaller, writes both
    def retries(self) -> float:
        return min(self._parent.retries, self._cap.retries)

    @retries.setter
    def retries(self, value: float) -> None:
        spent = self.retries - value
        self._parent.retries -= spent
        self._cap.retries -= spent

    @property
    def tokens(self) -> float:
        return min(self._parent.tokens, self._cap.tokens)

    @tokens.setter
    def tokens(self, value: float) -> None:
        spent = self.tokens - value
        self._parent.tokens -= spent
        self._cap.tokens -= spent

    @property
    def cost(self) -> float:
        return min(self._parent.cost, self._cap.cost)

    @cost.setter
    def cost(self, value: float) -> None:
        spent = self.cost - value
        self._parent.cost -= spent
        self._cap.cost -= spent


def _short(what: str, key: str, left: float, needed: float) -> BudgetError:
    more = f"give the run a larger budget: {key}"
    if left <= 0:
        return BudgetError(f"{what} budget is spent, so no further call is made; {more}")
    return BudgetError(
        f"{what} budget is too small: {_figure(left)} left, the call needs {_figure(needed)} or more; {more}"
    )


def _figure(value: float) -> str:
    """Whole where it is whole, since tokens are counted; else to nine digits."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.9g}"


def _pool(spec: BudgetSpec) -> Pool:
    retries, tokens, cost = spec.retries, spec.tokens, spec.cost
    if retries is None and tokens is None and cost is None:
        return Pool()
    return Pool(
        UNLIMITED if retries is None else retries,
        UNLIMITED if tokens is None else tokens,
        UNLIMITED if cost is None else cost,
    )


def _deadlines(spec: BudgetSpec, now: float) -> tuple[float | None, float | None]:
    if spec.deadline is None:
        return None, None
    final = now + spec.deadline.total_seconds()
    return final - spec.reserve.total_seconds() if spec.reserve else final, final


def _earlier(a: float | None, b: float | None) -> float | None:
    if a is None or b is None:
        return b if a is None else a
    return min(a, b)
