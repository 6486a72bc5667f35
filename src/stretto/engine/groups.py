"""What task groups leave standing, before Python 3.13 (python/cpython#116720).

An `asyncio.TaskGroup` cancels its task for the first that fails in it. While the group's body is under way it takes
that back when it comes to its end; when it waits at its end it forgets to. Its own mark, `_parent_cancel_requested`,
is the same for both: what tells them is when it was set, before the group began to wait or since.
"""

import asyncio
import gc
import sys
from collections.abc import Coroutine, Iterator
from traceback import walk_tb
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import Any, Generic, TypeAlias, TypeVar

from stretto.engine.alarm import Alarm

T = TypeVar("T")


class Heeded(Generic[T]):
    """A coroutine stepped by hand; what its groups leave standing is taken back, and nothing that others asked for."""

    __slots__ = ("_alarm", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, T], alarm: Alarm) -> None:
        self._coroutine = coroutine
        self._alarm = alarm

    def send(self, value: None) -> object:
        waiting: object = self._coroutine.send(value)
        self._see_who_took_it_back()
        return waiting

    def throw(self, error: BaseException) -> object:
        try:
            waiting: object = self._coroutine.throw(error)
        finally:
            if isinstance(error, asyncio.CancelledError):
                self._take_back(error)
        self._see_who_took_it_back()
        return waiting

    def close(self) -> None:
        self._coroutine.close()

    def _take_back(self, cancellation: asyncio.CancelledError) -> None:
        """A group that was left by an exception (`et`) cancels its task no more, and has taken back what it did."""
        for frame in _ends_passed(cancellation):
            if _is_marked(frame, self._alarm) and frame.f_locals["et"] is None:
                _unmark(frame)
                if self._alarm.cancellations > self._alarm.rang:
                    self._alarm.task.uncancel()

    def _see_who_took_it_back(self) -> None:
        """A group that waits at its end now, and is marked already, was so when it came there, and took it back."""
        for frame in _ends_waiting(self._coroutine):
            if _is_marked(frame, self._alarm):
                _unmark(frame)


Steps: TypeAlias = Coroutine[Any, Any, T] | Heeded[T]
"""What is stepped by hand."""


def heeding_groups(steps: Steps[T], alarm: Alarm) -> Steps[T]:
    """Heed the groups in it from now on: before a first cancellation is handed to it there is nothing to heed."""
    if sys.version_info >= (3, 13) or isinstance(steps, Heeded):
        return steps
    return Heeded(steps, alarm)


def _is_marked(frame: FrameType, alarm: Alarm) -> bool:
    group = frame.f_locals["self"]
    return group._parent_cancel_requested and group._parent_task is alarm.task  # noqa: SLF001  # these versions change no more


def _unmark(frame: FrameType) -> None:
    frame.f_locals["self"]._parent_cancel_requested = False  # noqa: SLF001  # a group at its end does not read it again


def _is_end(frame: FrameType | None) -> bool:
    return frame is not None and frame.f_code is asyncio.TaskGroup.__aexit__.__code__


def _ends_passed(error: BaseException) -> Iterator[FrameType]:
    """The ends of groups that an exception came to or through."""
    return (frame for frame, _ in walk_tb(error.__traceback__) if _is_end(frame))


def _ends_waiting(outermost: object) -> Iterator[FrameType]:
    """The ends of groups in which a suspended coroutine waits, also those inside what it awaits."""
    at: object = outermost
    while at is not None:
        if isinstance(at, CoroutineType):
            if at.cr_frame is not None and _is_end(at.cr_frame):
                yield at.cr_frame
            at = at.cr_await
        elif isinstance(at, GeneratorType):
            at = at.gi_yieldfrom
        elif isinstance(at, AsyncGeneratorType):
            at = at.ag_await
        else:  # what steps an asynchronous generator, or wraps a coroutine, does not say which
            kinds = (CoroutineType, GeneratorType, AsyncGeneratorType)
            at = next((referent for referent in gc.get_referents(at) if isinstance(referent, kinds)), None)
