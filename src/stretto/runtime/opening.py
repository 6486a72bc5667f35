"""Components are open while somebody needs them: opened once, and closed by the last who let go.

What is open belongs to the event loop in which it was opened. Nobody else uses it, or closes it, while that loop lives;
once it has ended, what it left is closed as well as that still can be, and opened again where it is needed next. A
workflow of which no component holds anything belongs to no loop.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final
from weakref import WeakKeyDictionary

from stretto.components.loop_lock import LoopLock, open_elsewhere
from stretto.engine.holding import Closes, close_each, open_one
from stretto.runtime.shut import Shut
from stretto.types.errors import ComponentError
from stretto.types.protocols import Opens

_WORKFLOW: Final = "this workflow"

_log: Final = logging.getLogger(__name__)

CLOSE_GRACE_S: Final = 10.0
"""A component that cannot be closed in this time is left behind; a tool server kills its process sooner."""


class Shared:
    """Which components are open, for workflows that have some in common."""

    def __init__(self) -> None:
        self._shares: dict[int, Share] = {}
        self._clearing: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
        """Of each loop, so that its workflows wait for each other: none opens what another is closing."""

    async def open(self, name: str, component: Opens) -> "Share":
        """Open a component, unless it is open already.

        Raises as `open_one` does, and UsageError when it is open in another event loop that lives.
        """
        share = self._shares.setdefault(id(component), Share(self._shares, name, component))
        if share.loop is not asyncio.get_running_loop():
            raise open_elsewhere(f"component '{name}', which this workflow shares with another,", share.loop)
        await share.open()
        return share

    @property
    def any_open_here(self) -> bool:
        """Whether anybody still needs one of them in this event loop."""
        loop = asyncio.get_running_loop()
        return any(share.loop is loop for share in tuple(self._shares.values()))

    async def clear(self) -> None:
        """Close what was left open in event loops that have ended; trouble is told in the log."""
        async with self._clearing.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            left = self._given_up(lambda loop: loop.is_closed())
            await _close_all((f"{name}, left open in an event loop that has ended,", share) for name, share in left)

    async def close(self) -> None:
        """Close what is open in this event loop, whoever needs it: the loop is about to end."""
        here = asyncio.get_running_loop()
        await _close_all(self._given_up(lambda loop: loop is here))

    def _given_up(self, by: Callable[[asyncio.AbstractEventLoop], bool]) -> Iterator[tuple[str, "Share"]]:
        """Takes those of some loops one at a time, the newest first: what is not reached stays to be closed later."""
        for share in reversed(tuple(self._shares.values())):  # a copy: other threads come and go
            if by(share.loop):
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
    """The components of one workflow: all open, or none; but for those that it can do without.

    One of these that does not open is `shut`, and calls that need it try again.
    """

    def __init__(
        self, components: Mapping[str, object], shared: Shared, dispensable: frozenset[str] = frozenset()
    ) -> None:
        self._holding = [(name, each) for name, each in components.items() if isinstance(each, Opens)]
        self.held = frozenset(id(each) for _, each in self._holding)
        """Which components hold something."""
        self.shut = Shut()
        self._dispensable = dispensable
        self._shared = shared
        self._opened: list[tuple[str, Share]] = []
        self.open_in: asyncio.AbstractEventLoop | None = None
        """The event loop in which all are open that must be; None when they are not."""
        self._loop: asyncio.AbstractEventLoop | None = None
        """The one in which some are open, or about to be."""
        self._changing = LoopLock()

    def shares_with(self, other: "Opening") -> bool:
        """Whether a component that holds something is in both."""
        return not self.held.isdisjoint(other.held)

    async def open(self) -> None:
        """Open those that hold something; when one does not open that must, close the others and raise what it raised.

        Those that an event loop left which has ended are opened again; UsageError when it has not ended.
        """
        loop = asyncio.get_running_loop()
        if not self._holding:
            self.open_in = loop  # nothing ties it to this loop: the next one says the same
            return
        async with self._changing.held(_WORKFLOW):
            if self.open_in is not loop:  # somebody else may have been first
                self._take(loop)
                await self._shared.clear()
                await self._open_all()
                self.open_in = loop

    async def close(self) -> None:
        """Let go of all, once what is being opened is open. Runs were answered already, so trouble is told in the log.

        Raises UsageError when they are open in another event loop that has not ended: it is the one to close them.
        """
        if not self._holding:
            self.open_in = None
            return
        async with self._changing.held(_WORKFLOW):
            self._hold_to(asyncio.get_running_loop())
            await self._let_go()

    def _take(self, loop: asyncio.AbstractEventLoop) -> None:
        """Make it this event loop's; what an ended one left is for `Shared.clear`."""
        self._hold_to(loop)
        if self._loop is not loop:
            self._opened.clear()
            self.shut.drop()
            self._loop = loop

    def _hold_to(self, loop: asyncio.AbstractEventLoop) -> None:
        before = self._loop
        if before is not None and before is not loop and not before.is_closed():
            raise open_elsewhere(_WORKFLOW, before)

    async def _open_all(self) -> None:
        try:
            for name, component in self._holding:
                await self._open_or_leave(name, component)
        except BaseException:  # nobody closes a workflow that did not open: a server would stay
            await self._let_go()
            raise

    async def _open_or_leave(self, name: str, component: Opens) -> None:
        try:
            await self._open(name, component)
        except ComponentError as error:
            if name not in self._dispensable:
                raise
            self.shut.add(name, partial(self._open, name, component), error)

    async def _open(self, name: str, component: Opens) -> None:
        self._opened.append((name, await self._shared.open(name, component)))

    async def _let_go(self) -> None:
        self.open_in = None
        await self.shut.forget()
        await _close_all(self._newest_first())
        self._loop = None

    def _newest_first(self) -> Iterator[tuple[str, Closes]]:
        """Takes what is open, one at a time: what is not reached stays to be closed later."""
        while self._opened:
            name, share = self._opened.pop()
            yield f"component '{name}'", share


async def _close_all(holders: Iterator[tuple[str, Closes]]) -> None:
    for trouble in await close_each(holders, CLOSE_GRACE_S):
        _log.warning("%s", trouble)
