"""Components that did not open, of a workflow that can do without them: calls that need one try to open it again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final

from stretto.engine.alarm import GRACE_S
from stretto.types.errors import Code, ComponentError

_log: Final = logging.getLogger(__name__)

Open = Callable[[], Awaitable[None]]


async def stop(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel tasks that open something; again after a grace, which leaves behind what ignores that."""
    while running := [task for task in tasks if not task.done()]:
        for task in running:
            task.cancel()
        await asyncio.wait(running, timeout=GRACE_S)


class Shut:
    """Those of one workflow, in the event loop in which the others are open."""

    def __init__(self) -> None:
        self.by_name: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {}
        """What opens each; raises ComponentError when it does not open. Gone once it is open; the same mapping for all
        that look."""
        self._trying: dict[str, asyncio.Task[None]] = {}

    def add(self, name: str, opens: Open, error: ComponentError) -> None:
        """Leave one to be opened later; the log tells."""
        _log.warning("component '%s' did not open: %s; the fallbacks of its steps answer until it does", name, error)
        self.by_name[name] = partial(self._try, name, opens)

    def drop(self) -> None:
        """Forget those of an event loop that has ended."""
        self.by_name.clear()
        self._trying.clear()

    async def forget(self) -> None:
        """Try no more to open any, as what is open is about to be closed. What ignores that is left behind."""
        trying = list(self._trying.values())
        self.drop()
        await stop(trying)

    async def _try(self, name: str, opens: Open) -> None:
        """Open one, in a task that all share who wait for it: whoever gives up stops it for nobody."""
        trying = self._trying.get(name)
        if trying is None or trying.done():
            trying = self._trying[name] = asyncio.ensure_future(self._open(name, opens))
            trying.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be left to ask
        await asyncio.wait({trying})
        if trying.cancelled():  # not who waits here: nobody asked that of its task
            raise ComponentError(
                f"component '{name}': its workflow was closed while it opened", Code.UNAVAILABLE, sent=False
            )
        trying.result()

    async def _open(self, name: str, opens: Open) -> None:
        await opens()
        self.by_name.pop(name, None)
        _log.warning("component '%s' is open now", name)
