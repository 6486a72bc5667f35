"""Waiting for one of a client's connections, as aiohttp tells it."""

from types import SimpleNamespace
from typing import Any

import aiohttp

from stretto.components.waiting import Wait


def connection_wait(max_connections: int, remedy: str = "") -> Wait:
    """The wait of one request, which is handed to the client as its `trace_request_ctx`."""
    more = f"{remedy}, call" if remedy else "Call"
    text = f"all {max_connections} are in use. {more} it less, or give the call a later deadline"
    return Wait("a connection", text)


def telling_waits() -> aiohttp.TraceConfig:
    """Has a client tell the wait of each request that waits for a connection; one that need not is told nothing."""
    tracing = aiohttp.TraceConfig()
    tracing.on_connection_queued_start.append(_queued)
    tracing.on_connection_queued_end.append(_served)
    return tracing


async def _queued(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: Any) -> None:
    context.trace_request_ctx.begin()


async def _served(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: Any) -> None:
    context.trace_request_ctx.end()
