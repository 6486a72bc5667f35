"""Waiting before the work, told on whatever ends a call: its value, its error, or its cancellation."""

import asyncio
from types import TracebackType
from typing import Self

from stretto.types.errors import ComponentError
from stretto.types.waited import NeverBegun, Waited


class Wait:
    """How long one call waits in a queue, in event-loop time. Entered around the call, which may wait several times.

    A ComponentError tells it in `queue_ms`, a cancellation by its cause.
    """

    __slots__ = ("_awaited", "_began", "_now", "_remedy", "ms")

    def __init__(self, awaited: str, remedy: str, *, ms: float = 0.0) -> None:
        self._awaited = awaited
        self._remedy = remedy
        self._now = asyncio.get_running_loop().time
        self._began: float | None = None
        self.ms = ms
        """Milliseconds that it has waited; it begins with those that it waited before."""

    def begin(self) -> None:
        """It waits from now on."""
        self._began = self._now()

    def end(self) -> None:
        """It is worked on from now on."""
        if self._began is not None:
            self.ms += (self._now() - self._began) * 1000.0
            self._began = None

    @property
    def is_on(self) -> bool:
        """It waits."""
        return self._began is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        in_vain = self.is_on
        self.end()
        if isinstance(error, ComponentError):
            error.queue_ms += self.ms
        elif isinstance(error, asyncio.CancelledError):
            if isinstance(error.__cause__, Waited):  # a queue further inside told
                error.__cause__.queue_ms += self.ms
            elif in_vain:
                raise asyncio.CancelledError from NeverBegun(self.ms, awaited=self._awaited, remedy=self._remedy)
            elif self.ms:
                raise asyncio.CancelledError from Waited(self.ms)


def having_waited(ms: float) -> Wait:
    """Entered around what is still to be done of a call that has waited so long."""
    return Wait("", "", ms=ms)
