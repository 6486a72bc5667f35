"""A server on loopback that speaks the protocol as told: it answers by a script and keeps what it was asked."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import orjson
from aiohttp import web

from stretto.types.messages import Request

RECORDED = Path(__file__).parent / "recorded"


def recorded(name: str) -> dict[str, Any]:
    """What a real server answered: ``vllm/end``."""
    answer: dict[str, Any] = orjson.loads((RECORDED / f"{name}.json").read_bytes())
    return answer


def completion(text: str = "hello", **choice: Any) -> dict[str, Any]:
    """The least that a chat completion holds."""
    return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop", **choice}]}


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    peer: int
    """Port of the client's end: one for each connection."""


class StandIn:
    """Answers the scripted replies in turn, the last one for ever."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.base_url = ""
        self.gate = asyncio.Event()
        """No reply goes out before it is set."""
        self.gate.set()
        self.arrived = asyncio.Event()
        self.dropped = asyncio.Event()
        """Set when a client went away before its reply."""
        self._replies: list[tuple[int, bytes, dict[str, str]]] = []
        self._runner: web.AppRunner | None = None

    def reply(self, body: object = None, *, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Script one more reply: JSON, or bytes as they are."""
        content = body if isinstance(body, bytes) else orjson.dumps(completion() if body is None else body)
        self._replies.append((status, content, {"Content-Type": "application/json", **(headers or {})}))

    async def start(self) -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.base_url = f"http://127.0.0.1:{port}/v1"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        peer = request.transport.get_extra_info("peername")[1] if request.transport else 0
        self.asked.append(
            Asked(path=request.path, headers=request.headers.copy(), body=await request.json(), peer=peer)
        )
        self.arrived.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.dropped.set()
            raise
        index = min(len(self.asked), len(self._replies)) - 1
        status, content, headers = self._replies[index]
        return web.Response(status=status, body=content, headers=headers)


def bringing(request: Request, **baggage: str) -> Request:
    """The same request from a run with this baggage."""
    run = msgspec.structs.replace(request.call.run, baggage=baggage)
    return msgspec.structs.replace(request, call=msgspec.structs.replace(request.call, run=run))
