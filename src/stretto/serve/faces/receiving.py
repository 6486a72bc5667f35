"""Reads a request's body, and notices a client that hangs up while it is answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from stretto.acp.failure import AcpError, Failure
from stretto.acp.names import Reason
from stretto.acp.server import Limits
from stretto.serve.acp_body import Headers, Receive, hold_to_json, read_body
from stretto.serve.acp_watch import Watch
from stretto.types.errors import Code

UNREAD: Final = frozenset({Reason.UNAUTHENTICATED, Reason.MEDIA_TYPE, Reason.TOO_LARGE, Reason.DEADLINE_PASSED})
"""Reasons to refuse a request whose body may not have been read, so that the connection can carry no other."""


@asynccontextmanager
async def received(receive: Receive, headers: Headers, limits: Limits) -> AsyncIterator[bytes]:
    """The body, held to be JSON. Until it is left, a client that hangs up cancels what is done.

    Raises AcpError for a body that is too large or late, and when the server stops; ConnectionError when the client
    hung up.
    """
    hold_to_json(headers)
    watch = Watch(receive, limits.body_s)
    try:
        body = await read_body(receive, headers, limits)
        watch.body_came()
        yield body
    except asyncio.CancelledError:
        if watch.is_late:
            raise watch.too_late() from None
        if watch.hung_up:
            raise ConnectionError("the client hung up") from None
        message = "the server stopped before the workflow had answered"
        raise AcpError(Failure(code=Code.UNAVAILABLE, message=message, reason=Reason.DRAINING)) from None
    finally:
        watch.end()
