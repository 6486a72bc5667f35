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
from stretto.types.errors import BudgetError, Code, ComponentError

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
        run.error = msgspec.structs.replace(info, message=told, rpc_code=Code.UNAVAILABLE.value)
    except asyncio.CancelledError as error:
        if whose(error, alarm) is not Whose.DEADLINE:
            raise
        late = BudgetError("the time of the run was spent before its components were open")
        run.status, run.reason = RunStatus.EXPIRED, Reason.BUDGET
        run.error = error_info(late, "")
    finally:
        alarm.disarm()
