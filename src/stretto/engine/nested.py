"""How a component calls others: through the engine, so that the call is checked, bounded and recorded."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from stretto.engine.state import Lane, RunState, StepFailed
from stretto.plan.model import CallOp
from stretto.types.enums import RunStatus
from stretto.types.errors import Code, ComponentError, InDoubtError, ReplayError, StrettoError, UsageError
from stretto.types.ids import StepPath
from stretto.types.json import JsonObject

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
        """The component's output; raises ComponentError when it has none. Calls are numbered in the order made."""
        if self._state.run.status is not None:
            raise UsageError(
                f"run {self._state.run.id} has ended, and '{component}' was to be called in it by what step "
                f"'{self._path}' left behind; await every call before the component answers"
            )
        op = self._state.plan.nested.get(component)
        if op is None:
            raise UsageError(f"no component '{component}' in this workflow; it has {sorted(self._state.plan.nested)}")
        number = self._counts[component] = self._counts.get(component, 0) + 1
        path = StepPath(f"{self._path}/{component}#{number}")
        try:
            return await self._make(op, request_input, path, Lane(self._state.watch.alarm(), self._lane.budget))
        except StepFailed as failure:
            raise _as_raised(failure) from failure


def _as_raised(failure: StepFailed) -> StrettoError:
    """What a component is told of a call that failed; only what it may answer for is an ordinary ComponentError."""
    error = failure.error
    if failure.status is RunStatus.PARKED:
        return InDoubtError(error.message)
    if error.code == ReplayError.code:
        return ReplayError(error.message)
    return ComponentError(error.message, Code(error.rpc_code or Code.INTERNAL), retryable=False)
