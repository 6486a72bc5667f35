"""The connections of one component, which belong to one event loop at a time."""

import asyncio
from typing import TYPE_CHECKING

from stretto.components.loop_lock import open_elsewhere

if TYPE_CHECKING:  # aiohttp takes 0.2 s to import, so it is when a server is first asked
    from ssl import SSLContext

    from stretto.components.web.pool import Pool


class Connections:
    """Made when they are first needed, dropped with the last who opened them, and made anew in another event loop.

    `what` names the component in errors.
    """

    def __init__(
        self,
        what: str,
        *,
        max_connections: int,
        max_response_bytes: int,
        ssl: "SSLContext | None" = None,
        proxy: str = "",
    ) -> None:
        """`ssl` holds the certificates to trust in place of the system's; `proxy` is what to go through."""
        self._what = what
        self._max_connections = max_connections
        self._max_response_bytes = max_response_bytes
        self._ssl = ssl
        self._proxy = proxy
        self._pool: Pool | None = None
        self._users = 0

    def open(self) -> None:
        """Make ready to connect; nothing is sent. Every `open` needs its `close`.

        Raises UsageError while another event loop that has not ended has them open.
        """
        self.pool()
        self._users += 1

    async def close(self) -> None:
        """Drop them with the last user; the next call connects again. Raises UsageError as `open` does."""
        self._hold_to_loop()
        self._users = max(0, self._users - 1)
        pool = self._pool
        if self._users == 0 and pool is not None:
            self._pool = None
            await pool.close()

    def pool(self) -> "Pool":
        """Those of this event loop; those of one that has ended, and their users, went with it."""
        if self._pool is not None and self._pool.loop is asyncio.get_running_loop():
            return self._pool
        from stretto.components.web.pool import Pool

        self._hold_to_loop()
        if self._pool is not None:
            self._users = 0
        self._pool = Pool(
            max_connections=self._max_connections,
            max_response_bytes=self._max_response_bytes,
            ssl=self._ssl,
            proxy=self._proxy,
        )
        return self._pool

    def _hold_to_loop(self) -> None:
        """Raise UsageError while another event loop that has not ended has connections."""
        loop = None if self._pool is None else self._pool.loop
        if loop is not None and loop is not asyncio.get_running_loop() and not loop.is_closed():
            raise open_elsewhere(self._what, loop)
