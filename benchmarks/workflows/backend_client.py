"""Asks the backend that STRETTO_BENCH_BACKEND names."""

import os

import aiohttp

import stretto


@stretto.component("backend", "1.0.0", effects="read")
class Backend:
    """One pool of connections for the process."""

    async def open(self) -> None:
        """Open the pool."""
        self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def __call__(self) -> dict[str, bool]:
        """One request."""
        async with self.session.get(os.environ["STRETTO_BENCH_BACKEND"]) as answer:
            return {"done": (await answer.text()) == "done"}

    async def close(self) -> None:
        """Close the pool."""
        await self.session.close()
