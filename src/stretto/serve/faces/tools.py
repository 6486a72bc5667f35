"""Workflows as the tools of an MCP server. Needs the extra ``mcp``."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Final

import mcp_types as t
import msgspec
import orjson
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from stretto import __version__
from stretto.acp.failure import AcpError, Failure
from stretto.acp.server import Answer
from stretto.acp.server.tokens import Tokens
from stretto.components.mcp.host import EFFECT_KEY
from stretto.components.mcp.tools import IDEMPOTENT
from stretto.serve.acp_body import Receive
from stretto.serve.acp_guard import CLIENT
from stretto.serve.acp_http import Scope, Send, problem_reply
from stretto.serve.faces.asking import Ask, Asking
from stretto.serve.faces.heads import Heads
from stretto.spec.suggest import nearest
from stretto.types.card import ANY_OBJECT, Card
from stretto.types.enums import Effect
from stretto.types.json import JsonObject
from stretto.types.messages import TRACEPARENT, TRACESTATE

PATH: Final = "/mcp"

ERROR: Final = "stretto/error"
"""Key in ``_meta`` of a failed call: code, reason, whether it may be tried again, the run."""

RUN: Final = "stretto/run"
"""Key in ``_meta`` of an answer: the run that gave it, and whether a substitute did."""


_LOCAL: Final = TransportSecuritySettings(
    allowed_hosts=["127.0.0.1:*", "localhost:*", "[::1]:*"],
    allowed_origins=["http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*"],
)
"""Against DNS rebinding, as the SDK has it for its own servers."""


def mcp_server(asking: Asking) -> Server[Any]:
    """The server whose tools are the workflows behind the desk."""

    async def list_tools(_: ServerRequestContext[Any], __: t.PaginatedRequestParams | None) -> t.ListToolsResult:
        return t.ListToolsResult(tools=[_tool(each.card) for each in asking.desk.served])

    async def call_tool(context: ServerRequestContext[Any], asked: t.CallToolRequestParams) -> t.CallToolResult:
        return await _called(asking, context, asked)

    return Server("stretto", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


class ToolsFace:
    """The ASGI application for ``/mcp``: streamable HTTP."""

    PATHS: ClassVar = PATH

    def __init__(self, asking: Asking, tokens: Tokens | None, *, is_local: bool) -> None:
        """`is_local`: only this machine reaches it, so that requests to another host's name are those of web pages."""
        limits = asking.desk.limits
        self._tokens = tokens
        self._manager = StreamableHTTPSessionManager(
            mcp_server(asking),
            security_settings=_LOCAL if is_local else None,
            max_request_body_size=limits.max_request_bytes,
            session_idle_timeout=limits.session_idle_s,
            max_sessions=limits.max_sessions,
        )

    def serves(self, path: str) -> bool:
        """Whether a path is this one."""
        return path.rstrip("/") == PATH

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        """Sessions live meanwhile; once."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._tokens is not None:
            try:
                self._tokens.hold(dict(scope["headers"]).get(b"authorization"))
            except AcpError as error:
                reply, client = problem_reply(error.failure), scope[CLIENT]
                client.reply(reply.status, reply.headers, reply.body)
                return
        await self._manager.asgi_app(scope, receive, send)  # type: ignore[arg-type]  # starlette's own names


async def _called(
    asking: Asking, context: ServerRequestContext[Any], asked: t.CallToolRequestParams
) -> t.CallToolResult:
    """The workflow's answer; a failure is told as the tool's. Raises MCPError where there is no such tool."""
    _hold_to_tools(asking, asked.name)
    meta: Mapping[str, Any] = {} if context.meta is None else dict(context.meta)
    ask = Ask(
        workflow=asked.name,
        input=asked.arguments or {},
        face="mcp",
        heads=Heads(
            key=_text(meta.get(EFFECT_KEY)),
            traceparent=_text(meta.get(TRACEPARENT)),
            tracestate=_text(meta.get(TRACESTATE)),
        ),
    )
    try:
        return _answered(await asking.answer(ask))
    except AcpError as error:
        return _failed(error.failure)


def _hold_to_tools(asking: Asking, name: str) -> None:
    """Raise MCPError for what is no tool here: of that the protocol has an error of its own."""
    tools = [each.card.name for each in asking.desk.served]
    if name not in tools:
        near = nearest(name[:80], tools)
        hint = f"did you mean '{near}'?" if near else f"there are: {', '.join(tools)}"
        raise MCPError(t.INVALID_PARAMS, f"no tool called {name[:80]!r} is served here; {hint}")


def _tool(card: Card) -> t.Tool:
    """A write is not idempotent in the protocol's sense: the same arguments without a key are another write."""
    is_write = card.effect_of("") is Effect.WRITE
    return t.Tool(
        name=card.name,
        description=card.description,
        input_schema=_object(dict(card.input)),
        output_schema=None if card.output == ANY_OBJECT else _object(dict(card.output)),
        annotations=t.ToolAnnotations(read_only_hint=not is_write, idempotent_hint=not is_write),
        _meta={IDEMPOTENT: True} if card.idempotent else None,
    )


def _object(schema: dict[str, Any]) -> dict[str, Any]:
    """Tools take and give objects, and must say so."""
    return {**schema, "type": "object"}


def _answered(answer: Answer) -> t.CallToolResult:
    result = answer.result
    told: JsonObject = {"run_id": result.run_id, "outcome": result.outcome or "ok", "replayed": result.replayed}
    return t.CallToolResult(
        content=[t.TextContent(text=answer.output.decode())],
        structured_content=orjson.loads(answer.output),
        _meta={RUN: told},
    )


def _failed(failure: Failure) -> t.CallToolResult:
    """With Stretto's code where models read it, and all of it where programs do."""
    named = f"{failure.code}/{failure.reason}" if failure.reason else failure.code.value
    told: JsonObject = {
        "code": failure.code.value,
        "reason": failure.reason,
        "retryable": failure.retryable,
        "retry_after_ms": failure.retry_after_ms,
        "run_id": failure.run_id,
        "violations": msgspec.to_builtins(failure.violations),
    }
    return t.CallToolResult(
        content=[t.TextContent(text=f"{named}: {failure.message}")], is_error=True, _meta={ERROR: told}
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
