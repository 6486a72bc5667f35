"""Deadlines without a timer for each call.

`asyncio.timeout` arms and cancels a timer for every step (5 µs each, measured). A run keeps one timer for all its
tasks, armed for the earliest deadline; when it fires early it is armed again for the deadline that stands by then.
"""

import asyncio
import math
import sys
from collections.abc import Iterator
from traceback import walk_tb
from types import CodeType, FrameType
from typing import Final

GRACE_S: Final = 1.0
"""What a cancelled component gets for cleaning up before it is cancelled again and abandoned."""

_GROUPS_END: Final = asyncio.TaskGroup.__aexit__.__code__


class Watch:
    """One run's timer."""

    __slots__ = ("_handle", "_loop", "armed_at", "waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None
        self.armed_at = math.inf
        """Event-loop time at which it rings next, unless told of an earlier deadline."""
        self.waiting: set[Alarm] = set()
        """Alarms whose deadlines it heeds: of tasks that wait now, and no others, however many there were."""

    def alarm(self) -> "Alarm":
        """An alarm for the current task."""
        task = asyncio.current_task(self._loop)
        if task is None:
            raise RuntimeError("a run needs a task: call it from a coroutine")
        return Alarm(self, task)

    def arm(self, deadline: float) -> None:
        """Ring at this deadline, which is before all others."""
        self.close()
        self.armed_at = deadline
        self._handle = self._loop.call_at(deadline, self._ring)

    def close(self) -> None:
        """Drop the timer."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _ring(self) -> None:
        self.armed_at = math.inf
        self._handle = None
        now = self._loop.time()
        for alarm in tuple(self.waiting):
            if alarm.deadline is not None:
                if alarm.deadline <= now:
                    alarm.rang += 1
                    alarm.task.cancel()
                    alarm.deadline = now + GRACE_S
                if alarm.deadline < self.armed_at:
                    self.arm(alarm.deadline)


class Alarm:
    """Cancels its task when the deadline that is set passes, and again after a grace if the task goes on."""

    __slots__ = ("_base", "_watch", "deadline", "rang", "task")

    def __init__(self, watch: Watch, task: asyncio.Task[object]) -> None:
        self._watch = watch
        self._base = task.cancelling()
        self.task = task
        self.deadline: float | None = None
        """Event-loop time, seconds, at which the task is cancelled; None is never. `arm` after setting it."""
        self.rang = 0
        """How many times it cancelled the task since the deadline was set."""

    def arm(self) -> None:
        """See to it that the deadline is heeded: before the task next waits, for until then nothing can ring."""
        if self.deadline is None:
            return
        self._watch.waiting.add(self)
        if self.deadline < self._watch.armed_at:
            self._watch.arm(self.deadline)

    def disarm(self) -> None:
        """The task waits no more, and is not cancelled."""
        self.deadline = None
        self._watch.waiting.discard(self)

    def took(self) -> bool:
        """Whether the cancellation just caught was only this alarm's; if so the task counts as not cancelled."""
        if not self.rang:
            return False
        for _ in range(self.rang):
            self.task.uncancel()
        self.rang = 0
        return not self.is_task_cancelled

    def take_back_for_groups(self, cancellation: asyncio.CancelledError) -> None:
        """Take back what task groups left standing when they ended their own wait with this cancellation.

        Before Python 3.13 an `asyncio.TaskGroup` that waits at its end cancels its task for the first that fails in
        it, and forgets to take that back (python/cpython#116720). Its own mark tells that from whoever else
        cancelled the task meanwhile; a group that was left by an exception (`et`) cancels its task no more, and has
        taken back what it did before.
        """
        if sys.version_info < (3, 13):
            for frame in _passed(cancellation, _GROUPS_END):
                group = frame.f_locals["self"]
                if group._parent_cancel_requested and frame.f_locals["et"] is None:  # noqa: SLF001  # these versions change no more
                    group._parent_cancel_requested = False  # noqa: SLF001  # nor does it read that again
                    if self.cancellations > self.rang:
                        self.task.uncancel()

    @property
    def cancellations(self) -> int:
        """How many were asked of the task, by whomever, and not taken back since."""
        return self.task.cancelling() - self._base

    @property
    def is_task_cancelled(self) -> bool:
        """Whether anybody but this alarm asked the task to stop. A CancelledError without that is the component's."""
        return self.task.cancelling() > self._base + self.rang


def _passed(error: BaseException, code: CodeType) -> Iterator[FrameType]:
    """The calls of one function that an exception came to or through."""
    for frame, _ in walk_tb(error.__traceback__):
        if frame.f_code is code:
            yield frame
