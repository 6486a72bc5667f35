"""The thin sync face: async work done to its end from code that is not async."""

import asyncio
import atexit
import threading
import weakref
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final, TypeVar

from stretto.types.errors import UsageError

T = TypeVar("T")

Last = Callable[[], Coroutine[Any, Any, None]]

_OPEN: Final[dict[int, tuple[asyncio.Runner, Last]]] = {}
"""Every loop that has not ended, by a number of its own, and what is to be done before it does."""

_ABANDONED: Final[deque[int]] = deque()
"""Those that belong to nobody any more. A garbage collector only notes them here: it may come at any moment, in any
thread and with any lock held, and what closes components would wait there for ever."""

_NUMBERS: Final = count()


class OwnLoop:
    """One event loop for many calls, so that what one of them opened serves the next.

    `last` is done in it before it ends: at `finish`; when that is never called, at the exit of the interpreter, or when
    this object is gone and another begins a loop. It must not refer to this object, which would then never be gone.
    """

    def __init__(self, last: Last) -> None:
        self._last = last
        self._number: int | None = None
        self._turn = threading.Lock()
        """Held by the thread that is in the loop."""

    def run(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run what `start` makes to its end. Raises UsageError inside a running event loop, and while another thread
        is at it: to wait for that might be to wait for ever, since it may be waiting for this one.
        """
        kept: list[T] = []

        async def keep() -> None:  # when a runner gives SIGINT back, Python writes the result of its task as text
            kept.append(await start())

        with self._taken() as runner:
            runner.run(keep())
        return kept[0]

    def finish(self, start: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        """`run`, and end the loop when it says that nothing needs it any more; the next call begins another."""
        with self._taken() as runner:
            number = self._number
            if runner.run(start()) and number is not None:
                self._number = None
                _end(number)

    @contextmanager
    def _taken(self) -> Iterator[asyncio.Runner]:
        if _in_event_loop():
            raise UsageError("an event loop is running here: use `await workflow.run(...)`")
        if not self._turn.acquire(blocking=False):
            raise UsageError(
                "another thread is in a call that blocks, of this workflow or of one that shares what is open with it; "
                "load a workflow for each thread, or use `await workflow.run(...)` in one event loop"
            )
        try:
            if self._number is None:
                self._number = self._begin()
            yield _OPEN[self._number][0]
        finally:
            self._turn.release()

    def _begin(self) -> int:
        while _ABANDONED:
            _end(_ABANDONED.popleft())
        number = next(_NUMBERS)
        _OPEN[number] = asyncio.Runner(), self._last
        weakref.finalize(self, _ABANDONED.append, number).atexit = False
        return number


def _end(number: int) -> None:
    """Do what is last in a loop, and close it; nothing when it has ended, or a thread left at exit is still in it."""
    runner, last = _OPEN.pop(number, (None, None))
    if runner is not None and last is not None and not runner.get_loop().is_running():
        with runner:
            runner.run(last())


@atexit.register
def _end_all() -> None:
    for number in list(_OPEN):
        _end(number)


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
