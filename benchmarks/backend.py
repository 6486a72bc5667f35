"""A backend of known capacity: so many workers, each busy for as long with every request, and a queue without a bound.

It works on a request also when nobody waits for it any more, as most servers do. ``python -m benchmarks.backend``
prints its address once it listens, and ends with its stdin.
"""

import asyncio
import sys
from typing import Final

from aiohttp import web

WORKERS: Final = 8
SERVICE_S: Final = 0.04
CAPACITY: Final = WORKERS / SERVICE_S
"""Requests a second."""


async def _serve() -> None:
    free = asyncio.Semaphore(WORKERS)

    async def work(_: web.Request) -> web.Response:
        async with free:
            await asyncio.sleep(SERVICE_S)
        return web.Response(text="done")

    app = web.Application()
    app.router.add_get("/", work)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    print(f"http://{host}:{port}/", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_serve())
