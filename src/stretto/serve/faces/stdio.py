"""Workflows as tools on stdin and stdout, for applications that start the server. Needs the extra ``mcp``."""

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast

from mcp.server.stdio import stdio_server

from stretto.serve.faces.asking import Asking
from stretto.serve.faces.tools import mcp_server
from stretto.serve.stopping import Stop, closed, drained, stop_signals

_SETTLE_S: Final = 0.1
"""For what was read last to come to the desk, and for what the desk answered last to be written."""

_PIECE_BYTES: Final = 64 * 1024

_AHEAD: Final = 64
"""Lines that are read before they are asked for."""


async def serve_stdio(asking: Asking, *, grace_s: float, when_stopping: Callable[[int], None]) -> None:
    """Answer on stdin and stdout until stdin ends or a signal comes; nothing else may be printed there.

    Calls in progress are then answered within the grace, and the others cancelled; a second signal ends it at once.
    """
    desk, server = asking.desk, mcp_server(asking)
    with stop_signals() as stop:
        await desk.open()
        try:
            lines = Lines()
            serving = asyncio.ensure_future(_serve(server, lines))
            await _end_of(serving, lines, stop)
            when_stopping(desk.in_progress)
            await drained(desk, grace_s, stop.second)
            await asyncio.sleep(_SETTLE_S)
            serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving
        finally:
            await closed(desk, stop.second)


async def _serve(server: Any, lines: "Lines") -> None:  # Any: of the SDK
    async with stdio_server(cast("Any", lines)) as (read, write):  # of a file it asks no more than its lines
        await server.run(read, write, server.create_initialization_options())


async def _end_of(serving: "asyncio.Future[None]", lines: "Lines", stop: Stop) -> None:
    """Wait for the end of the input, or for a signal."""
    waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(each.wait()) for each in (lines.ended, stop.first)]
    await asyncio.wait([serving, *waits], return_when=asyncio.FIRST_COMPLETED)
    for each in waits:
        each.cancel()
    await asyncio.sleep(_SETTLE_S)


class Lines:
    """The lines of stdin, read in a thread that nobody waits for: a read of stdin cannot be broken off.

    After the last there is none, and no end either: to the SDK that is a client that is gone, whose calls it cancels.
    Programs that components start find nothing on stdin.
    """

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        """All were read."""
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        threading.Thread(target=self._read, args=(_taken_over(),), daemon=True, name="stretto-stdin").start()

    def __aiter__(self) -> "Lines":
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        self._room.release()
        return line

    def _read(self, stdin: int) -> None:
        with suppress(RuntimeError):  # the loop has ended
            left = b""
            while piece := os.read(stdin, _PIECE_BYTES):
                *lines, left = (left + piece).split(b"\n")
                for line in lines:
                    self._hand_over(line)
            if left:
                self._hand_over(left)
            self._loop.call_soon_threadsafe(self.ended.set)

    def _hand_over(self, line: bytes) -> None:
        self._room.acquire()
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line.decode(errors="replace"))


def _taken_over() -> int:
    """Another number for what stdin is; under its own there is nothing any more."""
    taken, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return taken
