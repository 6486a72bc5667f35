"""One run's way to a server that keeps state by run."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from stretto.components.mcp.session import Lease
from stretto.components.waiting import Wait
from stretto.types.messages import Request, Response

Ask: TypeAlias = Callable[[Request, Lease], Awaitable[Response]]


class McpRun:
    """Sends the run's calls with its session value. Implements `Session`."""

    def __init__(self, ask: Ask, lease: Lease, give: Callable[[], None], waited_ms: float) -> None:
        self._ask = ask
        self._lease = lease
        self._give = give
        self._waited_ms = waited_ms
        """For a free value and its reset: told as queueing of the run's first call."""

    async def __call__(self, request: Request) -> Response:
        waited_ms, self._waited_ms = self._waited_ms, 0.0
        if not waited_ms:
            return await self._ask(request, self._lease)
        with Wait(waited_ms):
            response = await self._ask(request, self._lease)
        return msgspec.structs.replace(response, queue_ms=response.queue_ms + waited_ms)

    async def close(self) -> None:
        """Give the value back."""
        self._give()
