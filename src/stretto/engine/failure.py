"""Failures as data: one place that says what an exception means for a step and its run."""

from typing import Final

from stretto.record.model import ErrorInfo
from stretto.types.enums import Reason
from stretto.types.errors import (
    BudgetError,
    Code,
    ComponentError,
    ContractError,
    InDoubtError,
    StrettoError,
)
from stretto.types.ids import StepPath

NOTHING_HAPPENED: Final = frozenset(
    {
        Code.INVALID_ARGUMENT,
        Code.NOT_FOUND,
        Code.ALREADY_EXISTS,
        Code.PERMISSION_DENIED,
        Code.RESOURCE_EXHAUSTED,
        Code.FAILED_PRECONDITION,
        Code.ABORTED,
        Code.OUT_OF_RANGE,
        Code.UNIMPLEMENTED,
        Code.UNAUTHENTICATED,
    }
)
"""Codes by which a component says that it refused the request: a write that failed so did not happen. After every
other code (a time-out, a lost connection, a crash) it may have, and the write is in doubt."""


def as_component_error(name: str, error: Exception) -> ComponentError:
    """What a component raised, as a `ComponentError`; kinds classify better where they know more."""
    if isinstance(error, ComponentError):
        return error
    text = f"component '{name}' raised {type(error).__name__}: {error}"
    if isinstance(error, StrettoError):
        return ComponentError(text, Code.INTERNAL)
    if isinstance(error, TimeoutError):
        return ComponentError(text, Code.DEADLINE_EXCEEDED)
    if isinstance(error, OSError):
        return ComponentError(text, Code.UNAVAILABLE)
    return ComponentError(text, Code.UNKNOWN)


def cancelled_by_itself(name: str) -> ComponentError:
    """A CancelledError that nobody's cancellation of the step explains: a task or future inside was cancelled."""
    return ComponentError(
        f"component '{name}' raised CancelledError, and nobody had cancelled the step: something that it waited for "
        "was cancelled. Catch that where it happens, and raise an error that says what could not be done",
        Code.CANCELLED,
    )


def error_info(error: StrettoError, path: StepPath | str) -> ErrorInfo:
    """An error as it is kept on the record."""
    return ErrorInfo(
        code=error.code,
        message=str(error),
        rpc_code=error.rpc_code.value if isinstance(error, ComponentError) else "",
        path=path,
        violations=error.violations if isinstance(error, ContractError) else (),
    )


def reason_of(error: StrettoError) -> Reason:
    """Why a step that failed so was downgraded."""
    if isinstance(error, InDoubtError):
        return Reason.IN_DOUBT
    if isinstance(error, ContractError):
        return Reason.CONTRACT
    if isinstance(error, BudgetError):
        return Reason.BUDGET
    if isinstance(error, ComponentError):
        if error.rpc_code is Code.DEADLINE_EXCEEDED:
            return Reason.TIMEOUT
        if error.rpc_code is Code.RESOURCE_EXHAUSTED:
            return Reason.CONGESTION
    return Reason.ERROR
