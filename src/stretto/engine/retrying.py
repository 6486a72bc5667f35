"""Whether a call is made again: its own rule, its component's quota and its run's budget must all allow it."""

import asyncio
from typing import Final

from stretto.engine.called import Called
from stretto.engine.recording import note_failure
from stretto.types.enums import Effect
from stretto.types.errors import (
    BreakerOpenError,
    Code,
    ComponentError,
    ContractError,
    ExpressionError,
    InDoubtError,
    RejectedError,
    ShedError,
    StrettoError,
)
from stretto.types.json import JsonObject

WITHHELD: Final = "retry_withheld"
"""Evidence of a step that was not tried again, though it declares it."""


async def wait_for_next(
    called: Called, number: int, began: float, error: ComponentError, last_s: float
) -> tuple[int, float]:
    """Record a failed attempt and wait for the next: its number, and how many seconds it waited.

    Raises the error when there is no next attempt. `last_s` is how long the one before waited.
    """
    state, lane, op = called.state, called.lane, called.op
    note_failure(called, began, error)
    if isinstance(error, ContractError | InDoubtError | BreakerOpenError) or lane.alarm.is_task_cancelled:
        raise error
    now = state.now()
    delay_s = op.retry.delay_s(called.before + number, error, state.jitter.random(), last_s)
    if delay_s is None or not _has_time(called, began, now, now + delay_s, error):
        raise error
    if not may_call_again(called, now, error):
        raise error
    state.run.retries += 1
    if delay_s > 0:
        await asyncio.sleep(delay_s)
    if state.run.status is not None:  # the run ended meanwhile, and a component had left this call behind
        raise error
    called.begin_anew()
    return number + 1, delay_s


def _has_time(called: Called, began: float, ended: float, again: float, error: ComponentError) -> bool:
    """Whether an attempt that begins at `again` has time to be answered.

    One that was too late although it had all that the run had left is not made again in less time than it took: a
    server that was given the deadline gives up a little before it, and what is begun then leaves a write in doubt.
    """
    within = called.lane.budget.work_deadline
    if within is None:
        return True
    if again >= within:
        return False
    timeout_s = called.op.timeout_s
    had_all = timeout_s is None or within - began <= timeout_s
    if error.rpc_code is not Code.DEADLINE_EXCEEDED or not had_all or within - again >= ended - began:
        return True
    called.note(WITHHELD, f"{within - again:.3g} s are left, and an attempt of {ended - began:.3g} s was too late")
    return False


def may_call_again(called: Called, now: float, error: StrettoError | None = None) -> bool:
    """Take one more call from the component's quota and from the run's budget, if both have one left.

    What was shed never reached the component: trying again adds nothing to its load.
    """
    protection = called.state.protections.get(called.op.component_name)
    if protection is None or isinstance(error, ShedError):
        return called.lane.budget.take_retry()
    if not protection.take_retry(now):
        called.note(WITHHELD, f"the quota of component '{called.name}' is used up: retries are a part of its calls")
        return False
    if called.lane.budget.take_retry():
        return True
    protection.give_back_retry()
    return False


def hold_to_use(called: Called, output: JsonObject) -> None:
    """Raise RejectedError for an answer that the step's `retry.when` says is none, or that it cannot be asked of, as a
    null where text was expected. What was written stands."""
    op = called.op
    if op.rejects is None or called.effect is Effect.WRITE:
        return
    try:
        if op.rejects([output, called.decoded_request()]) is not True:
            return
    except ExpressionError as error:
        raise RejectedError(
            f"the `when` of the step's `retry` cannot be asked of the answer of component '{called.name}': {error}"
        ) from error
    raise RejectedError(
        f"the answer of component '{called.name}' counts as none: `{op.rejects_source}` reads true of it, the `when` "
        "of the step's `retry`"
    )
