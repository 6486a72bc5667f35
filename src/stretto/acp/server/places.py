"""Places: how many calls are worked on at once, and who may wait."""

import asyncio
from collections import deque
from contextlib import suppress
from typing import Final

from stretto.acp.failure import AcpError
from stretto.acp.names import Reason
from stretto.acp.server.limits import Limits
from stretto.acp.server.refusal import refusal
from stretto.types.errors import Code

_NEWEST: Final = 0.1
"""Weight of the newest call in the mean service time: what is remembered is some twenty calls."""


class Places:
    """First come, first served. Whoever could not be answered in time is told at once, and not after waiting."""

    def __init__(self, limits: Limits) -> None:
        self._free = limits.max_concurrent
        self._limits = limits
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._mean_s = 0.0
        self._emptied: asyncio.Event | None = None
        """Set when the last place is given back; made by who waits for that."""

    @property
    def taken(self) -> int:
        """Calls that are worked on."""
        return self._limits.max_concurrent - self._free

    @property
    def waiting(self) -> int:
        """Calls that wait."""
        return len(self._waiting)

    def take_now(self) -> bool:
        """Take a place if one is free, and nobody waits for it."""
        if self._free <= 0 or self._waiting:
            return False
        self._free -= 1
        return True

    async def take(self, deadline: float | None) -> None:
        """Wait for a place; raises AcpError (SHED) when there will be none before the event-loop time `deadline`."""
        loop = asyncio.get_running_loop()
        if len(self._waiting) >= self._limits.max_queued:
            raise self._shed(f"{len(self._waiting)} calls wait already")
        expected_s = self._mean_s * (len(self._waiting) + 1) / self._limits.max_concurrent
        if deadline is not None and loop.time() + expected_s > deadline:
            raise self._shed(f"a place would be free in {expected_s:.3g} s, after the deadline")
        turn = loop.create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout_at(deadline):
                await turn
        except TimeoutError:
            self._leave_queue(turn)
            raise self._shed("none came free before the deadline") from None
        except asyncio.CancelledError:
            self._leave_queue(turn)
            raise

    async def empty(self, within_s: float) -> bool:
        """Wait until nothing is worked on, what was left behind included, for so many seconds; whether that is so."""
        if not self.taken:
            return True
        self._emptied = asyncio.Event()
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._emptied.wait()
        return not self.taken

    def leave(self, worked_s: float) -> None:
        """Give the place to whoever waits longest."""
        self._mean_s += _NEWEST * (worked_s - self._mean_s)
        self._pass_on()

    def _pass_on(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
        if self._emptied is not None and not self.taken:
            self._emptied.set()

    def _leave_queue(self, turn: "asyncio.Future[None]") -> None:
        """Nobody is let in for a call that left; one that was let in as it left lets the next in."""
        if turn.done() and not turn.cancelled():
            self._pass_on()
        elif turn in self._waiting:
            self._waiting.remove(turn)

    def _shed(self, why: str) -> AcpError:
        limits = self._limits
        return refusal(
            Code.RESOURCE_EXHAUSTED,
            Reason.SHED,
            f"there is no place for the call: {limits.max_concurrent} are worked on, and {why}",
            retry_after_ms=max(1.0, self._mean_s * 1000.0),
        )
