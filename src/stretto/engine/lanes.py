"""Lanes: tasks of one run that work side by side and end together."""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from types import coroutine as awaitable_generator
from typing import Any, TypeAlias

from stretto.engine.alarm import Alarm, Watch
from stretto.engine.failure import error_info
from stretto.engine.state import Lane, RunState, StepFailed
from stretto.engine.taint import Taint
from stretto.plan.model import Block, Frame
from stretto.types.budget import Budget
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import Code, ComponentError
from stretto.types.ids import StepPath

RunBlock: TypeAlias = Callable[[RunState, Block, Frame, str, Lane, Taint | None], Coroutine[Any, Any, None]]
"""`graph.run_block`, given to the steps that hold a block."""

Work: TypeAlias = Callable[..., Coroutine[Any, Any, None]]
"""What one lane does. It is given the lane, then what `Lanes.open` was given."""


class Lanes:
    """The lanes of one step. The first that fails stops the others, and so does whoever cancels their opener.

    An `asyncio.TaskGroup` is not used: it cancels its own task when one fails, which before Python 3.13 nothing tells
    from being cancelled by others; it hands on one cancellation only, and waits for ever for what ignores that. The
    opener does nothing but wait, so that whatever cancels it means them all.
    """

    __slots__ = ("_budget", "_ended", "_failed", "_loop", "_open", "_watch", "is_stopping")

    def __init__(self, watch: Watch, budget: Budget) -> None:
        self._watch = watch
        self._budget = budget
        self._loop = asyncio.get_running_loop()
        self._open: set[asyncio.Task[object]] = set()
        self._failed: list[asyncio.Task[object]] = []
        self._ended: asyncio.Future[None] = self._loop.create_future()
        """Done when all have ended, or one has failed."""
        self.is_stopping = False
        """Whether they were cancelled from here."""

    def open(self, work: Work, *args: object) -> None:
        """Begin to work in a task of its own.

        It is inside of what it leaves by when its task begins: one that is cancelled before that leaves as well. The
        loop's task factory is not asked, since an eager task could end before anybody knows of it.
        """
        working = self._work(work, args)
        working.send(None)
        self._open.add(asyncio.Task(working, loop=self._loop))

    async def end(self, opener: Alarm) -> None:
        """Wait until all have ended; raises what stopped them, if they did not all do their work.

        Those that are stopped are cancelled, which lets components clean up; again after a grace, or when the opener
        is cancelled again, which leaves them behind.
        """
        try:
            await self._ended
        except asyncio.CancelledError:
            self._stop()
        except GeneratorExit:
            self._stop()
            raise
        if self.is_stopping:
            await self._see_them_stop()
            self._raise_first(opener)

    async def _work(self, work: Work, args: tuple[object, ...]) -> None:
        """A done callback for each would cost more than all of this."""
        is_done = False
        try:
            await _its_task()
            await work(Lane(self._watch.alarm(), self._budget), *args)
            is_done = True
        finally:
            self._leave(asyncio.current_task(self._loop), is_done=is_done)

    def _leave(self, task: asyncio.Task[object] | None, *, is_done: bool) -> None:
        if task is None or task not in self._open:  # it was dropped with its event loop
            return
        self._open.remove(task)
        if not is_done:
            self._failed.append(task)
            if not self.is_stopping:
                self._stop()
        if not (self._open and is_done) and not self._ended.done():
            self._ended.set_result(None)

    def _stop(self) -> None:
        self.is_stopping = True
        for task in self._open:
            task.cancel()

    async def _see_them_stop(self) -> None:
        while self._open:
            with suppress(asyncio.CancelledError):
                await asyncio.wait(self._open, timeout=self._watch.grace_s)
            self._stop()

    def _raise_first(self, opener: Alarm) -> None:
        failures = [error for task in self._failed if not task.cancelled() and (error := task.exception()) is not None]
        first = first_failure(failures) if failures else None
        if first is not None and not (opener.is_task_cancelled and isinstance(first, StepFailed)):
            raise first
        if first is None and not opener.is_task_cancelled:
            raise _never_begun()
        raise asyncio.CancelledError


@awaitable_generator
def _its_task() -> Generator[None, None, None]:
    """Wait to be given a task."""
    yield


def first_failure(failures: Sequence[BaseException]) -> BaseException:
    """What ended a run of those that failed side by side: a broken engine before a step in doubt, that before others.

    Of equal ones it is the one that ended first. When components take their time in another order, another failure
    ends the run, and which steps were cancelled for it differs as well.
    """
    for failure in failures:
        if not isinstance(failure, StepFailed):
            return failure
    parked = (failure for failure in failures if isinstance(failure, StepFailed) and failure.status is RunStatus.PARKED)
    return next(parked, failures[0])


def _never_begun() -> StepFailed:
    """The failure of a lane that was cancelled before it came to a step, while nobody stopped them all."""
    error = ComponentError(
        "a branch of the run was cancelled before it had begun, which the run had not been; let what cancels tasks "
        "(`asyncio.all_tasks()` has those of a run too) cancel only its own, or the task that called `run`",
        Code.CANCELLED,
    )
    return StepFailed(error_info(error, ""), Reason.CANCELLED)


def stopped_itself(path: StepPath) -> StepFailed:
    """The failure of a lane that was cancelled while nobody stopped them all and nothing failed in them."""
    error = ComponentError(
        f"a component at or inside step '{path}' cancelled the task that it runs in, which nobody else had; raise an "
        "error that says what could not be done",
        Code.CANCELLED,
    )
    return StepFailed(error_info(error, path), Reason.CANCELLED)
