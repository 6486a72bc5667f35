"""Sessions of components with scope ``run``: opened at their first call in a run, closed when the run ends."""

import asyncio
import logging
from typing import Final

import msgspec

from stretto.engine.holding import close_each
from stretto.types.errors import UsageError
from stretto.types.messages import RunInfo
from stretto.types.protocols import Component, OpensPerRun, Session

CLOSE_GRACE_S: Final = 5.0
"""A session that cannot be closed in this time is left behind: the run has answered already."""

_log: Final = logging.getLogger(__name__)

_CLOSING: Final[set[asyncio.Task[tuple[str, ...]]]] = set()
"""Under way, also for runs that no longer wait: an event loop holds its tasks weakly."""


class Sessions(msgspec.Struct, eq=False):
    """One run's sessions, by component name."""

    _info: RunInfo
    _sessions: dict[str, Session] = msgspec.field(default_factory=dict)
    _opening: dict[str, asyncio.Lock] = msgspec.field(default_factory=dict)
    _is_ended: bool = False

    def end(self) -> bool:
        """Keep none open that is opened from now on; whether there is anything to close."""
        self._is_ended = True
        return bool(self._sessions)

    async def get(self, component: Component) -> Session:
        """The run's session of the component; parallel branches share one.

        Raises UsageError in a run that has ended, as for a call that a component left behind: nobody would close it.
        """
        name = component.card.name
        session = self._sessions.get(name)
        if session is not None:
            return session
        async with self._opening.setdefault(name, asyncio.Lock()):
            session = self._sessions.get(name)
            if session is None:
                if not isinstance(component, OpensPerRun):
                    raise UsageError(f"component '{name}' has scope 'run' but no open_run; implement OpensPerRun")
                session = self._sessions[name] = await component.open_run(self._info)
                if self._is_ended:
                    await self._close()
                    raise UsageError(
                        f"run {self._info.id} has ended, and a call of '{name}' was left behind in it; await every "
                        "call before the component answers"
                    )
        return session

    async def close(self, within_s: float | None = None) -> tuple[str, ...]:
        """Close all, newest first; returns what could not be closed, in words.

        Who is cancelled meanwhile, or has waited for `within_s`, leaves the rest to go on by itself.
        """
        closing = asyncio.ensure_future(self._close())
        _CLOSING.add(closing)
        closing.add_done_callback(_CLOSING.discard)
        await asyncio.wait({closing}, timeout=within_s)
        if closing.done():
            return closing.result()
        closing.add_done_callback(_tell)
        return ("at the run's deadline its sessions were still being closed",)

    async def _close(self) -> tuple[str, ...]:
        newest_first = [(f"session of '{name}'", session) for name, session in reversed(self._sessions.items())]
        self._sessions.clear()
        return tuple(await close_each(newest_first, CLOSE_GRACE_S))


def _tell(closed: asyncio.Task[tuple[str, ...]]) -> None:
    """Tell in the log what no record can: the run was sealed before."""
    for trouble in () if closed.cancelled() else closed.result():
        _log.warning("%s", trouble)
