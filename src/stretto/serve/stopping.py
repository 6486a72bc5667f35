"""Being told to stop: first in order, a second time at once."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from stretto.acp.server.desk import Desk

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
    draining = asyncio.ensure_future(desk.drain(grace_s))
    hurrying = asyncio.ensure_future(hurry.wait())
    try:
        await asyncio.wait((draining, hurrying), return_when=asyncio.FIRST_COMPLETED)
        return draining.done() and draining.result()
    finally:
        for each in (draining, hurrying):
            each.cancel()
