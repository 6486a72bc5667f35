"""What travels with a call of a step."""

import math
from typing import Final

from stretto.acp.messages import MAX_UINT32, BudgetLeft, ComponentRef, Envelope
from stretto.acp.version import CURRENT
from stretto.types.budget import UNLIMITED, Budget
from stretto.types.messages import Call

_MS: Final = 1000.0


def envelope_of(call: Call, ref: ComponentRef, now: float) -> Envelope:
    """The envelope of one attempt; its remaining time counts from `now`, an event-loop time."""
    run = call.run
    return Envelope(
        protocol=CURRENT,
        run_id=run.id,
        step_path=call.path,
        attempt=call.attempt,
        previous_attempts=call.previous_attempts,
        component=ref,
        remaining_ms=_remaining_ms(call.deadline, now),
        budget=_left(call.budget),
        effect_key=call.effect_key,
        effect=call.effect,
        action=call.action,
        traceparent=run.traceparent,
        tracestate=run.tracestate,
        baggage=dict(run.baggage),
        tenant=run.tenant,
        labels=dict(run.labels),
        seed=str(run.seed),
        workflow_run_id=run.workflow_run_id,
    )


def _remaining_ms(deadline: float | None, now: float) -> int | None:
    """Rounded down: the other side must not believe that it has longer."""
    return None if deadline is None else _whole((deadline - now) * _MS)


def _left(budget: Budget) -> BudgetLeft:
    pool = budget.pool
    return BudgetLeft(
        retries=None if pool.retries == UNLIMITED else _whole(pool.retries),
        tokens=None if pool.tokens == UNLIMITED else _whole(pool.tokens),
        cost=None if pool.cost == UNLIMITED else max(0.0, pool.cost),
    )


def _whole(left: float) -> int:
    """As a uint32."""
    whole = math.floor(left)
    return 0 if whole < 0 else MAX_UINT32 if whole > MAX_UINT32 else whole
