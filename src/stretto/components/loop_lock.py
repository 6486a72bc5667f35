"""A lock for things that outlive an event loop, and what to say where a loop that lives has them."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from stretto.types.errors import UsageError


class LoopLock:
    """Held by one task at a time, and by one event loop at a time; free again when the loop that has it ends.

    An `asyncio.Lock` belongs to the loop in which it was first waited for, and what held it when that loop ended never
    lets go.
    """

    def __init__(self) -> None:
        self._turn: _Turn | None = None
        self._taking = threading.Lock()

    @asynccontextmanager
    async def held(self, what: str) -> AsyncIterator[None]:
        """Wait until no other task of this event loop holds it, and hold it.

        Raises UsageError, with `what` in words, while another loop that has not ended holds it or waits for it.
        """
        turn = self._join(what)
        try:
            async with turn.lock:
                yield
        finally:
            turn.tasks -= 1

    def _join(self, what: str) -> "_Turn":
        """One more task at it. Two threads may come at once."""
        loop = asyncio.get_running_loop()
        with self._taking:
            turn = self._turn
            if turn is None or turn.loop is not loop:
                if turn is not None and turn.tasks and not turn.loop.is_closed():
                    raise open_elsewhere(what, turn.loop)
                turn = self._turn = _Turn(loop)
            turn.tasks += 1
        return turn


class _Turn:
    """One event loop's time with the lock. Only its own thread counts its tasks."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.lock = asyncio.Lock()
        self.tasks = 0
        """How many hold it or wait for it."""


def open_elsewhere(what: str, loop: asyncio.AbstractEventLoop) -> UsageError:
    """The refusal of what another event loop has, which has not ended."""
    if loop.is_running():
        return UsageError(
            f"{what} is open in another event loop, which runs in another thread; load a workflow for each event loop, "
            "or hand the work to that loop with asyncio.run_coroutine_threadsafe"
        )
    return UsageError(
        f"{what} is open in another event loop, which is not at work but has not ended; close the workflow first: "
        "`workflow.close()` after `run_sync`, else `await workflow.aclose()` there"
    )
