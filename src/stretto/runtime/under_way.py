"""Which runs are under way: what they call must stay open until they end."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final
from weakref import WeakKeyDictionary

WAIT_S: Final = 10.0
"""For runs under way when their workflow is closed; as long as a component may take to close."""

_log: Final = logging.getLogger(__name__)


class UnderWay:
    """The runs of one workflow, by the event loop in which they are made."""

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[asyncio.AbstractEventLoop, _Runs] = WeakKeyDictionary()

    @contextmanager
    def one(self) -> Iterator[None]:
        """A run is made inside."""
        loop = asyncio.get_running_loop()
        runs = self._of.get(loop)
        if runs is None:
            runs = self._of[loop] = _Runs()
        runs.number += 1
        try:
            yield
        finally:
            runs.number -= 1
            if not runs.number and runs.ended is not None:
                runs.ended.set()

    async def end(self, workflow: str) -> None:
        """Wait until those of this event loop have ended; of those that do not, the log tells."""
        runs = self._of.get(asyncio.get_running_loop())
        if runs is None or not runs.number:
            return
        runs.ended = runs.ended or asyncio.Event()
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_S):
                await runs.ended.wait()
        runs.ended = None
        if runs.number:
            told = "workflow '%s' is closed with %d of its runs under way: what they call is closed beneath them"
            _log.warning(told, workflow, runs.number)


class _Runs:
    """Those of one event loop."""

    __slots__ = ("ended", "number")

    def __init__(self) -> None:
        self.number = 0
        self.ended: asyncio.Event | None = None
        """Set with the last; made by who waits for that."""
