"""What a server refuses, in the shape that OpenAI's clients read."""

from collections.abc import Mapping
from typing import Final

import orjson

from stretto.types.json import Json, JsonObject

_TYPES: Final[Mapping[int, str]] = {
    404: "not_found_error",
    408: "timeout_error",
    429: "rate_limit_error",
    502: "upstream_error",
    503: "unavailable_error",
    504: "timeout_error",
}
"""Of errors, by status; others in the four hundreds are the request's (OpenAI API reference, "Error codes")."""


_SOON_S: Final = 1.0
"""After which a store that was busy may be asked again."""


class Refused(Exception):  # noqa: N818  # no failure of ours: an answer that ends the handling of a request
    """An answer that is no success. The message says what was wrong, what was expected and what to do."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.retry_after_s = retry_after_s

    @property
    def headers(self) -> dict[str, str]:
        """`Retry-After`, where it is known when the same may succeed: whole seconds, at least 1 (RFC 9110, 10.2.3)."""
        if self.retry_after_s is None:
            return {}
        return {"retry-after": str(max(1, round(self.retry_after_s)))}

    def body(self) -> bytes:
        """``{"error": {message, type, param, code}}``."""
        return orjson.dumps(error_body(self.status, self.message, code=self.code, param=self.param))


def unavailable(error: Exception, retry_after_s: float = _SOON_S) -> Refused:
    """Of a store that could not do what it was asked for."""
    return Refused(503, str(error), code="store", retry_after_s=retry_after_s)


def error_body(status: int, message: str, *, code: Json = None, param: Json = None) -> JsonObject:
    """An error in OpenAI's shape."""
    kind = _TYPES.get(status) or ("server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}
