"""Work that waits until the components are open, where a fallback answers for those that do not open."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

import msgspec

from stretto.engine.driven import driven
from stretto.engine.failure import Whose, error_info, reason_of, whose
from stretto.engine.seen import around
from stretto.engine.state import Lane, RunState
from stretto.plan.model import RESOURCES, Frame
from stretto.record.texts import MESSAGE_CHARS, recordable
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import BudgetError, Code, ComponentError, NotOpenError

Opens: TypeAlias = Callable[[], Coroutine[Any, Any, None] | None]
"""What a run waits for before its work is begun; None when all components are open."""


async def once_open(
    opens: Opens, state: RunState, frame: Frame, lane: Lane, work: Callable[[], Awaitable[None]]
) -> None:
    """Do the work once the components are open; the run has failed when one does not open in its working time."""
    opening = opens()
    if opening is not None:
        await _open(opening, state, lane)
        if state.live is not None:  # its probes may be among them
            frame[RESOURCES] = around(state)
    if state.run.status is None:
        await work()


async def open_again(state: RunState, name: str, lane: Lane) -> None:
    """Open a component that did not open before, within the time that the lane's alarm is set to.

    Raises NotOpenError when it does not.
    """
    opens = state.shut.get(name)
    if opens is None:
        return
    try:
        await driven(opens(), lane.alarm)
    except ComponentError as error:
        # whatever its code says of how it was set up: it refused nothing of what this call asks
        raise NotOpenError(f"component '{name}' could not be opened: {error}") from error
    except asyncio.CancelledError as error:
        if whose(error, lane.alarm) is not Whose.DEADLINE:
            raise
        text = f"component '{name}' did not open before, nor in the time that was left to the call"
        raise NotOpenError(text, Code.DEADLINE_EXCEEDED) from None
    if lane.alarm.cancellations:  # it was opened over that; nothing more is begun
        raise asyncio.CancelledError


async def _open(opening: Coroutine[Any, Any, None], state: RunState, lane: Lane) -> None:
    alarm, run = lane.alarm, state.run
    alarm.deadline = lane.budget.work_deadline
    try:
        await driven(opening, alarm)
    except ComponentError as error:
        info = error_info(error, "")
        told = recordable(f"not everything could be opened: {info.message}", MESSAGE_CHARS)
        run.status, run.reason = RunStatus.FAILED, reason_of(error)
        # whatever its code says of how it was set up: it refused nothing of what this run asks
        run.error = msgspec.structs.replace(info, code=NotOpenError.code, message=told, rpc_code=Code.UNAVAILABLE.value)
    except asyncio.CancelledError as error:
        if whose(error, alarm) is not Whose.DEADLINE:
            raise
        late = BudgetError("the time of the run was spent before its components were open")
        run.status, run.reason = RunStatus.EXPIRED, Reason.BUDGET
        run.error = error_info(late, "")
    finally:
        alarm.disarm()
