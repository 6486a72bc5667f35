"""How a component calls others: through the engine, so that the call is checked, bounded and recorded."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from stretto.engine.state import Lane, RunState, StepFailed
from stretto.plan.model import CallOp
from stretto.types.enums import Effect, RunStatus
from stretto.types.errors import (
    BreakerOpenError,
    Code,
    ComponentError,
    InDoubtError,
    ReplayError,
    ShedError,
    StrettoError,
    UsageError,
)
from stretto.types.ids import StepPath
from stretto.types.json import JsonObject
from stretto.types.waited import forget_wait

MakeCall: TypeAlias = Callable[[CallOp, JsonObject, StepPath, Lane], Awaitable[JsonObject]]
"""Makes a call that belongs to the one around it."""


class NestedCaller:
    """Each call is a step of its own, at ``<path>/<component>#<n>``. Implements `types.messages.Caller`."""

    __slots__ = ("_counts", "_lane", "_make", "_path", "_state")

    def __init__(self, state: RunState, lane: Lane, path: StepPath, make: MakeCall) -> None:
        self._state = state
        self._lane = lane
        self._path = path
        self._make = make
        self._counts: dict[str, int] = {}

    async def call(self, component: str, request_input: JsonObject) -> JsonObject:
        """The component's output; raises ComponentError when it has none. Calls are numbered in the order made.

        Raises CancelledError when the step around it was cancelled and the component answered over that, and for
        every call after that.
        """
        if self._state.run.status is not None:
            raise UsageError(
                f"run {self._state.run.id} has ended, and '{component}' was to be called in it by what step "
                f"'{self._path}' left behind; await every call before the component answers"
            )
        await self._hold_to_cancellation()
        op = self._state.plan.nested.get(component)
        if op is None:
            raise UsageError(f"no component '{component}' in this workflow; it has {sorted(self._state.plan.nested)}")
        number = self._counts[component] = self._counts.get(component, 0) + 1
        path = StepPath(f"{self._path}/{component}#{number}")
        may_write = _effect_of(op, request_input) is Effect.WRITE
        alarm = self._state.watch.alarm_inside(self._lane.alarm)
        try:
            output = await self._make(op, request_input, path, Lane(alarm, self._lane.budget))
        except StepFailed as failure:
            error = _as_raised(failure)
            if isinstance(error, ComponentError):
                error.is_of_another = True
            raise error from failure
        except asyncio.CancelledError as cancelled:
            forget_wait(cancelled)
            raise
        if alarm.is_task_cancelled and not may_write:  # it was answered over; what a write answered must not be lost
            raise asyncio.CancelledError
        return output

    async def _hold_to_cancellation(self) -> None:
        """Begin nothing more after the step was cancelled, also when a component inside answered over that."""
        if self._lane.alarm.is_task_cancelled:
            await asyncio.sleep(0)  # what a task group in the component left standing is taken back once it waits
            if self._lane.alarm.is_task_cancelled:
                raise asyncio.CancelledError


def _effect_of(op: CallOp, request_input: JsonObject) -> Effect:
    """What a call may do; an action is named in its request, which the component may change."""
    if not op.action_field:
        return op.effect
    card = op.component.card
    return card.effect_of(card.action_of(request_input))


def _as_raised(failure: StepFailed) -> StrettoError:
    """What a component is told of a call that failed; only what it may answer for is an ordinary ComponentError."""
    error = failure.error
    if failure.status is RunStatus.PARKED:
        return InDoubtError(error.message)
    if error.code == ReplayError.code:
        return ReplayError(error.message)
    if error.code == BreakerOpenError.code:  # neither says anything of the component around it
        return BreakerOpenError(error.message, retry_after_s=0.0)
    if error.code == ShedError.code:
        return ShedError(error.message)
    return ComponentError(error.message, Code(error.rpc_code or Code.INTERNAL), retryable=False)
