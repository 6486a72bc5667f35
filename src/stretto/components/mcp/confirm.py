"""Asking a server whether a write in doubt happened: what to ask it is the user's to say."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from stretto.components.mcp.host import McpHost
from stretto.types.errors import InDoubtError
from stretto.types.json import Json, JsonObject
from stretto.types.messages import Request, Response


class CallTool(Protocol):
    """Calls a tool of the server with the run's session value supplied; returns ``{ok, result, error?}``."""

    def __call__(self, tool: str, /, **arguments: Json) -> Awaitable[JsonObject]: ...


Confirm: TypeAlias = Callable[[CallTool, Request], Awaitable[Response | None]]
"""The write's response if it happened, None if it surely did not; raises InDoubtError when it cannot tell.

The request's input is ``{tool, arguments}``, also when a step called the tool as a component of its own.
"""


async def confirmed(host: McpHost, confirm: Confirm | None, request: Request) -> Response | None:
    """Ask the user's function, and give it the means to ask the server."""
    if confirm is None:
        raise InDoubtError(f"MCP server '{host.settings.name}' declares no `confirm`, so it cannot tell")

    async def call_tool(tool: str, /, **arguments: Json) -> JsonObject:
        return await host.inquire(request.call, tool, arguments)

    return await confirm(call_tool, request)
