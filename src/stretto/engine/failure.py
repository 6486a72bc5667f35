"""Failures as data: one place that says what an exception means for a step and its run."""

import asyncio
from enum import StrEnum

from stretto.engine.alarm import Alarm
from stretto.record.model import ErrorInfo
from stretto.record.texts import MESSAGE_CHARS, TEXT_CHARS, log_raised, recordable, text_of
from stretto.types.enums import Reason
from stretto.types.errors import (
    BreakerOpenError,
    BudgetError,
    Code,
    ComponentError,
    ContractError,
    InDoubtError,
    RejectedError,
    StrettoError,
    Violation,
)
from stretto.types.ids import StepPath


def as_component_error(name: str, error: BaseException, did: str = "raised") -> ComponentError:
    """What a component raised, as a `ComponentError`; kinds classify better where they know more."""
    if isinstance(error, ComponentError):
        return error
    if isinstance(error, asyncio.CancelledError):
        return cancelled_by_itself(name, did)
    log_raised(name, error)
    text = f"component '{name}' {did} {type(error).__name__}: {text_of(error)}"
    if isinstance(error, StrettoError) or not isinstance(error, Exception):
        return ComponentError(text, Code.INTERNAL)
    if isinstance(error, TimeoutError):
        return ComponentError(text, Code.DEADLINE_EXCEEDED)
    if isinstance(error, OSError):
        return ComponentError(text, Code.UNAVAILABLE)
    return ComponentError(text, Code.UNKNOWN)


def cancelled_by_itself(name: str, did: str = "raised") -> ComponentError:
    """A CancelledError that nobody's cancellation of the step explains: a task or future inside was cancelled."""
    return ComponentError(
        f"component '{name}' {did} CancelledError, and nobody had cancelled it: something that it waited for was "
        "cancelled. Catch that where it happens, and raise an error that says what could not be done",
        Code.CANCELLED,
    )


class Whose(StrEnum):
    """Who is behind an exception that came out of a component."""

    COMPONENT = "component"
    """Its own code."""
    DEADLINE = "deadline"
    """The alarm, and nobody else."""
    OUTSIDE = "outside"
    """Whoever runs the process: it goes on through the engine."""


def whose(error: BaseException, alarm: Alarm) -> Whose:
    """Who is behind an exception that came out of a component; what the alarm asked of the task is taken back.

    That also when the component made another exception of it, or what its task does next were taken for late. Ctrl-C
    is raised wherever the program stands, also inside a component, and must end it. Whoever cancels the task,
    drops it, or gives up the component that waits for this one, stops what is inside with CancelledError or
    GeneratorExit.
    """
    if isinstance(error, KeyboardInterrupt):
        return Whose.OUTSIDE
    is_alarm_only = alarm.took()
    if not isinstance(error, GeneratorExit | asyncio.CancelledError):
        return Whose.COMPONENT
    if is_alarm_only and isinstance(error, asyncio.CancelledError):
        return Whose.DEADLINE
    is_in_its_task = asyncio.current_task(alarm.task.get_loop()) is alarm.task
    return Whose.COMPONENT if is_in_its_task and not alarm.is_task_cancelled else Whose.OUTSIDE


def error_info(error: StrettoError, path: StepPath | str) -> ErrorInfo:
    """An error as it is kept on the record."""
    return ErrorInfo(
        code=recordable(error.code, TEXT_CHARS) if isinstance(error.code, str) else StrettoError.code,
        message=text_of(error, MESSAGE_CHARS),
        rpc_code=error.rpc_code.value if isinstance(error, ComponentError) else "",
        path=path,
        violations=tuple(map(_recordable, error.violations)) if isinstance(error, ContractError) else (),
    )


def _recordable(violation: Violation) -> Violation:
    return Violation(
        pointer=recordable(violation.pointer, TEXT_CHARS), message=recordable(violation.message, TEXT_CHARS)
    )


def reason_of(error: StrettoError) -> Reason:
    """Why a step that failed so was downgraded."""
    if isinstance(error, InDoubtError):
        return Reason.IN_DOUBT
    if isinstance(error, ContractError | RejectedError):
        return Reason.CONTRACT
    if isinstance(error, BudgetError):
        return Reason.BUDGET
    if isinstance(error, BreakerOpenError):
        return Reason.BREAKER
    if isinstance(error, ComponentError):
        if error.rpc_code is Code.DEADLINE_EXCEEDED:
            return Reason.CONGESTION if error.of_load else Reason.TIMEOUT
        if error.rpc_code is Code.RESOURCE_EXHAUSTED:
            return Reason.CONGESTION
    return Reason.ERROR
