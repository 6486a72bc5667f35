"""A server that describes itself well and answers everything else with 200 and a good answer. Prints its port."""

import asyncio

from aiohttp import web

CARD = {
    "protocols": ["1.0"],
    "cards": [
        {
            "name": "yes",
            "version": "1.0.0",
            "input": {"type": "object"},
            "output": {"type": "object"},
            "effects": {"*": "read"},
            "verbs": ["execute"],
        }
    ],
}


async def answer(request: web.Request) -> web.Response:
    return web.json_response(CARD if request.path.endswith("describe") else {"result": {}, "output": {}})


async def serve() -> None:
    server = web.Application(client_max_size=2**30)
    server.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(server)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
