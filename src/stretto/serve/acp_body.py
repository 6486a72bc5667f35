"""The body of a request, as far as it may be read."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from stretto.acp.failure import AcpError
from stretto.acp.names import Reason
from stretto.acp.server.limits import Limits
from stretto.acp.server.refusal import refusal
from stretto.types.errors import Code

Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
"""Of ASGI. Any: a message holds what its type says."""

Headers: TypeAlias = Mapping[bytes, bytes]
"""By name in lower case, the last of several."""

_PLAIN_TYPES: Final = frozenset(
    {b"application/json", b"application/json; charset=utf-8", b"application/json;charset=utf-8"}
)
"""As nearly all clients write it."""


def hold_to_json(headers: Headers) -> None:
    """Refuse a body that does not say that it is JSON in UTF-8, or that is compressed. Raises AcpError."""
    said = headers.get(b"content-type", b"")
    if said not in _PLAIN_TYPES and not _is_json(said):
        found = f"is {said.decode('latin-1')[:80]!r}" if said else "is missing"
        raise _media_type(f"Content-Type {found}; expected application/json, in UTF-8")
    coding = headers.get(b"content-encoding", b"identity")
    if coding.lower() != b"identity":
        raise _media_type(f"Content-Encoding is {coding.decode('latin-1')[:80]!r}; expected none")


async def read_body(receive: Receive, headers: Headers, limits: Limits) -> bytes:
    """The body. Raises AcpError for one that is too large, as soon as that is known; ConnectionError when the client
    hung up."""
    announced = headers.get(b"content-length", b"")
    if announced.isdigit() and int(announced) > limits.max_request_bytes:
        raise _too_large(limits)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ConnectionError("the client hung up before its request had come")
        body: bytes = message.get("body", b"")
        size += len(body)
        if size > limits.max_request_bytes:
            raise _too_large(limits)
        if not message.get("more_body"):
            return b"".join((*parts, body)) if parts else body
        parts.append(body)


def _is_json(said: bytes) -> bool:
    """RFC 9110, section 8.3.1: names and charsets without regard to case, a value may be quoted."""
    kind, *parameters = (part.strip().lower() for part in said.split(b";"))
    if kind != b"application/json":
        return False
    pairs = (part.partition(b"=") for part in parameters)
    return all(name.strip() != b"charset" or value.strip().strip(b'"') == b"utf-8" for name, _, value in pairs)


def _media_type(message: str) -> AcpError:
    return refusal(Code.INVALID_ARGUMENT, Reason.MEDIA_TYPE, message)


def _too_large(limits: Limits) -> AcpError:
    limit = limits.max_request_bytes
    message = f"the request is larger than {limit:,} bytes; send large values apart, or a reference to them"
    return refusal(Code.INVALID_ARGUMENT, Reason.TOO_LARGE, message, max_request_bytes=str(limit))
