"""Being told to stop: first in order, a second time at once; and what is waited for then, never for ever."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final, TypeVar

from stretto.acp.server.desk import END_S, Desk

T = TypeVar("T")

CLOSE_S: Final = 10.0
"""In which components let go of what they hold: as long as `docker stop` waits in all."""

HURRY_S: Final = 1.0
"""The same, where a second signal came."""

_log: Final = logging.getLogger(__name__)

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Stop:
    """How often it was told."""

    def __init__(self) -> None:
        self.first = asyncio.Event()
        self.second = asyncio.Event()

    def told(self) -> None:
        """Once more."""
        (self.second if self.first.is_set() else self.first).set()


@contextmanager
def stop_signals() -> Iterator[Stop]:
    """SIGTERM and Ctrl-C meanwhile."""
    stop, loop = Stop(), asyncio.get_running_loop()
    for each in _SIGNALS:
        loop.add_signal_handler(each, stop.told)
    try:
        yield stop
    finally:
        for each in _SIGNALS:
            loop.remove_signal_handler(each)


async def drained(desk: Desk, grace_s: float, hurry: asyncio.Event) -> bool:
    """Take no more calls, and wait for those in progress: for so many seconds, or until there is hurry. Whether all
    were answered."""
    async with _given_up(desk.drain(grace_s), hurry) as draining:
        return draining.done() and draining.result()


async def closed(desk: Desk, hurry: asyncio.Event) -> None:
    """Close what the components hold; one that does not close is left behind."""
    if hurry.is_set():
        closing = _given_up(desk.close(0.0), asyncio.Event(), HURRY_S)
    else:
        closing = _given_up(desk.close(END_S), hurry, CLOSE_S)
    async with closing as ended:
        if ended.done():
            ended.result()
        else:
            _log.warning("a component did not close in time, and is left behind")


@asynccontextmanager
async def _given_up(
    work: Coroutine[object, object, T], hurry: asyncio.Event, limit_s: float | None = None
) -> "AsyncIterator[asyncio.Task[T]]":
    """The work as a task, which has ended, or is given up because its time is over or it is told to hurry."""
    working, hurrying = asyncio.create_task(work), asyncio.create_task(hurry.wait())
    try:
        await asyncio.wait((working, hurrying), timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        yield working
    finally:
        working.cancel()
        hurrying.cancel()
