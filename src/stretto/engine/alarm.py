"""Deadlines for one task, without a timer for each call.

`asyncio.timeout` arms and cancels a timer for every step (5 µs each, measured). An alarm keeps one timer armed
and, when it fires early, arms it again for the deadline that stands by then. A linear run of many steps costs
one timer.
"""

import asyncio
from typing import Final

GRACE_S: Final = 1.0
"""What a cancelled component gets for cleaning up before it is cancelled again and abandoned."""


class Alarm:
    """Cancels its task when the deadline that is set passes, and again after a grace if the task goes on."""

    __slots__ = ("_armed_at", "_base", "_handle", "_loop", "_task", "deadline", "rang")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("a run needs a task: call it from a coroutine")
        self._loop = loop
        self._task = task
        self._base = task.cancelling()
        self._handle: asyncio.TimerHandle | None = None
        self._armed_at = 0.0
        self.deadline: float | None = None
        self.rang = 0
        """How many times it cancelled the task since the deadline was set."""

    def set(self, deadline: float | None) -> None:
        """Cancel the task at event-loop time `deadline`; None is never."""
        self.deadline = deadline
        if deadline is None or (self._handle is not None and self._armed_at <= deadline):
            return
        self._arm(deadline)

    def took(self) -> bool:
        """Whether the cancellation just caught was only this alarm's; if so the task counts as not cancelled."""
        if not self.rang:
            return False
        for _ in range(self.rang):
            self._task.uncancel()
        self.rang = 0
        return self._task.cancelling() <= self._base

    def close(self) -> None:
        """Drop the timer."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _arm(self, when: float) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._armed_at = when
        self._handle = self._loop.call_at(when, self._ring)

    def _ring(self) -> None:
        self._handle = None
        if self.deadline is None:
            return
        now = self._loop.time()
        if now < self.deadline:
            self._arm(self.deadline)
            return
        self.rang += 1
        self._task.cancel()
        self._arm(now + GRACE_S)
