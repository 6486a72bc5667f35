"""Who waits for a process of a program, where so many may be at work at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from stretto.components.waiting import Queue, Wait


class Places:
    """So many calls at once, in one event loop; the others wait in the order in which they came."""

    def __init__(self, count: int) -> None:
        self._room = asyncio.Semaphore(count)
        at_work = "its one process is" if count == 1 else f"all {count} processes are"
        self._queue = Queue(
            awaited="a process",
            remedy=f"{at_work} at work for other calls. Raise `processes`, call it less, or give the call a later "
            "deadline",
        )

    @asynccontextmanager
    async def taken(self, wait: Wait) -> AsyncIterator[None]:
        """Hold a place, and tell the wait for it."""
        if self._room.locked():
            wait.begin(self._queue)
        async with self._room:
            wait.end()
            yield
