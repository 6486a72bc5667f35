"""What went wrong, as the protocol carries it: one record, lossless in both of its forms and back to an error."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from stretto.acp.names import Reason
from stretto.types.errors import (
    RETRYABLE_CODES,
    BreakerOpenError,
    BudgetError,
    Code,
    ComponentError,
    ContractError,
    InDoubtError,
    MeaningError,
    RejectedError,
    ShedError,
    StrettoError,
    Violation,
)


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a call got no answer."""

    code: Code
    message: str
    """What was wrong, what was expected, what to do; for people."""
    reason: str = ""
    """A `Reason`, or what a peer's own protocol says."""
    retry_after_ms: float | None = None
    """How long to wait before the next attempt."""
    violations: tuple[Violation, ...] = ()
    """Where a value broke its schema."""
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    """Further facts by name: `supported_versions`, `digests`."""
    run_id: str = ""

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later: derived, never sent."""
        return self.code in RETRYABLE_CODES and self.reason not in _FINAL


class AcpError(StrettoError):
    """A call is refused, or failed, as the protocol says it."""

    code = "acp"

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.retryable = failure.retryable


_FINAL: Final = frozenset({Reason.IN_DOUBT, Reason.BREAKER_OPEN, Reason.BUDGET})
"""Reasons with which a retry cannot help, or must not be made, whatever the code."""

_REASONS: Final[Mapping[type[ComponentError], Reason]] = {
    MeaningError: Reason.MEANING,
    ContractError: Reason.CONTRACT,
    BreakerOpenError: Reason.BREAKER_OPEN,
    ShedError: Reason.SHED,
    RejectedError: Reason.REJECTED,
    InDoubtError: Reason.IN_DOUBT,
}

_OPEN: Final[Mapping[str, Code]] = {Reason.KEY_IN_PROGRESS: Code.UNAVAILABLE}
"""Reasons whose code says that nothing happened, where something may: what is being worked on has not ended."""

SENT: Final = "sent"
"""Metadata: ``no`` says that the request surely reached nobody who acts."""

_RETRYABLE: Final = "retryable"
"""Metadata: ``yes`` or ``no``, where the component says otherwise than its code."""


def failure_of(error: StrettoError, run_id: str = "") -> Failure:
    """An error as the protocol carries it."""
    if isinstance(error, AcpError):
        return error.failure
    if isinstance(error, BudgetError):
        return Failure(code=Code.RESOURCE_EXHAUSTED, message=str(error), reason=Reason.BUDGET, run_id=run_id)
    if not isinstance(error, ComponentError):
        return Failure(code=Code.INTERNAL, message=str(error), run_id=run_id)
    failure = Failure(
        code=error.rpc_code,
        message=str(error),
        reason=next((reason for kind, reason in _REASONS.items() if isinstance(error, kind)), ""),
        retry_after_ms=None if error.retry_after_s is None else error.retry_after_s * 1000.0,
        violations=error.violations if isinstance(error, ContractError) else (),
        run_id=run_id or error.run_id,
    )
    metadata = {} if error.sent else {SENT: "no"}
    if error.retryable is not failure.retryable:
        metadata[_RETRYABLE] = "yes" if error.retryable else "no"
    return msgspec.structs.replace(failure, metadata=metadata)


def component_error(failure: Failure) -> ComponentError:
    """The error that a failure stands for, of the class that it was where the protocol names it."""
    after_s = None if failure.retry_after_ms is None else max(0.0, failure.retry_after_ms) / 1000.0
    make = _ERRORS.get(failure.reason)
    error = ComponentError(failure.message, failure.code) if make is None else make(failure)
    error.rpc_code = _OPEN.get(failure.reason, failure.code)
    error.retry_after_s = after_s
    error.run_id = failure.run_id
    error.sent = error.sent and failure.metadata.get(SENT) != "no"
    error.retryable = _is_retryable(failure)
    return error


def _is_retryable(failure: Failure) -> bool:
    """What follows from code and reason, unless the component knows better; what is final stays so."""
    if failure.reason in _FINAL:
        return failure.retryable
    return {"yes": True, "no": False}.get(failure.metadata.get(_RETRYABLE, ""), failure.retryable)


def _contract(failure: Failure) -> ContractError:
    return _with_violations(ContractError, failure)


def _meaning(failure: Failure) -> ContractError:
    return _with_violations(MeaningError, failure)


def _with_violations(kind: type[ContractError], failure: Failure) -> ContractError:
    """The violations are in the message already."""
    error = kind(failure.message)
    error.violations = failure.violations
    return error


_ERRORS: Final[Mapping[str, Callable[[Failure], ComponentError]]] = {
    Reason.CONTRACT: _contract,
    Reason.MEANING: _meaning,
    Reason.BREAKER_OPEN: lambda failure: BreakerOpenError(failure.message, retry_after_s=0.0),
    Reason.SHED: lambda failure: ShedError(failure.message),
    Reason.REJECTED: lambda failure: RejectedError(failure.message),
    Reason.IN_DOUBT: lambda failure: InDoubtError(failure.message),
}
