"""Waiting for one of a client's connections, as aiohttp tells it."""

from types import SimpleNamespace
from typing import Any

import aiohttp

from stretto.components.waiting import Queue


def telling_waits(connections: Queue) -> aiohttp.TraceConfig:
    """Has a client tell the `Wait` that a request brings as its `trace_request_ctx` when it waits for a connection."""

    async def queued(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: Any) -> None:
        context.trace_request_ctx.begin(connections)

    async def served(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: Any) -> None:
        context.trace_request_ctx.end()

    tracing = aiohttp.TraceConfig()
    tracing.on_connection_queued_start.append(queued)
    tracing.on_connection_queued_end.append(served)
    return tracing


def connections(limit: int, remedy: str) -> Queue:
    """What requests of a client with so many connections wait for."""
    return Queue(
        awaited="a connection",
        remedy=f"all {limit} are in use. {remedy}, call it less, or give the call a later deadline",
    )
