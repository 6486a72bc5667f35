"""A server on loopback that answers by a script and keeps what it was asked, byte for byte."""

import asyncio
from collections.abc import Callable, Mapping
from ssl import SSLContext

import msgspec
import orjson
from aiohttp import web


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One request as it came."""

    method: str
    target: str
    """Path and query as they stood on the line."""
    headers: Mapping[str, str]
    body: bytes
    peer: int
    """Port of the client's end: one for each connection."""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One answer."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class StandIn:
    """Answers the scripted replies in turn, the last one for ever; or by a function of the request."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.origin = ""
        self.gate = asyncio.Event()
        """No reply goes out before it is set."""
        self.gate.set()
        self.arrived = asyncio.Event()
        self.dropped = asyncio.Event()
        """Set when a client went away before its reply."""
        self.answer: Callable[[Asked], Reply] | None = None
        self._replies: list[Reply] = []
        self._runner: web.AppRunner | None = None

    def reply(self, body: object = b"", *, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Script one more reply."""
        self._replies.append(reply(body, status=status, headers=headers))

    async def start(self, *, ssl: SSLContext | None = None) -> None:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, handler_cancellation=True, auto_decompress=False)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=ssl)
        await site.start()
        self.origin = f"http{'s' if ssl else ''}://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        peer = request.transport.get_extra_info("peername")[1] if request.transport else 0
        asked = Asked(
            method=request.method,
            target=request.raw_path,
            headers=request.headers.copy(),
            body=await request.read(),
            peer=peer,
        )
        self.asked.append(asked)
        self.arrived.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.dropped.set()
            raise
        made = self.answer(asked) if self.answer else self._replies[min(len(self.asked), len(self._replies)) - 1]
        return web.Response(status=made.status, body=made.body, headers=made.headers)


def reply(body: object = b"", *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """An answer: JSON, XML in text, or bytes as they are."""
    if isinstance(body, bytes):
        return Reply(status=status, body=body, headers=dict(headers or {}))
    if isinstance(body, str):
        return Reply(status=status, body=body.encode(), headers={"Content-Type": "text/xml", **(headers or {})})
    json = {"Content-Type": "application/json", **(headers or {})}
    return Reply(status=status, body=orjson.dumps(body), headers=json)
