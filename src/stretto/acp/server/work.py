"""One call under way: it lives until its component ends, whoever still waits for it.

Whoever waits gets an answer by the deadline, whatever the component does: it is cancelled then, and left behind when
that does not end it. What it says after all is kept under the effect key.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class TimeUpError(Exception):
    """The component had not ended some time after it was told that its time was up."""


class Work(Generic[T, U]):
    """A task, and what is made of its end. Begun when it is made.

    `settle` is called once, when the task has ended; its value, or what it raises, is the outcome.
    """

    __slots__ = ("_done", "_loop", "_settle", "_task", "_timer", "is_time_up")

    def __init__(self, work: Coroutine[Any, Any, T], settle: "Callable[[Work[T, U], asyncio.Task[T]], U]") -> None:
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[U] = self._loop.create_future()
        self._settle = settle
        self._timer: asyncio.TimerHandle | None = None
        self.is_time_up = False
        """It was cancelled because its time was up."""
        self._task = self._loop.create_task(work)
        self._task.add_done_callback(self._ended)

    async def outcome(self, deadline: float | None, give_up_s: float) -> U:
        """What it came to, or TimeUpError when it had not ended so long after the deadline, an event-loop time.

        Cancelled, it cancels the work and does not wait for it.
        """
        if deadline is not None:
            self._timer = self._loop.call_at(deadline, self._time_up, give_up_s)
        try:
            return await self._done
        except asyncio.CancelledError:
            self._task.cancel()
            raise
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _ended(self, task: asyncio.Task[T]) -> None:
        try:
            value = self._settle(self, task)
        except Exception as error:  # noqa: BLE001  # handed to whoever waits
            if not self._done.done():
                self._done.set_exception(error)
        else:
            if not self._done.done():
                self._done.set_result(value)

    def _time_up(self, give_up_s: float) -> None:
        self.is_time_up = True
        self._task.cancel()
        self._timer = self._loop.call_later(give_up_s, self._give_up)

    def _give_up(self) -> None:
        if not self._done.done():
            self._done.set_exception(TimeUpError())
