"""Components are open while somebody needs them: opened once, and closed by the last who let go.

What is open belongs to the event loop in which it was opened. Nobody else uses it while that loop lives; once it has
ended, what it left is closed as well as that still can be, and opened again where it is needed next.
"""

import asyncio
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from stretto.components.loop_lock import LoopLock
from stretto.engine.holding import Closes, close_each, open_one
from stretto.types.errors import UsageError
from stretto.types.protocols import Component, Opens

_log: Final = logging.getLogger(__name__)

CLOSE_GRACE_S: Final = 10.0
"""A component that cannot be closed in this time is left behind; a tool server kills its process sooner."""


class Shared:
    """Which components are open, for workflows that have some in common."""

    def __init__(self) -> None:
        self._shares: dict[int, Share] = {}
        self._clearing = LoopLock()

    async def open(self, name: str, component: Opens) -> "Share":
        """Open a component, unless it is open already.

        Raises as `open_one` does, and UsageError when it is open in another event loop that lives.
        """
        share = self._shares.setdefault(id(component), Share(self._shares, name, component))
        if share.loop is not asyncio.get_running_loop():
            raise _elsewhere(f"component '{name}', which this workflow shares with another,", share.loop)
        await share.open()
        return share

    @property
    def any_open(self) -> bool:
        """Whether anybody still needs one of them."""
        return bool(self._shares)

    async def clear(self) -> None:
        """Close what was left open in event loops that have ended; trouble is told in the log."""
        async with self._clearing.here():
            left = self._given_up(share for share in self._shares.values() if share.loop.is_closed())
            await _close_all((f"{name}, left open in an event loop that has ended,", share) for name, share in left)

    async def close(self) -> None:
        """Close what is open in this event loop, whoever needs it: the loop is about to end."""
        loop = asyncio.get_running_loop()
        await _close_all(self._given_up(share for share in self._shares.values() if share.loop is loop))

    def _given_up(self, shares: Iterable["Share"]) -> Iterator[tuple[str, "Share"]]:
        """Takes them one at a time, the newest first: what is not reached stays to be closed later."""
        for share in reversed(tuple(shares)):
            share.leave_to_one()
            yield f"component '{share.name}'", share


class Share:
    """One component that is open in an event loop, or about to be, and how many need it."""

    def __init__(self, among: "dict[int, Share]", name: str, component: Opens) -> None:
        self.loop = asyncio.get_running_loop()
        self.name = name
        self._among = among
        self._component = component
        self._users = 0
        self._is_open = False
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Open it for one more; a success needs its `close`."""
        self._users += 1
        try:
            async with self._opening:
                if not self._is_open:
                    await open_one(self.name, self._component)
                    self._is_open = True
        except BaseException:
            self._let_go()
            raise

    async def close(self) -> None:
        """Close it when nobody else needs it."""
        if self._let_go() and self._is_open:
            self._is_open = False
            await self._component.close()

    def leave_to_one(self) -> None:
        """Let the next who closes it be the last, however many need it."""
        self._users = 1

    def _let_go(self) -> bool:
        """Whether that was the last."""
        self._users -= 1
        is_last = self._users == 0
        if is_last and self._among.get(id(self._component)) is self:
            del self._among[id(self._component)]
        return is_last


class Opening:
    """The components of one workflow: all open, or none."""

    def __init__(self, components: Mapping[str, Component], shared: Shared) -> None:
        self._holding = [(name, each) for name, each in components.items() if isinstance(each, Opens)]
        self._shared = shared
        self._opened: list[tuple[str, Share]] = []
        self.open_in: asyncio.AbstractEventLoop | None = None
        """The event loop in which all are open; None when they are not."""
        self._loop: asyncio.AbstractEventLoop | None = None
        """The one in which some are open, or about to be."""
        self._opening = LoopLock()
        self._taking = threading.Lock()

    async def open(self) -> None:
        """Open those that hold something; when one does not open, close the others and raise what it raised.

        Those that an event loop left which has ended are opened again; UsageError when it has not ended.
        """
        if self.open_in is not asyncio.get_running_loop():
            await self._open_here()

    async def close(self) -> None:
        """Let go of all. Runs were answered already, so trouble is told in the log and stops nothing.

        Nothing is done while another event loop runs in which they are open.
        """
        if self._is_elsewhere():
            return
        self.open_in = None
        await _close_all(self._newest_first())
        self._loop = None

    def hold_to_loop(self) -> None:
        """Raise UsageError while another event loop runs in which they are open: it is the one to close them."""
        if self._is_elsewhere() and self._loop is not None:
            raise _elsewhere("this workflow", self._loop)

    async def _open_here(self) -> None:
        if not self._holding:
            return
        loop = asyncio.get_running_loop()
        self._take(loop)
        async with self._opening.here():
            if self.open_in is not loop:
                await self._shared.clear()
                await self._open_all()
                self.open_in = self._loop = loop

    def _take(self, loop: asyncio.AbstractEventLoop) -> None:
        """Make it this event loop's. Two threads may come at once."""
        with self._taking:
            before = self._loop
            if before is not None and before is not loop:
                if not before.is_closed():
                    raise _elsewhere("this workflow", before)
                self._opened.clear()
            self._loop = loop

    async def _open_all(self) -> None:
        try:
            for name, component in self._holding:
                self._opened.append((name, await self._shared.open(name, component)))
        except BaseException:  # nobody closes a workflow that did not open: a server would stay
            await self.close()
            raise

    def _is_elsewhere(self) -> bool:
        loop = self._loop
        return loop is not None and loop.is_running() and loop is not asyncio.get_running_loop()

    def _newest_first(self) -> Iterator[tuple[str, Closes]]:
        """Takes what is open, one at a time: what is not reached stays to be closed later."""
        while self._opened:
            name, share = self._opened.pop()
            yield f"component '{name}'", share


async def _close_all(holders: Iterator[tuple[str, Closes]]) -> None:
    for trouble in await close_each(holders, CLOSE_GRACE_S):
        _log.warning("%s", trouble)


def _elsewhere(what: str, loop: asyncio.AbstractEventLoop) -> UsageError:
    if loop.is_running():
        return UsageError(
            f"{what} is open in another event loop, which runs in another thread; load a workflow for each event loop, "
            "or hand the work to that loop with asyncio.run_coroutine_threadsafe"
        )
    return UsageError(
        f"{what} is open in another event loop, which is not at work but has not ended; close the workflow first: "
        "`workflow.close()` after `run_sync`, else `await workflow.aclose()` there"
    )
