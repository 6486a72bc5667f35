"""Failures in the shape that OpenAI's clients read, with whether they should try again."""

from collections.abc import Mapping
from typing import Final

from stretto.acp.failure import SENT, Failure
from stretto.acp.names import Reason
from stretto.serve.refused import Refused
from stretto.types.errors import NOTHING_HAPPENED, Code
from stretto.types.http_status import STATUSES

SHOULD_RETRY: Final = "x-should-retry"
"""By this header OpenAI's clients know it; without, they send anything again that came back with 409, 429 or 5xx."""

_CODES: Final[Mapping[str, str]] = {
    Reason.COMPONENT_UNKNOWN: "model_not_found",
    Reason.UNAUTHENTICATED: "invalid_api_key",
}
"""As OpenAI calls what others call so."""

_PARAMS: Final[Mapping[str, str]] = {Reason.COMPONENT_UNKNOWN: "model", Reason.CONTRACT: "messages"}


def refused_of(failure: Failure) -> Refused:
    """What to answer; its code is the protocol's reason, or that of google.rpc."""
    is_callers = failure.code in (Code.INVALID_ARGUMENT, Code.NOT_FOUND)
    return Refused(
        413 if failure.reason == Reason.TOO_LARGE else STATUSES[failure.code],
        failure.message,
        code=_CODES.get(failure.reason) or failure.reason.lower() or failure.code.value,
        param=_PARAMS.get(failure.reason) if is_callers else None,
        retry_after_s=None if failure.retry_after_ms is None else failure.retry_after_ms / 1000.0,
    )


def should_retry(failure: Failure, *, is_repeatable: bool) -> bool:
    """Whether the same request may be sent again: a write without a key only where nothing surely happened."""
    nothing_happened = failure.code in NOTHING_HAPPENED or failure.metadata.get(SENT) == "no"
    return failure.retryable and (is_repeatable or nothing_happened)
