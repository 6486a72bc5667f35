"""What a run may spend that answers a call: the least of what its workflow allows and what the caller has left."""

import asyncio
import math
from datetime import timedelta
from typing import Final

import msgspec

from stretto.types.budget import UNLIMITED, BudgetSpec
from stretto.types.messages import Call

_PART_KEPT: Final = 0.05
_MOST_KEPT_S: Final = 0.1
"""Of the caller's time, for the way of the answer: a run that ends when it is over is cut off with its answer."""

_LEAST: Final = timedelta(milliseconds=1)
"""Of time: what is less than that was refused before."""


def allowance(own: BudgetSpec, call: Call) -> BudgetSpec:
    """The budget of the run. A reserve that leaves no time for work is cut to half of what there is."""
    pool = call.budget.pool
    deadline = _earlier(own.deadline, _left(call.deadline))
    reserve = own.reserve if deadline is None or own.reserve < deadline else deadline / 2
    return msgspec.structs.replace(
        own,
        deadline=deadline,
        reserve=reserve,
        retries=_whole(own.retries, pool.retries),
        tokens=_whole(own.tokens, pool.tokens),
        cost=own.cost if pool.cost == UNLIMITED else max(0.0, min(pool.cost, _or_unlimited(own.cost))),
    )


def _left(deadline: float | None) -> timedelta | None:
    if deadline is None:
        return None
    left_s = deadline - asyncio.get_running_loop().time()
    return max(_LEAST, timedelta(seconds=left_s - min(left_s * _PART_KEPT, _MOST_KEPT_S)))


def _earlier(own: timedelta | None, left: timedelta | None) -> timedelta | None:
    if own is None or left is None:
        return left if own is None else own
    return min(own, left)


def _whole(own: int | None, left: float) -> int | None:
    return own if left == UNLIMITED else max(0, math.floor(min(left, _or_unlimited(own))))


def _or_unlimited(limit: float | None) -> float:
    return UNLIMITED if limit is None else limit
