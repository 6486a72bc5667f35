"""Whether the way that a call ended says something of the component that was called."""

from typing import Final

from stretto.record.model import ErrorInfo
from stretto.types.errors import BreakerOpenError, Code, ComponentError, ContractError, MeaningError, ShedError

COMPONENTS_FAULT: Final = frozenset(
    {
        Code.DEADLINE_EXCEEDED,
        Code.UNAVAILABLE,
        Code.INTERNAL,
        Code.UNKNOWN,
        Code.RESOURCE_EXHAUSTED,
        Code.DATA_LOSS,
        Code.CANCELLED,
    }
)
"""Codes that say something of the component. All others say something of the request, and of who made it."""


def says_something(error: BaseException | None) -> bool:
    """Whether a call that ended so is one by which a component can be judged: not when it was stopped from outside, or
    when what it called in turn was refused."""
    return error is None or (isinstance(error, ComponentError) and not isinstance(error, BreakerOpenError | ShedError))


def is_late(error: BaseException | None) -> bool:
    """Whether a call was given up because it took too long: it would have taken longer still."""
    return isinstance(error, ComponentError) and error.rpc_code is Code.DEADLINE_EXCEEDED


def is_components_fault(error: BaseException | None) -> bool:
    """Whether a call that ended so says that the component is failing."""
    return isinstance(error, ContractError) or (
        isinstance(error, ComponentError) and error.rpc_code in COMPONENTS_FAULT
    )


def tells_of_fault(error: ErrorInfo) -> bool:
    """`is_components_fault` of an error as it is recorded."""
    return error.code in (ContractError.code, MeaningError.code) or error.rpc_code in COMPONENTS_FAULT
