"""Failures over HTTP: ``application/problem+json`` (RFC 9457), and ``Retry-After`` (RFC 9110, section 10.2.3)."""

import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import msgspec

from stretto.acp.failure import Failure
from stretto.acp.names import DOMAIN
from stretto.types.errors import Code, Violation
from stretto.types.http_status import STATUSES, code_of

MEDIA_TYPE: Final = "application/problem+json"

MAX_QUOTED_CHARS: Final = 500
"""Of an answer that is no problem: enough for a sentence, too little for a page of HTML."""


class ProblemDetails(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    """The members of RFC 9457, and ours beside them."""

    type: str = "about:blank"
    title: str = ""
    status: int = 0
    detail: str = ""
    code: str = ""
    """google.rpc.Code by name."""
    reason: str = ""
    domain: str = ""
    retry_after_ms: float | None = None
    violations: tuple[Violation, ...] = ()
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    run_id: str = ""


_KNOWN: Final = frozenset(Code)

_SAME_AGAIN: Final = (307, 308)
"""Redirections that ask for the very same request elsewhere: nothing was done here (RFC 9110, section 15.4)."""

_DECODER: Final = msgspec.json.Decoder(ProblemDetails)


def problem_of(failure: Failure) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of a failure."""
    status = STATUSES[failure.code]
    body = ProblemDetails(
        type=f"urn:{DOMAIN}:{failure.code}",
        title=_title(status),
        status=status,
        detail=failure.message,
        code=failure.code,
        reason=failure.reason,
        domain=DOMAIN,
        retry_after_ms=failure.retry_after_ms,
        violations=failure.violations,
        metadata=failure.metadata,
        run_id=failure.run_id,
    )
    headers = {"Content-Type": MEDIA_TYPE}
    if failure.retry_after_ms is not None:
        headers["Retry-After"] = str(math.ceil(max(0.0, failure.retry_after_ms) / 1000.0))
    return status, headers, msgspec.json.encode(body)


def failure_of_reply(status: int, headers: Mapping[str, str], body: bytes) -> Failure:
    """The failure that a reply stands for. One that is no problem, as of a proxy, is known by its status alone.

    `headers` are looked up without regard to case.
    """
    read = _read(body)
    if read is None or read.code not in _KNOWN:
        said = " ".join(body[: MAX_QUOTED_CHARS * 4].decode(errors="replace").split())[:MAX_QUOTED_CHARS]
        message = f"answered {status}: {said or 'nothing'}{_remedy(status, headers)}"
        return Failure(code=_told(status), message=message, retry_after_ms=_seconds(headers.get("Retry-After", "")))
    code = Code(read.code)
    return Failure(
        code=code if STATUSES[code] >= 500 or status < 500 else _told(status),  # the graver of two that differ
        message=read.detail or read.title,
        reason=read.reason,
        retry_after_ms=_seconds(headers.get("Retry-After", "")) if read.retry_after_ms is None else read.retry_after_ms,
        violations=read.violations,
        metadata=read.metadata,
        run_id=read.run_id,
    )


def _read(body: bytes) -> ProblemDetails | None:
    """The problem that a body holds, without members of another type; None where it holds none."""
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # may be a member of another type
    try:
        members = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(members, dict):
        return None
    return msgspec.convert({name: each for name, each in members.items() if _fits(name, each)}, ProblemDetails)


def _fits(name: str, value: object) -> bool:
    try:
        msgspec.convert({name: value}, ProblemDetails)
    except msgspec.ValidationError:
        return False
    return True


def _told(status: int) -> Code:
    """What a status means by itself. One of success that is not 200, or of a redirection that lets the method change,
    may follow on what was done."""
    if status < 300:
        return Code.INTERNAL
    if status < 400:
        return Code.FAILED_PRECONDITION if status in _SAME_AGAIN else Code.UNKNOWN
    return code_of(status)


def _remedy(status: int, headers: Mapping[str, str]) -> str:
    if not 300 <= status < 400:
        return ""
    return f"; it leads to {headers.get('Location', 'nowhere')[:MAX_QUOTED_CHARS]}: set the address to where that is"


def _title(status: int) -> str:
    return "Client Closed Request" if status == 499 else HTTPStatus(status).phrase


def _seconds(text: str) -> float | None:
    """Milliseconds of a ``Retry-After`` in seconds; None for a date, which no peer of this protocol sends."""
    return int(text) * 1000.0 if text.isascii() and text.isdigit() and len(text) < 10 else None
