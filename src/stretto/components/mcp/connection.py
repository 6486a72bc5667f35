"""A connection that outlives its server: started when it is first needed, and again when the server was lost."""

from collections.abc import Mapping
from typing import Any, Final

from mcp import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    PARSE_ERROR,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    PaginatedRequestParams,
)
from pydantic import ValidationError

from stretto.components.mcp.errors import ServerLostError
from stretto.components.mcp.life import Life, MakeWire
from stretto.components.mcp.tools import IDEMPOTENT, Tool
from stretto.components.mcp.waiting import POSTED, Posted
from stretto.components.waiting import Wait
from stretto.types.errors import Code, ComponentError
from stretto.types.json import Json, JsonObject

MAX_STARTS_WITHOUT_ANSWER: Final = 4
"""The first start and three more. A server that dies on whatever it is asked would otherwise be started for ever."""

MAX_TOOL_PAGES: Final = 100
"""A listing that never ends cannot hold up a start."""

_ALL_CLOSED: Final = "Connection closed"
"""What the SDK says when the whole connection is gone; other texts tell why one answer cannot come."""

_CODES: Final = {
    -32600: Code.INTERNAL,
    -32601: Code.UNIMPLEMENTED,
    -32602: Code.INVALID_ARGUMENT,
    -32603: Code.INTERNAL,
}
"""JSON-RPC 2.0, section 5.1, as google.rpc codes. What else a server sends is unknown."""


class Connection:
    """One server process, or one session at a URL."""

    def __init__(self, name: str, make_wire: MakeWire, start_timeout_s: float) -> None:
        self._name = name
        self._make_wire = make_wire
        self._start_timeout_s = start_timeout_s
        self._life: Life | None = None
        self._starts = 0
        """Since the last answer."""

    async def tools(self) -> dict[str, Tool]:
        """Everything that the server lists.

        Raises ComponentError when it cannot be started or does not list its tools.
        """
        session = await self._up().up()
        found: dict[str, Tool] = {}
        cursor = None
        for _ in range(MAX_TOOL_PAGES):
            try:
                page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            except (MCPError, ValidationError) as error:
                text = f"MCP server '{self._name}' does not list its tools: {_first_line(error)}"
                raise ComponentError(text, Code.UNAVAILABLE, sent=False) from error
            found.update((tool.name, _described(tool)) for tool in page.tools)
            cursor = page.next_cursor
            if cursor is None:
                break
        self._starts = 0
        return found

    async def call(self, tool: str, arguments: JsonObject, meta: Mapping[str, Json], wait: Wait) -> CallToolResult:
        """Send one request and wait for its answer; cancelling the caller cancels it at the server. A wait for a
        connection over HTTP is told.

        Raises ServerLostError when no answer can come any more; ComponentError, with `sent` false, when the server
        could not be started, and otherwise when it refused the request or answered against the protocol.
        """
        life = self._up()
        session = await life.up()
        params = CallToolRequestParams.model_validate(
            {"name": tool, "arguments": arguments, "_meta": dict(meta) or None}
        )
        posted = POSTED.set(Posted(wait))
        try:
            result = await session.send_request(CallToolRequest(params=params), CallToolResult)
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                how = await life.ending() if error.message == _ALL_CLOSED else ""
                raise ServerLostError(how or error.message) from error
            if error.code == PARSE_ERROR:  # ours always parses, so it is the SDK's word for an answer that does not
                raise ServerLostError(f"its answer cannot be read: {_first_line(error)}") from error
            text = f"MCP server '{self._name}' refused '{tool}': {error.message} (JSON-RPC {error.code})"
            raise ComponentError(text, _CODES.get(error.code, Code.UNKNOWN)) from error
        except ValidationError as error:
            text = f"MCP server '{self._name}' answered '{tool}' with what is no tool result: {_first_line(error)}"
            raise ComponentError(text, Code.INTERNAL) from error
        finally:
            POSTED.reset(posted)
        self._starts = 0
        return result

    async def close(self) -> None:
        """End the connection and wait until it is gone; bounded as `Life.close` is."""
        life, self._life = self._life, None
        if life is not None:
            await life.close()

    def _up(self) -> Life:
        """The life at hand, or a new one when that is over."""
        if self._life is not None and not self._life.over:
            return self._life
        if self._starts == MAX_STARTS_WITHOUT_ANSWER:
            raise ComponentError(
                f"MCP server '{self._name}' was started {self._starts} times and died each time before it answered; "
                "it is not started again until it is closed and opened",
                Code.UNAVAILABLE,
                retryable=False,
                sent=False,
            )
        self._starts += 1
        self._life = Life(self._name, self._make_wire, self._start_timeout_s)
        return self._life


def _described(tool: Any) -> Tool:  # mcp_types.Tool
    hints = tool.annotations
    return Tool(
        name=tool.name,
        input=tool.input_schema,
        output=tool.output_schema,
        description=tool.description or "",
        reads_only=None if hints is None else hints.read_only_hint,
        idempotent=bool(hints and hints.idempotent_hint) or (tool.meta or {}).get(IDEMPOTENT) is True,
    )


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or ["no message"])[0]
