"""HTTP statuses and google.rpc codes, each as the other says it."""

from collections.abc import Mapping
from typing import Final

from stretto.types.errors import Code

CODES: Final[Mapping[int, Code]] = {
    400: Code.INVALID_ARGUMENT,
    401: Code.UNAUTHENTICATED,
    403: Code.PERMISSION_DENIED,
    404: Code.NOT_FOUND,
    408: Code.DEADLINE_EXCEEDED,
    409: Code.ABORTED,
    425: Code.UNAVAILABLE,
    429: Code.RESOURCE_EXHAUSTED,
    499: Code.CANCELLED,
    500: Code.INTERNAL,
    501: Code.UNIMPLEMENTED,
    502: Code.UNAVAILABLE,
    503: Code.UNAVAILABLE,
    504: Code.DEADLINE_EXCEEDED,
}
"""HTTP statuses as in googleapis google/rpc/code.proto, where it names one; other 4xx are invalid arguments, other
5xx (529, 520 and the like: overloaded, or a proxy without its server) unavailable."""

STATUSES: Final[Mapping[Code, int]] = {
    Code.CANCELLED: 499,
    Code.UNKNOWN: 500,
    Code.INVALID_ARGUMENT: 400,
    Code.DEADLINE_EXCEEDED: 504,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.PERMISSION_DENIED: 403,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.FAILED_PRECONDITION: 400,
    Code.ABORTED: 409,
    Code.OUT_OF_RANGE: 400,
    Code.UNIMPLEMENTED: 501,
    Code.INTERNAL: 500,
    Code.UNAVAILABLE: 503,
    Code.DATA_LOSS: 500,
    Code.UNAUTHENTICATED: 401,
}
"""The status of each code (googleapis google/rpc/code.proto, "HTTP Mapping")."""


def code_of(status: int) -> Code:
    """What a status means that came without a code."""
    return CODES.get(status) or (Code.UNAVAILABLE if status >= 500 else Code.INVALID_ARGUMENT)
