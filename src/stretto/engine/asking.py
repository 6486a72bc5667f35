"""Ask a component and wait for it until its deadline: the one boundary that catches everything."""

import asyncio
from collections.abc import Awaitable
from types import CoroutineType

from stretto.engine.driven import awaited, driven, driven_on
from stretto.engine.effects import in_doubt_inside, over_doubt
from stretto.engine.failure import Whose, as_component_error, whose
from stretto.engine.opening import open_again
from stretto.engine.state import Lane, RunState
from stretto.plan.model import CallOp
from stretto.types.enums import Effect
from stretto.types.errors import Code, ComponentError, ReplayError, ShedError, UsageError
from stretto.types.messages import Request, Response
from stretto.types.waited import NeverBegun, Waited


async def ask(state: RunState, op: CallOp, lane: Lane, request: Request) -> Response:
    """The component's response; raises ComponentError for whatever else it does.

    A late answer to a write is taken: it happened. A late answer to anything else is refused.
    """
    alarm, deadline = lane.alarm, request.call.deadline
    try:
        is_begun = not (op.per_run or state.shut)  # as most are
        answer = op.component(request) if is_begun else await _begun(state, op, lane, request)
        coroutine = answer if type(answer) is CoroutineType else awaited(answer)
        try:
            waiting = coroutine.send(None)
        except StopIteration as done:  # as of most that wait for nothing: `driven` without its generator
            response: Response = done.value
        else:
            alarm.deadline = deadline
            response = await driven_on(coroutine, waiting, alarm)
    except (UsageError, ReplayError):
        alarm.took()  # it may have rung before
        raise
    except BaseException as error:
        match whose(error, alarm):
            case Whose.COMPONENT:
                raise as_component_error(op.component_name, error) from error
            case Whose.DEADLINE if isinstance(error.__cause__, NeverBegun):
                raise _never_had_a_turn(op, error.__cause__) from None
            case Whose.DEADLINE:
                waited = error.__cause__.queue_ms if isinstance(error.__cause__, Waited) else 0.0
                raise _timed_out(op, lane, deadline, waited) from None
            case Whose.OUTSIDE:
                raise
    finally:
        if alarm.deadline is not None:
            alarm.disarm()
    if deadline is not None and (alarm.rang or state.now() > deadline):
        _hold_to_deadline(op, lane, request, response, state.now() - deadline)
    if op.calls_others and in_doubt_inside(state, request.call.path):
        raise over_doubt(request.call.path, None)
    return response


def _hold_to_deadline(op: CallOp, lane: Lane, request: Request, response: Response, late_s: float) -> None:
    """Refuse an answer that came after the deadline, but for that to a write."""
    alarm, waited = lane.alarm, response.queue_ms if isinstance(response, Response) else 0.0
    deadline = request.call.deadline
    late = _timed_out(op, lane, deadline, waited) if alarm.rang else _held_the_loop(op, late_s, waited)
    alarm.took()
    if request.call.effect is not Effect.WRITE:
        raise late


async def _begun(state: RunState, op: CallOp, lane: Lane, request: Request) -> Awaitable[Response]:
    """The call of a component that may have to be opened first, or that has a session for the run."""
    lane.alarm.deadline = request.call.deadline
    if state.shut:
        await open_again(state, op.component_name, lane)
    return await _begun_in_session(state, op, lane, request) if op.per_run else op.component(request)


async def _begun_in_session(state: RunState, op: CallOp, lane: Lane, request: Request) -> Awaitable[Response]:
    session = await driven(state.sessions.get(op.component), lane.alarm)
    if lane.alarm.cancellations:  # it was opened over that; nothing more is begun
        raise asyncio.CancelledError
    return session(request)


def _never_had_a_turn(op: CallOp, never: NeverBegun) -> ShedError:
    return ShedError(
        f"component '{op.component_name}' waited {never.queue_ms / 1000:.3g} s for {never.awaited}, until its "
        f"deadline, and was not asked: {never.remedy}",
        queue_ms=never.queue_ms,
    )


def _timed_out(op: CallOp, lane: Lane, deadline: float | None, queue_ms: float) -> ComponentError:
    budget = lane.budget.work_deadline
    if budget is not None and deadline is not None and deadline >= budget:
        whose = "in the time that was left to it"
    elif op.timeout_s is not None:
        whose = f"within {op.timeout_s:g} s, the time-out of the step"
    else:
        whose = "before another call of the same did"  # it was hedged: nobody reads this
    text = f"component '{op.component_name}' did not answer {whose}"
    return _with_wait(ComponentError(text, Code.DEADLINE_EXCEEDED), queue_ms)


def _held_the_loop(op: CallOp, late_s: float, queue_ms: float) -> ComponentError:
    error = ComponentError(
        f"component '{op.component_name}' answered {late_s:.3g} s after its deadline without letting it fire: "
        "it blocked the event loop. Await instead of blocking, or make it a plain function: those run in a thread",
        Code.DEADLINE_EXCEEDED,
    )
    return _with_wait(error, queue_ms)


def _with_wait(error: ComponentError, queue_ms: float) -> ComponentError:
    """Set without a check: it may be a component's own word, which is held to sense where it is recorded."""
    error.queue_ms = queue_ms
    return error
