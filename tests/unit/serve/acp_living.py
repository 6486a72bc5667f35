"""A server of the protocol in the test's own event loop, over components that do as they are told."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

import stretto
from stretto.acp.server import Desk, Limits
from stretto.acp.server.tokens import Tokens
from stretto.components.python import component_of
from stretto.serve.acp_metrics import AcpMetrics
from stretto.serve.acp_serving import HttpDoor
from stretto.serve.acp_tls import Tls
from stretto.serve.listening import listen
from stretto.types.protocols import Component


@stretto.component
async def add(a: int, b: int) -> dict[str, int]:
    """Adds two numbers."""
    return {"sum": a + b}


def waiting() -> tuple[Any, asyncio.Event, asyncio.Event]:
    """A component that waits until its call is cancelled; set when it began, and when it was cancelled."""
    begun, ended = asyncio.Event(), asyncio.Event()

    @stretto.component
    async def waits() -> dict[str, int]:
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.set()
            raise
        return {}

    return waits, begun, ended


def made(*targets: Any) -> list[Component]:
    """The components behind decorated functions and classes."""
    found = [component_of(target) for target in targets]
    return [each for each in found if each is not None]


def envelope(**fields: Any) -> dict[str, Any]:
    """One in which nothing is missing."""
    return {"protocol": "1.0", "runId": "r", "stepPath": "s", "attempt": 1, **fields}


@asynccontextmanager
async def served(
    components: Iterable[Component],
    limits: Limits | None = None,
    tokens: Tokens | None = None,
    tls: Tls | None = None,
) -> AsyncIterator[tuple[Desk, str]]:
    """A desk behind HTTP, and its address."""
    desk = Desk(components, limits)
    with listen("127.0.0.1", 0) as listening:
        door = HttpDoor(desk, listening, tokens=tokens, metrics=AcpMetrics(desk), tls=tls)
        await desk.open()
        await door.open()
        try:
            yield desk, door.url
        finally:
            await door.close(at_once=True)
            await desk.close()


async def post(url: str, body: Any, **more: Any) -> tuple[int, dict[str, Any], Any]:
    """Status, headers and JSON of the reply to a body, which is JSON or bytes."""
    sent = (
        {"data": body, "headers": {"content-type": "application/json"}} if isinstance(body, bytes) else {"json": body}
    )
    async with aiohttp.ClientSession() as session, session.post(url, **{**sent, **more}) as response:
        return response.status, {**response.headers}, await response.json(content_type=None)
