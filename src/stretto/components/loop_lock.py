"""A lock for things that outlive an event loop."""

import asyncio


class LoopLock:
    """One `asyncio.Lock` for each event loop, of which one is at work at a time.

    A lock belongs to the loop in which it was first waited for, and what held it when that loop ended never lets go.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()

    def here(self) -> asyncio.Lock:
        """The lock of the running event loop."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._lock = loop, asyncio.Lock()
        return self._lock
