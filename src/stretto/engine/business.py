"""What answers in the place of a workflow: when it is asked, what it is told, and what becomes of the run.

    enough failures in a row? ─yes─▶ the fallback answers at once
            │ no
    are the components open? ─no, and they do not open─▶ the fallback answers (`opening`)
            │ yes
    the run's own work, until its working time is over ─ok─▶ its answer
            │ failed, or out of time
    the fallback answers, within the reserve ─▶ `business_fallback`; if it fails too, the run failed of both

A run that was cancelled is not answered, nor one that leaves a write in doubt: nothing is papered over. A replay that
cannot be made is no failure of the workflow.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from stretto.engine.alarm import GRACE_S
from stretto.engine.blame import tells_of_fault
from stretto.engine.call import StepCall
from stretto.engine.failure import error_info
from stretto.engine.meaning import keep_output, was_told_nothing
from stretto.engine.request import RunRequest
from stretto.engine.run_root import run_root
from stretto.engine.seen import around
from stretto.engine.standby import Standby
from stretto.engine.state import Lane, RunState, StepFailed
from stretto.engine.streak import LEASE_S
from stretto.plan.model import INPUT, RESOURCES, RUN, BusinessFallback, Frame, Plan
from stretto.record.model import NULL, ErrorInfo, Run
from stretto.record.texts import MESSAGE_CHARS, recordable
from stretto.types.budget import Budget, BudgetSpec, Pool
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import (
    ContractError,
    ExpressionError,
    NotJsonError,
    ReplayError,
    ShedError,
)
from stretto.types.ids import FALLBACK_PATH
from stretto.types.json import JsonObject

FAILURES: Final = frozenset({RunStatus.FAILED, RunStatus.EXPIRED})
"""Ends of a run after which its fallback answers."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a run did not answer."""

    status: RunStatus
    reason: Reason
    error: ErrorInfo


def grace_s(limits: BudgetSpec) -> float:
    """What a component gets for cleaning up when the run's working time is over: at most half of the reserve."""
    return min(GRACE_S, limits.reserve.total_seconds() / 2) if limits.reserve else GRACE_S


async def stand_by(
    state: RunState,
    business: BusinessFallback,
    standby: Standby | None,
    request: RunRequest,
    frame: Frame,
    lane: Lane,
    work: Callable[[], Awaitable[None]],
) -> None:
    """Do the run's work, or let the fallback answer; the run's status says what became of it.

    `standby` knows of the runs before; without it the run is tried whatever they came to, and says nothing to others.
    """
    run = state.run
    phase = None if standby is None else standby.streak.enter(state.now(), _lease_s(state, lane))
    if standby is not None and phase is None:
        error = error_info(standby.refusal(state.now()), "")
        failure = Failure(status=RunStatus.FAILED, reason=Reason.BREAKER, error=error)
    else:
        try:
            await work()
        finally:
            told = _failure(state)
            if standby is not None and phase is not None:
                _tell(standby, phase, state, request, told)
        if told is None:
            return
        failure = told
    run.status = None
    if standby is not None:
        standby.count(failure.reason)
    await _answer(state, business, frame, lane, failure)


def _lease_s(state: RunState, lane: Lane) -> float:
    deadline = lane.budget.final_deadline
    return LEASE_S if deadline is None else deadline - state.now()


def _failure(state: RunState) -> Failure | None:
    """Why the fallback must answer; None when it must not."""
    run = state.run
    if run.status not in FAILURES or run.error is None or run.error.code == ReplayError.code:
        return None
    if any(effect.in_doubt for effect in state.receipts.values()):
        return None
    return Failure(status=run.status, reason=run.reason or Reason.ERROR, error=run.error)


def _tell(standby: Standby, phase: int, state: RunState, request: RunRequest, failure: Failure | None) -> None:
    """Tell how a run ended."""
    if state.run.succeeded:
        standby.streak.succeeded(phase)
    elif failure is None or _is_callers(failure, request, state.run):
        standby.streak.dropped(phase, state.now())
    else:
        standby.streak.failed(phase, state.now(), failure.error.message)


def _is_callers(failure: Failure, request: RunRequest, run: Run) -> bool:
    """Whether a failure says nothing of the workflow, but of what was asked, and of how many ask: a budget of the
    caller's own, texts that mean nothing, what a component refused or had no place for. Else three who ask for what is
    not there would take it from all others."""
    if failure.reason is Reason.BUDGET and request.budget is not None:
        return True
    error = failure.error
    was_refused = error.code == ShedError.code or bool(error.rpc_code and not tells_of_fault(error))
    return was_refused or was_told_nothing(error, run)


async def _answer(state: RunState, business: BusinessFallback, frame: Frame, lane: Lane, failure: Failure) -> None:
    """Ask the fallback, within the reserve."""
    run = state.run
    frame[RUN] = {**run_root(run, state.downgrades), "failure": _as_told(state, failure)}
    run.reason, run.error = failure.reason, failure.error
    if state.live is not None:
        frame[RESOURCES] = around(state)
    try:
        frame[business.op.slot] = await _ask(state, business, frame, lane)
        keep_answer(run, state.plan, business, frame)
    except StepFailed as second:
        _fail_of_both(state, failure, second.error.message)
    except (ExpressionError, ContractError, NotJsonError) as error:
        _fail_of_both(state, failure, str(error))
    else:
        run.status = RunStatus.BUSINESS_FALLBACK


async def _ask(state: RunState, business: BusinessFallback, frame: Frame, lane: Lane) -> JsonObject:
    final = _final(state, lane)
    reserve = Lane(lane.alarm, Budget(Pool(), final, final))  # tokens and cost that are spent bind no rule
    data = request_of(business, frame)
    is_simulated = any(step.simulated for step in state.run.steps)
    op = business.op
    answer = await StepCall(
        state, op, data, FALLBACK_PATH, reserve, state.now(), op.action, op.effect, is_simulated
    ).run()
    if lane.alarm.is_task_cancelled:  # as after any step: it answered over that
        raise asyncio.CancelledError
    return answer


def _final(state: RunState, lane: Lane) -> float | None:
    """By when it must answer: the deadline. Where that is near or over the event loop was held, since what is cancelled
    keeps no more than half of the reserve; then it has the other half still: late is better than not at all."""
    final = lane.budget.final_deadline
    return None if final is None else max(final, state.now() + state.watch.grace_s)


def keep_answer(run: Run, plan: Plan, business: BusinessFallback, frame: Frame) -> JsonObject:
    """Make the workflow's output of what its fallback answered, and keep it in the run.

    Raises ExpressionError when none can be made of it; ContractError, or NotJsonError, when it may not stand.
    """
    answer: JsonObject = frame[business.op.slot]
    output = {name: get(frame) for name, get in business.output} if business.output else answer
    what = f"the answer of the fallback of workflow '{plan.name}'"
    return keep_output(run, plan, business.crossings_out, output, what)


def request_of(business: BusinessFallback, frame: Frame) -> JsonObject:
    """What the fallback is asked, on the frame of a run."""
    if business.is_mapped:
        return {name: get(frame) for name, get in business.op.inputs}
    given: JsonObject = frame[INPUT]
    return {name: value for name, value in given.items() if business.takes is None or name in business.takes}


def _as_told(state: RunState, failure: Failure) -> JsonObject:
    """What `run.failure` reads."""
    error = failure.error
    component = next((step.component for step in reversed(state.run.steps) if step.path == error.path), "")
    return {
        "step": error.path,
        "component": component,
        "reason": failure.reason.value,
        "code": error.code,
        "message": error.message,
    }


def _fail_of_both(state: RunState, failure: Failure, second: str) -> None:
    """The run failed, and its fallback after it: the record tells both."""
    message = f"{failure.error.message}; and the workflow's fallback, which was to answer, failed too: {second}"
    state.run.error = msgspec.structs.replace(failure.error, message=recordable(message, MESSAGE_CHARS))
    state.run.status, state.run.reason, state.run.output = failure.status, failure.reason, NULL
