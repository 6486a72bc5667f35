"""A workflow with a fallback serves also while a component does not open: the fallback answers until it does.

Once it has been tried in vain, runs try again, within their own time and together; after failures in a row none does,
until one is let through.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final

from stretto.plan.model import Plan
from stretto.runtime.opening import Opening, Shared
from stretto.runtime.shut import stop
from stretto.types.errors import Code, ComponentError

_log: Final = logging.getLogger(__name__)


class Answering:
    """What one workflow needs to answer: its fallback, which must be open, and the others, which may be."""

    def __init__(self, workflow: str, fallback: Opening, everything: Opening) -> None:
        self._workflow = workflow
        self._fallback = fallback
        self._everything = everything
        self._trying: asyncio.Task[None] | None = None
        self._tried_in: asyncio.AbstractEventLoop | None = None

    @property
    def has_tried(self) -> bool:
        """Whether it was tried to its end, in this event loop, to open everything since it was last closed."""
        return self._tried_in is asyncio.get_running_loop()

    async def open(self) -> None:
        """Open everything; raises what the fallback's component raises, and UsageError.

        Of any other that does not open the log tells.
        """
        await self._fallback.open()
        try:
            await self._try()
        except ComponentError as error:
            _log.warning("workflow '%s' did not open: %s; its fallback answers until it does", self._workflow, error)

    def opens(self) -> Coroutine[Any, Any, None] | None:
        """What opens everything, and raises ComponentError when something does not; None when all is open."""
        return None if self._everything.open_in is asyncio.get_running_loop() else self._try()

    async def close(self) -> None:
        """Let go of the fallback, and try no more; everything is to be closed after that."""
        trying, self._trying, self._tried_in = self._trying, None, None
        if trying is not None and trying.get_loop() is asyncio.get_running_loop():
            await stop([trying])
        await self._fallback.close()

    async def _try(self) -> None:
        """Open everything, in a task that all share who wait for it: whoever gives up stops it for nobody."""
        loop = asyncio.get_running_loop()
        trying = self._trying
        if trying is None or trying.done() or trying.get_loop() is not loop:
            trying = self._trying = loop.create_task(self._everything.open())
            trying.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be left to ask
        await asyncio.wait({trying})
        self._tried_in = loop
        if trying.cancelled():  # not who waits here: nobody asked that of its task
            raise ComponentError(
                f"workflow '{self._workflow}' was closed while it opened", Code.UNAVAILABLE, sent=False
            )
        trying.result()


def answering_of(plan: Plan, everything: Opening, shared: Shared) -> Answering | None:
    """Of a plan with a fallback; None without one."""
    if plan.business is None:
        return None
    component = plan.business.op.component
    return Answering(plan.name, Opening({component.card.name: component}, shared), everything)
