"""Notices that a client hung up while its call is worked on."""

import asyncio
from typing import Final

from stretto.serve.acp_body import Receive

_AFTER_S: Final = 0.02
"""Most calls have ended by then, and cost no watcher."""


class Watch:
    """Cancels the task that makes it when the client hangs up. `end` must be called when the answer is there."""

    __slots__ = ("_loop", "_receive", "_task", "_timer", "_watching", "hung_up")

    def __init__(self, receive: Receive) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._receive = receive
        self._watching: asyncio.Task[None] | None = None
        self._timer = self._loop.call_later(_AFTER_S, self._begin)
        self.hung_up = False

    def end(self) -> None:
        """There is nothing to be cancelled any more."""
        self._timer.cancel()
        if self._watching is not None:
            self._watching.cancel()

    def _begin(self) -> None:
        self._watching = self._loop.create_task(self._watch())

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.hung_up = True
        if self._task is not None:
            self._task.cancel()
