"""An MCP server over streamable HTTP, by the SDK, on a socket that was opened before it starts."""

import asyncio
import os
import socket
import sys

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

server = MCPServer("http-tools")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}


@server.tool()
def fail() -> str:
    """Always says no."""
    raise ToolError("out of stock")


@server.tool()
def big(size: int) -> str:
    """As much text as is asked for."""
    return "x" * size


MARKS: list[str] = []


@server.tool()
def mark(name: str) -> list[str]:
    """Keep a name; returns all that were kept."""
    MARKS.append(name)
    return MARKS


@server.tool()
def crash() -> str:
    """End the process at once."""
    os._exit(3)


@server.tool()
async def hang() -> str:
    """Never answers."""
    await asyncio.Event().wait()
    return ""


def main(descriptor: int, json_response: bool) -> None:
    app = server.streamable_http_app(json_response=json_response)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] == "json")
