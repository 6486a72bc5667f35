"""Sessions of components with scope ``run``: opened at their first call in a run, closed when the run ends."""

import asyncio
from typing import Final

from stretto.engine.holding import close_each
from stretto.types.errors import UsageError
from stretto.types.messages import RunInfo
from stretto.types.protocols import Component, OpensPerRun, Session

CLOSE_GRACE_S: Final = 5.0
"""A session that cannot be closed in this time is left behind: the run has answered already."""


class Sessions:
    """One run's sessions, by component name."""

    __slots__ = ("_info", "_opening", "_sessions")

    def __init__(self, info: RunInfo) -> None:
        self._info = info
        self._sessions: dict[str, Session] = {}
        self._opening: dict[str, asyncio.Lock] = {}

    @property
    def any_open(self) -> bool:
        """Whether there is anything to close."""
        return bool(self._sessions)

    async def get(self, component: Component) -> Session:
        """The run's session of the component; parallel branches share one."""
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
        return session

    async def close(self) -> tuple[str, ...]:
        """Close all, newest first; returns what could not be closed, in words."""
        newest_first = [(f"session of '{name}'", session) for name, session in reversed(self._sessions.items())]
        self._sessions.clear()
        return tuple(await close_each(newest_first, CLOSE_GRACE_S))
