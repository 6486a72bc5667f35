"""Components are open while somebody needs them: opened once, and closed by the last who let go."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import Final

from stretto.engine.holding import close_each, open_one
from stretto.types.protocols import Component, Opens

_log: Final = logging.getLogger(__name__)

CLOSE_GRACE_S: Final = 10.0
"""A component that cannot be closed in this time is left behind; a tool server kills its process sooner."""


class Shared:
    """Which components are open, for workflows that have some in common."""

    def __init__(self) -> None:
        self._shares: dict[int, Share] = {}

    async def open(self, name: str, component: Opens) -> "Share":
        """Open a component, unless it is open already. Raises as `open_one` does."""
        share = self._shares.setdefault(id(component), Share(self._shares, component))
        await share.open(name)
        return share


class Share:
    """One component that is open, or about to be, and how many need it."""

    def __init__(self, among: "dict[int, Share]", component: Opens) -> None:
        self._among = among
        self._component = component
        self._users = 0
        self._is_open = False
        self._opening = asyncio.Lock()

    async def open(self, name: str) -> None:
        """Open it for one more; a success needs its `close`."""
        self._users += 1
        try:
            async with self._opening:
                if not self._is_open:
                    await open_one(name, self._component)
                    self._is_open = True
        except BaseException:
            self._let_go()
            raise

    async def close(self) -> None:
        """Close it when nobody else needs it."""
        if self._let_go():
            await self._component.close()

    def _let_go(self) -> bool:
        """Whether that was the last."""
        self._users -= 1
        if self._users == 0:
            del self._among[id(self._component)]
        return self._users == 0


class Opening:
    """The components of one workflow: all open, or none."""

    def __init__(self, components: Mapping[str, Component], shared: Shared) -> None:
        self._components = components
        self._shared = shared
        self._opened: list[tuple[str, Share]] = []
        self._is_open = False
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Open those that hold something; when one does not open, close the others and raise what it raised."""
        if self._is_open:
            return
        async with self._opening:
            if not self._is_open:
                await self._open_all()
                self._is_open = True

    async def close(self) -> None:
        """Let go of all. Runs were answered already, so trouble is told in the log and stops nothing."""
        self._is_open = False
        self._opening = asyncio.Lock()  # the next to open may do so in another event loop
        for trouble in await close_each(self._newest_first(), CLOSE_GRACE_S):
            _log.warning("%s", trouble)

    async def _open_all(self) -> None:
        try:
            for name, component in self._components.items():
                if isinstance(component, Opens):
                    self._opened.append((name, await self._shared.open(name, component)))
        except BaseException:  # nobody closes a workflow that did not open: a server would stay
            await self.close()
            raise

    def _newest_first(self) -> Iterator[tuple[str, Share]]:
        """Takes what is open, one at a time: what is not reached stays to be closed later."""
        while self._opened:
            name, share = self._opened.pop()
            yield f"component '{name}'", share
