"""Refusals: a call that reached no component, and why."""

from collections.abc import Iterable

from stretto.acp.failure import SENT, AcpError, Failure
from stretto.acp.names import Reason
from stretto.types.errors import NOTHING_HAPPENED, Code, Violation


def refusal(
    code: Code,
    reason: Reason | str,
    message: str,
    *,
    violations: Iterable[Violation] = (),
    retry_after_ms: float | None = None,
    **metadata: str,
) -> AcpError:
    """The error of a call that nobody was asked about; where its code leaves that open, it says so."""
    if code not in NOTHING_HAPPENED:
        metadata[SENT] = "no"
    return AcpError(
        Failure(
            code=code,
            message=message,
            reason=reason,
            violations=tuple(violations),
            retry_after_ms=retry_after_ms,
            metadata=metadata,
        )
    )


def malformed(message: str) -> AcpError:
    """No message could be read."""
    return refusal(Code.INVALID_ARGUMENT, Reason.MALFORMED, message)
