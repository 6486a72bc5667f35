"""A call that is under way, and who may break it off: its client by hanging up, or whoever ends its run."""

import asyncio
from enum import StrEnum

from stretto.serve.gateway.asgi import Asked


class BrokenOff(StrEnum):
    """Why a call came to no end of its own."""

    CLIENT_GONE = "the client hung up"
    RUN_ENDED = "its run was ended"
    STOPPING = "the gateway was stopped"


class Underway:
    """Runs in the task that answers the request; breaking it off cancels what that task waits for, once."""

    def __init__(self, asked: Asked) -> None:
        self.broken_off: BrokenOff | None = None
        self.done = asyncio.Event()
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a call is answered in a task")
        self._task = task
        self._watch = asyncio.create_task(self._watched(asked))

    def break_off(self, why: BrokenOff) -> None:
        """Cancel what it waits for, unless it has ended."""
        if self.broken_off is None and not self.done.is_set():
            self.broken_off = why
            self._task.cancel()

    def caught(self, error: asyncio.CancelledError) -> BrokenOff:
        """Why it was cancelled, and the cancellation taken back; one from outside is raised again."""
        if self.broken_off is None:
            raise error
        self._task.uncancel()
        return self.broken_off

    def answered(self) -> None:
        """Its client need not be watched any more."""
        self._watch.cancel()

    def end(self) -> None:
        """Nothing can break it off any more."""
        self.done.set()
        self._watch.cancel()

    async def _watched(self, asked: Asked) -> None:
        await asked.gone()
        self.break_off(BrokenOff.CLIENT_GONE)
