"""Deadlines without a timer for each call.

`asyncio.timeout` arms and cancels a timer for every step (5 µs each, measured). A run keeps one timer for all its
tasks, armed for the earliest deadline; when it fires early it is armed again for the deadline that stands by then.
"""

import asyncio
import math
from typing import Final

import msgspec

GRACE_S: Final = 1.0
"""What a cancelled component gets for cleaning up before it is cancelled again and abandoned."""


class Watch(msgspec.Struct, eq=False):
    """One run's timer. A struct as `Alarm` is, though neither is a value: it is made in C, in a third of the time."""

    _loop: asyncio.AbstractEventLoop
    grace_s: float = GRACE_S
    """What a component that is cancelled gets for cleaning up; less where another must answer in its place."""
    _handle: asyncio.TimerHandle | None = None
    armed_at: float = math.inf
    """Event-loop time at which it rings next, unless told of an earlier deadline."""
    waiting: set["Alarm"] = msgspec.field(default_factory=set)
    """Alarms whose deadlines it heeds: of tasks that wait now, and no others, however many there were."""

    def alarm(self) -> "Alarm":
        """An alarm for the current task."""
        task = asyncio.current_task(self._loop)
        if task is None:
            raise RuntimeError("a run needs a task: call it from a coroutine")
        return Alarm(self, task, task.cancelling())

    def alarm_inside(self, outer: "Alarm") -> "Alarm":
        """An alarm for the current task, which may be that of a call around what it is for, or one beside it."""
        alarm = self.alarm()
        return (
            InnerAlarm(self, outer.task, outer.task.cancelling(), _outer=outer) if alarm.task is outer.task else alarm
        )

    def arm(self, deadline: float) -> None:
        """Ring at this deadline, which is before all others."""
        self.close()
        self.armed_at = deadline
        self._handle = self._loop.call_at(deadline, self._ring)

    def end(self) -> None:
        """Drop the timer, unless a call that was left behind has a deadline yet: it would hold its place for ever."""
        if not self.waiting:
            self.close()

    def close(self) -> None:
        """Drop the timer."""
        self.armed_at = math.inf
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
                    alarm.ring()
                    alarm.deadline = now + self.grace_s
                if alarm.deadline < self.armed_at:
                    self.arm(alarm.deadline)


class Alarm(msgspec.Struct, eq=False):
    """Cancels its task when the deadline that is set passes, and again after a grace if the task goes on."""

    _watch: Watch
    task: asyncio.Task[object]
    _base: int
    """How often the task had been cancelled, and not taken back, before; and what it is told to overlook."""
    deadline: float | None = None
    """Event-loop time, seconds, at which the task is cancelled; None is never. `arm` after setting it."""
    rang: int = 0
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

    def ring(self) -> None:
        """Cancel the task."""
        self.rang += 1
        self.task.cancel()

    def overlook(self, more: int) -> None:
        """Count so many more cancellations of the task as none."""
        self._base += more

    def took(self) -> bool:
        """Whether the cancellation just caught was only this alarm's; if so the task counts as not cancelled."""
        if not self.rang:
            return False
        for _ in range(self.rang):
            self.task.uncancel()
        self.rang = 0
        return not self.is_task_cancelled

    @property
    def cancellations(self) -> int:
        """How many were asked of the task, by whomever, and not taken back since."""
        return self.task.cancelling() - self._base

    @property
    def is_task_cancelled(self) -> bool:
        """Whether anybody but this alarm asked the task to stop. A CancelledError without that is the component's."""
        return self.task.cancelling() > self._base + self.rang


class InnerAlarm(Alarm, eq=False, kw_only=True):
    """An alarm of a call inside another's, in one task: what it asks of the task nobody has asked of the outer call."""

    _outer: Alarm

    def ring(self) -> None:
        super().ring()
        self._outer.overlook(1)

    def took(self) -> bool:
        self._outer.overlook(-self.rang)
        return super().took()

    def overlook(self, more: int) -> None:
        super().overlook(more)
        self._outer.overlook(more)
