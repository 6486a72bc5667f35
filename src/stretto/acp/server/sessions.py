"""Sessions of a component of scope ``run``: one for each run that asks, closed when the run asks no more."""

import asyncio
import logging
from collections import OrderedDict
from typing import Final

from stretto.acp.server.limits import Limits
from stretto.types.errors import StrettoError
from stretto.types.ids import RunId
from stretto.types.messages import Request, Response, RunInfo
from stretto.types.protocols import OpensPerRun, Session

_log: Final = logging.getLogger(__name__)


class _Held:
    """A session, or that it is being opened; how many calls use it, and since when none does."""

    __slots__ = ("at", "opening", "users")

    def __init__(self, opening: "asyncio.Task[Session]") -> None:
        self.opening = opening
        self.users = 0
        self.at = 0.0


class Sessions:
    """The sessions of one component, bounded by number and by how long nobody asked."""

    def __init__(self, component: OpensPerRun, limits: Limits) -> None:
        self._component = component
        self._limits = limits
        self._held: OrderedDict[RunId, _Held] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    async def ask(self, request: Request) -> Response:
        """The answer of the run's session, which is opened at its first call."""
        loop, run = asyncio.get_running_loop(), request.call.run
        held = self._held.get(run.id)
        if held is None or (held.opening.done() and (held.opening.cancelled() or held.opening.exception())):
            held = self._held[run.id] = _Held(loop.create_task(self._open(run)))
        self._held.move_to_end(run.id)
        held.users += 1
        try:
            session = await asyncio.shield(held.opening)
            return await session(request)
        finally:
            held.users -= 1
            held.at = loop.time()
            self._close_idle(loop.time())

    async def close(self) -> None:
        """Close all of them."""
        for run in list(self._held):
            self._let_go(run)
        await asyncio.gather(*self._closing)

    async def _open(self, run: RunInfo) -> Session:
        return await self._component.open_run(run)

    def _close_idle(self, now: float) -> None:
        """The longest unasked first, past those at work: a long call at the front must not keep all others."""
        for run, held in list(self._held.items()):
            if held.users:
                continue
            too_many = len(self._held) > self._limits.max_sessions
            if not (too_many or now - held.at > self._limits.session_idle_s):
                return
            self._let_go(run)

    def _let_go(self, run: RunId) -> None:
        closing = asyncio.get_running_loop().create_task(_close(self._held.pop(run)))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)


async def _close(held: _Held) -> None:
    try:
        await (await held.opening).close()
    except (StrettoError, asyncio.CancelledError) as error:
        _log.warning("a session did not close: %s", error)
