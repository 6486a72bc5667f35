"""What a browser needs to be let in, and to be kept from harm: pages are read by people, whose browser asks for a name
and a password, and obeys whatever page has this address."""

from base64 import b64decode
from collections.abc import Iterable
from typing import Final

from stretto.acp.failure import AcpError, Failure
from stretto.acp.server.tokens import SCHEME, Tokens
from stretto.learn.explain.document import POLICY
from stretto.serve.acp_guard import Header
from stretto.serve.acp_http import Reply, problem_reply
from stretto.serve.faces.pages import leads_here
from stretto.types.errors import Code

_BASIC: Final = b"basic "

_HTML: Final[tuple[Header, ...]] = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", f"{POLICY}; frame-ancestors 'none'".encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
"""Nothing is loaded or run, framed elsewhere, guessed to be of another type, told to other sites, or kept on disk."""


def html_reply(page: str) -> Reply:
    """The reply that is a page."""
    return Reply(200, _HTML, page.encode(errors="backslashreplace"))


def hold_reader(tokens: Tokens | None, authorization: bytes | None) -> None:
    """Refuse whoever has no token: as a bearer, or as the password of any name, which a browser asks for (RFC 7617).

    Raises AcpError.
    """
    if tokens is not None:
        tokens.hold(_bearer(authorization))


def _bearer(authorization: bytes | None) -> bytes | None:
    if authorization is None or authorization[: len(_BASIC)].lower() != _BASIC:
        return authorization
    try:
        _, _, password = b64decode(authorization[len(_BASIC) :].strip(), validate=True).partition(b":")
    except ValueError:
        return authorization
    return SCHEME + password


def refused_reader(failure: Failure) -> Reply:
    """The refusal of a page; without a token, one by which the browser asks its reader for it."""
    reply = problem_reply(failure)
    if failure.code is not Code.UNAUTHENTICATED:
        return reply
    asks = (b"www-authenticate", b'Basic realm="stretto: the token is the password", charset="UTF-8"')
    return Reply(reply.status, (*(each for each in reply.headers if each[0] != asks[0]), asks), reply.body)


def hold_to_own_name(headers: Iterable[Header]) -> None:
    """Raise AcpError for a request that calls this machine by a name that is none of its own.

    A page from elsewhere whose own name was made to stand for this machine (DNS rebinding) may read what it gets of its
    own name, and a browser says of no reading where the page is from.
    """
    host = next((value for name, value in headers if name == b"host"), b"").decode("latin-1")
    if not leads_here(f"//{host}"):
        message = (
            f"the request is for the host {host[:100]!r}, and without a token runs are shown only to whoever calls "
            "this machine localhost, or by a loopback address; give the server a token: --token-env"
        )
        raise AcpError(Failure(code=Code.PERMISSION_DENIED, message=message))
