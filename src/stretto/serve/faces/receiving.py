"""Reads a request's body, and notices a client that hangs up while it is answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from stretto.acp.failure import AcpError, Failure
from stretto.acp.names import Reason
from stretto.acp.server import Limits
from stretto.serve.acp_body import Receive, hold_to_json, read_body
from stretto.serve.acp_guard import CLIENT, Client
from stretto.serve.acp_http import Scope
from stretto.types.errors import Code

UNREAD: Final = frozenset({Reason.UNAUTHENTICATED, Reason.MEDIA_TYPE, Reason.TOO_LARGE})
"""Reasons to refuse a request whose body may not have been read, so that the connection can carry no other."""


@asynccontextmanager
async def received(scope: Scope, receive: Receive, limits: Limits) -> AsyncIterator[bytes]:
    """The body, held to be JSON. Until it is left, a client that hangs up cancels what is done.

    Raises AcpError for a body that is too large, and when the server stops; ConnectionError when the client hung up.
    """
    headers = dict(scope["headers"])
    hold_to_json(headers)
    body = await read_body(receive, headers, limits)
    async with while_it_waits(scope[CLIENT]):
        yield body


@asynccontextmanager
async def while_it_waits(client: Client) -> AsyncIterator[None]:
    """Cancel what is done for a client that hangs up. Raises as `received`."""
    task = asyncio.current_task()
    client.on_hang_up = None if task is None else task.cancel
    try:
        yield
    except asyncio.CancelledError:
        if client.hung_up:
            raise ConnectionError("the client hung up") from None
        message = "the server stopped before the workflow had answered"
        raise AcpError(Failure(code=Code.UNAVAILABLE, message=message, reason=Reason.DRAINING)) from None
    finally:
        client.on_hang_up = None
