"""A virtual clock: an event loop whose time jumps to the next timer when there is nothing else to do.

Minutes of back-off pass in microseconds, in the same order every time.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _JumpingSelector(selectors.DefaultSelector):
    """Never blocks: where the loop would wait for a timer, it moves the clock there."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:  # only a thread or a socket can wake the loop: wait for it in real time
            return super().select(None)
        self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Event loop on a virtual clock that starts at 0. Threads and sockets still work, in real time."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    def time_ns(self) -> int:
        """The virtual time of day, from the epoch, so that the loop serves as a `Clock`."""
        return int(self._jumping.now * 1e9)

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109, ARG002  # asyncio's own
        """Wait for threads without a limit: they end in real time, and one in virtual time has passed at once."""
        await super().shutdown_default_executor()

    def monotonic(self) -> float:
        return self._jumping.now


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a fresh virtual clock, like `asyncio.run`."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
