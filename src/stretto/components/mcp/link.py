"""A server at work in one event loop: its processes, who is sent where, and which run holds which session value."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from mcp_types import CallToolResult

from stretto.components.mcp.connection import Connection
from stretto.components.mcp.http import HttpTransport
from stretto.components.mcp.life import MakeWire
from stretto.components.mcp.session import Leases
from stretto.components.mcp.settings import McpSettings
from stretto.components.mcp.stdio import StdioTransport
from stretto.components.mcp.tools import Tool
from stretto.components.waiting import Queue, Wait
from stretto.types.json import Json, JsonObject


class Link:
    """Connections of one event loop. Made in it, used in it, closed in it."""

    def __init__(self, settings: McpSettings) -> None:
        self.loop = asyncio.get_running_loop()
        self._connections = [
            Connection(settings.name, _wire(settings), settings.start_timeout.total_seconds())
            for _ in range(settings.processes)
        ]
        bound = settings.concurrency
        self._turns = _turns(settings)
        self._room = [None if bound is None else asyncio.Semaphore(bound) for _ in self._connections]
        self._turn = itertools.count()
        self.leases = None if settings.session is None else Leases(settings.session)

    async def start(self) -> dict[str, Tool]:
        """Start every process, and return what the first lists: all run the same program."""
        listed = await asyncio.gather(*(connection.tools() for connection in self._connections))
        return listed[0]

    async def call(
        self, tool: str, arguments: JsonObject, meta: Mapping[str, Json], wait: Wait, place: int | None = None
    ) -> CallToolResult:
        """Send a call to the process at `place`, or to the next in turn, and tell the wait. Raises as `Connection.call`
        does.
        """
        chosen = (next(self._turn) if place is None else place) % len(self._connections)
        async with self._in_turn(chosen, wait):
            return await self._connections[chosen].call(tool, arguments, meta, wait)

    @asynccontextmanager
    async def _in_turn(self, chosen: int, wait: Wait) -> AsyncIterator[None]:
        """Hold one of the calls that the process takes at once."""
        room = self._room[chosen]
        if room is None:
            yield
            return
        wait.begin(self._turns)
        async with room:
            wait.end()
            yield

    async def close(self) -> None:
        """End every connection; bounded as `Connection.close` is."""
        await asyncio.gather(*(connection.close() for connection in self._connections))


def _turns(settings: McpSettings) -> Queue:
    each = " in each of its processes" if settings.processes > 1 else ""
    return Queue(
        awaited="its turn",
        remedy=f"its server takes {settings.concurrency} at once{each}. Raise `concurrency`, call it less, or give the "
        "call a later deadline",
    )


def _wire(settings: McpSettings) -> MakeWire:
    if settings.url:
        return lambda on_end: HttpTransport(
            settings.url, headers=settings.headers, max_message_bytes=settings.max_message_bytes, on_end=on_end
        )
    return lambda on_end: StdioTransport(
        settings.command,
        env=settings.env,
        cwd=settings.cwd,
        max_message_bytes=settings.max_message_bytes,
        on_end=on_end,
    )
