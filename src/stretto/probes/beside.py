"""Work that would hold the event loop, done in a thread of its own."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from stretto.probes.probe import ProbeError

T = TypeVar("T")


class Beside:
    """One thread at a time for one probe. It is a daemon: a driver that hangs must not keep the process alive.

    Starting it costs 0.1 ms a reading; a pool shared with components would be full just when one wants to know.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._is_busy = False

    async def do(self, work: Callable[[], T]) -> T:
        """The value of `work`; raises what it raises, and ProbeError while an earlier one still hangs.

        A thread cannot be stopped: on cancellation it is left to itself.
        """
        if self._is_busy:
            raise ProbeError("an earlier reading still hangs in its thread")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def serve() -> None:
            value, error = None, None
            try:
                value = work()
            except BaseException as raised:  # noqa: BLE001  # handed to the task that waits: a thread has no caller
                error = raised
            self._is_busy = False
            _deliver(loop, future, value, error)

        self._is_busy = True
        try:
            threading.Thread(target=serve, name=f"stretto-probe-{self._name}", daemon=True).start()
        except RuntimeError:  # the machine gives no more threads, for now
            self._is_busy = False
            raise
        return await future


def _deliver(
    loop: asyncio.AbstractEventLoop, future: "asyncio.Future[T]", value: T | None, error: BaseException | None
) -> None:
    def settle() -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error if isinstance(error, Exception) else ProbeError(repr(error)))
        else:
            future.set_result(value)  # type: ignore[arg-type]  # there is no error, so it is the work's own

    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:  # the loop is closed: nobody waits any more
        return
