"""Waiting before the work, told on whatever ends a call: its value, its error, or its cancellation."""

import asyncio
from types import TracebackType
from typing import Self

import msgspec

from stretto.types.errors import ComponentError
from stretto.types.waited import NeverBegun, Waited


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """What calls wait for."""

    awaited: str
    """``a connection``."""
    remedy: str
    """Why one may have to wait, and what to do about it."""


class Wait:
    """How long one call waits, in event-loop time. Entered around the call, which may wait several times.

    A ComponentError tells it in `queue_ms`, a cancellation by its cause.
    """

    __slots__ = ("_began", "_queue", "is_left", "ms")

    def __init__(self, ms: float = 0.0) -> None:
        self._queue: Queue | None = None
        self._began = 0.0
        self.ms = ms
        """Milliseconds that it has waited, those included that it begins with."""
        self.is_left = False
        """The call is over; one that waited still must not be made."""

    def begin(self, queue: Queue) -> None:
        """It waits from now on."""
        self._queue, self._began = queue, asyncio.get_running_loop().time()

    def end(self) -> None:
        """It is worked on from now on."""
        if self._queue is not None:
            self.ms += (asyncio.get_running_loop().time() - self._began) * 1000.0
            self._queue = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        queue = self._queue
        self.end()
        self.is_left = True
        if isinstance(error, ComponentError):
            error.add_wait(self.ms)
        elif isinstance(error, asyncio.CancelledError):
            if isinstance(error.__cause__, Waited):  # a queue further inside told
                error.__cause__.queue_ms += self.ms
            elif queue is not None:
                raise asyncio.CancelledError from NeverBegun(self.ms, awaited=queue.awaited, remedy=queue.remedy)
            elif self.ms:
                raise asyncio.CancelledError from Waited(self.ms)
