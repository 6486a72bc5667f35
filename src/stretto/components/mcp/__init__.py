"""Kind ``mcp``: tools of a server that speaks the Model Context Protocol, over stdio or streamable HTTP."""

from stretto.components.mcp.confirm import CallTool, Confirm
from stretto.components.mcp.server import McpServer
from stretto.components.mcp.session import McpSession
from stretto.components.mcp.tool import McpTool

__all__ = ["CallTool", "Confirm", "McpServer", "McpSession", "McpTool"]
