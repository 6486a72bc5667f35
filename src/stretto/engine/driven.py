"""Await a component in the caller's task, and walk away from one that ignores cancellation.

A task per call would allow the same at 5 to 10 µs each. Stepping the coroutine by hand costs 0.3 µs and nothing
when the component does not suspend.
"""

from asyncio import CancelledError, Future, isfuture
from collections.abc import Awaitable, Coroutine, Generator
from contextlib import suppress
from types import NoneType, coroutine as awaitable_generator
from typing import Any, Final, TypeVar

from stretto.engine.alarm import Alarm
from stretto.engine.groups import Steps, heeding_groups

T = TypeVar("T")

_HEARS_AT_ONCE: Final = frozenset({Future, NoneType})
"""What most coroutines wait for: of the exact kinds of these nothing is a task, nor hands a cancellation on to one."""


@awaitable_generator
def driven(coroutine: Coroutine[Any, Any, T], alarm: Alarm) -> Generator[Any, Any, T]:
    """Await one coroutine. Its first cancellation lets it clean up; a second on top of that closes it.

    A cancellation that it takes back counts no more, as that of an `asyncio.timeout` inside it, nor does one of what
    it waits for. A task that it waits for is left behind with it. The alarm is armed before it first waits: what never
    does needs no timer.
    """
    try:
        waiting = coroutine.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    return (yield from driven_on(coroutine, waiting, alarm))


@awaitable_generator
def driven_on(coroutine: Coroutine[Any, Any, T], waiting: object, alarm: Alarm) -> Generator[Any, Any, T]:
    """`driven` for a coroutine that was begun and waits for something: one that never does needs none of this."""
    steps: Steps[T] = coroutine
    standing = 0
    try:
        alarm.arm()
        while True:
            try:
                if type(waiting) in _HEARS_AT_ONCE or waiting is alarm.task or not isfuture(waiting):
                    yield waiting
                else:
                    yield from _end_of(waiting)
            except CancelledError as cancellation:
                if 0 < standing < alarm.cancellations or alarm.rang > 1:
                    _forget(waiting)
                    with suppress(RuntimeError):  # it ignores GeneratorExit too: nothing more can be done
                        steps.close()
                    raise
                steps = heeding_groups(steps, alarm)
                if not _handed_on(waiting):
                    waiting = steps.throw(cancellation)
                standing = alarm.cancellations
            except BaseException as error:  # noqa: BLE001  # not handled here: handed to the component
                waiting = steps.throw(error)
            else:
                waiting = steps.send(None)
                if standing:
                    standing = min(standing, alarm.cancellations)
    except StopIteration as done:
        value: T = done.value
        return value


async def awaited(answer: Awaitable[T]) -> T:
    """A coroutine of whatever may be awaited."""
    return await answer


def _end_of(task: Future[Any]) -> Future[None]:
    """Done when the task is.

    Who waits for the task itself hears of a cancellation when it has ended: asyncio hands it on, there or to all that
    are gathered. Who waits for this hears of it at once.
    """
    end: Future[None] = task.get_loop().create_future()
    task._asyncio_future_blocking = False  # noqa: SLF001  # as asyncio's own task takes what its coroutine awaits
    task.add_done_callback(lambda _: None if end.done() else end.set_result(None))
    return end


def _handed_on(waiting: object) -> bool:
    """Hand a cancellation on to the task that is waited for, as asyncio does; whether there is one that was not done.

    Nobody may be left who asks what became of it.
    """
    if type(waiting) in _HEARS_AT_ONCE or not isfuture(waiting):
        return False
    is_told = waiting.cancel()
    _forget(waiting)
    return is_told


def _forget(waiting: object) -> None:
    """Nobody asks any more what became of what was waited for, and asyncio need not log that."""
    if isfuture(waiting):
        waiting.add_done_callback(lambda task: task.cancelled() or task.exception())
