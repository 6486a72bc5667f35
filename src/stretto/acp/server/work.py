"""One call under way: it lives until its component ends, whoever still waits for it.

Whoever waits gets an answer by the deadline, whatever the component does: it is cancelled then, and left behind when
that does not end it. What it says after all is kept under the effect key.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
S_contra = TypeVar("S_contra", contravariant=True)
U = TypeVar("U")
U_co = TypeVar("U_co", covariant=True)


class TimeUpError(Exception):
    """The component had not ended some time after it was told that its time was up."""


class NeverBegunError(Exception):
    """The work was cancelled before anything of it was done."""


class Settle(Protocol[S_contra, U_co]):
    """What is made of the end of a work; one of the two is called, once. What it returns or raises is the outcome."""

    def answered(self, value: S_contra, *, is_time_up: bool) -> U_co:
        """The component gave a value, maybe after its time was up."""
        ...

    def failed(self, error: BaseException, *, is_time_up: bool) -> U_co:
        """It raised, was cancelled, or never began."""
        ...


class Work(Generic[T, U]):
    """A task that asks, and settles what came of it. Begun when it is made."""

    __slots__ = ("_ask", "_done", "_is_begun", "_loop", "_settle", "_task", "_timer", "is_time_up")

    def __init__(self, ask: Callable[[], Awaitable[T]], settle: Settle[T, U]) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._done: asyncio.Future[U] = loop.create_future()
        self._ask = ask
        self._settle = settle
        self._timer: asyncio.TimerHandle | None = None
        self._is_begun = False
        self.is_time_up = False
        """It was cancelled because its time was up."""
        self._task = loop.create_task(self._run())

    async def outcome(self, deadline: float | None, give_up_s: float) -> U:
        """What it came to, or TimeUpError when it had not ended so long after the deadline, an event-loop time.

        Cancelled, it cancels the work and does not wait for it.
        """
        if deadline is not None:
            self._loop.call_soon(self._arm, deadline, give_up_s)
        try:
            return await self._done
        except asyncio.CancelledError:
            self._cancel()
            raise
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _arm(self, deadline: float, give_up_s: float) -> None:
        """Only now, after the task's first step: much that is asked ends in it, and costs no timer."""
        if not self._done.done():
            self._timer = self._loop.call_at(deadline, self._time_up, give_up_s)

    async def _run(self) -> None:
        self._is_begun = True
        try:
            value = await self._ask()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # the boundary: handed to whoever waits
            self._fail(error)
            return
        try:
            answer = self._settle.answered(value, is_time_up=self.is_time_up)
        except Exception as error:  # noqa: BLE001  # handed to whoever waits
            self._raise(error)
        else:
            if not self._done.done():
                self._done.set_result(answer)

    def _fail(self, error: BaseException) -> None:
        try:
            answer = self._settle.failed(error, is_time_up=self.is_time_up)
        except Exception as told:  # noqa: BLE001  # handed to whoever waits
            self._raise(told)
        else:
            if not self._done.done():
                self._done.set_result(answer)

    def _raise(self, error: Exception) -> None:
        if not self._done.done():
            self._done.set_exception(error)

    def _cancel(self) -> None:
        self._task.cancel()
        if not self._is_begun:  # a task that is cancelled before its first step never takes it
            self._fail(NeverBegunError())

    def _time_up(self, give_up_s: float) -> None:
        self.is_time_up = True
        self._timer = self._loop.call_later(give_up_s, self._raise, TimeUpError())
        self._cancel()
