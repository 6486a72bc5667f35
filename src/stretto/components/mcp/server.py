"""An MCP server as a component: one step may call any of its tools."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import cast

from stretto.components.mcp.confirm import Confirm, confirmed
from stretto.components.mcp.host import McpHost, effects_by_tool
from stretto.components.mcp.run import McpRun
from stretto.components.mcp.session import McpSession
from stretto.components.mcp.settings import DEFAULT_MAX_MESSAGE_BYTES, DEFAULT_START_TIMEOUT, McpSettings, as_command
from stretto.components.mcp.tool import McpTool, answer_schema
from stretto.types.arguments import as_path, as_tuple, wrong
from stretto.types.card import Card
from stretto.types.enums import Effect, Scope
from stretto.types.json import JsonObject, Schema
from stretto.types.messages import Request, Response, RunInfo


class McpServer:
    """Calls the tool that a request names: input ``{tool, arguments?}``, output ``{ok, result, error?}``.

    Give `command`, a program that speaks the protocol on its standard input and output, or `url`, a streamable HTTP
    endpoint. `tools` limits which may be called; `effects` says what each does (one for all, or by tool; ``*`` for
    the rest). A tool that nobody describes is taken to write, unless the server's ``readOnlyHint`` says otherwise.
    `processes` servers share the calls in turn; `concurrency` bounds the calls at once in each. With `session`, each
    run has a value of its own. `confirm` is asked about writes in doubt. `start_timeout` bounds a start; how long a
    call may take, the step says. Raises UsageError for what cannot work.
    """

    def __init__(
        self,
        name: str,
        *,
        command: str | Sequence[str] = (),
        url: str = "",
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        headers: Mapping[str, str] | None = None,
        processes: int = 1,
        concurrency: int | None = None,
        tools: Sequence[str] | None = None,
        effects: Effect | str | Mapping[str, Effect | str] | None = None,
        idempotent: bool = False,
        session: McpSession | None = None,
        confirm: Confirm | None = None,
        start_timeout: timedelta = DEFAULT_START_TIMEOUT,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        version: str = "0.0.0",
        description: str = "",
    ) -> None:
        settings = McpSettings(
            name=name,
            version=version,
            description=description,
            command=as_command(command),
            env={} if env is None else env,
            cwd=None if cwd is None else as_path("`cwd`", cwd),
            processes=processes,
            url=url,
            headers={} if headers is None else headers,
            tools=None if tools is None else as_tuple(f"`tools` of MCP server '{name}'", tools),
            effects=effects_by_tool(name, effects),
            idempotent=idempotent,
            concurrency=concurrency,
            start_timeout=start_timeout,
            max_message_bytes=max_message_bytes,
            session=session,
        )
        settings.check()
        if confirm is not None and not callable(confirm):
            raise wrong(f"`confirm` of MCP server '{name}'", confirm, "a function that is asked about writes in doubt")
        self._host = McpHost(settings)
        self._confirm = confirm
        self._tools: dict[str, McpTool] = {}
        self._card: Card | None = None
        self._listed = False

    @property
    def card(self) -> Card:
        """What was declared; after `open` also the names of the tools and what the server says of them."""
        listed = self._host.belt.listed is not None
        if self._card is None or listed is not self._listed:
            self._card, self._listed = self._read_card(), listed
        return self._card

    @property
    def tools(self) -> tuple[str, ...] | None:
        """Names of the tools that may be called; None before `open` when none were declared."""
        return self._host.belt.names

    def tool(self, name: str) -> McpTool:
        """One tool as a component of its own, called ``server/tool``.

        Raises ComponentError (``not_found``) when the server surely has no such tool.
        """
        self._host.check_tool(name)
        return self._tools.setdefault(name, McpTool(self._host, name, self._confirm))

    @property
    def open_limit(self) -> timedelta:
        """How long `open` may take: what its server may take to start, and then to list its tools."""
        return self._host.open_limit

    async def open(self) -> None:
        """Start the server and ask it for its tools. Every `open` needs its `close`; only the first starts anything.

        Raises ComponentError when it cannot be started, UsageError when what was declared does not fit its tools.
        """
        await self._host.open()

    async def close(self) -> None:
        """End the server with its last user; the next call starts it again."""
        await self._host.close()

    async def __call__(self, request: Request) -> Response:
        return await self._host.ask(request.call, *_tool_call(request), None)

    async def open_run(self, run: RunInfo) -> McpRun:
        """The run's session: its value is leased, waiting while none is free, and reset."""
        return await self._host.lease(
            run, lambda request, lease: self._host.ask(request.call, *_tool_call(request), lease)
        )

    async def confirm(self, request: Request) -> Response | None:
        """Ask the declared `confirm` whether a write in doubt happened."""
        return await confirmed(self._host, self._confirm, request)

    def _read_card(self) -> Card:
        belt, settings = self._host.belt, self._host.settings
        return Card(
            name=settings.name,
            version=settings.version,
            kind="mcp",
            digest=settings.digest(),
            input=_input_schema(belt.names),
            output=answer_schema(None),
            effects=belt.effects_by_action(),
            action_field="tool",
            idempotent=settings.idempotent,
            confirms=self._confirm is not None,
            scope=Scope.RUN if settings.session is not None else Scope.PROCESS,
            description=settings.description,
        )


def _input_schema(tools: Sequence[str] | None) -> Schema:
    tool: JsonObject = {"type": "string"} if tools is None else {"enum": list(tools)}
    return {
        "type": "object",
        "properties": {"tool": tool, "arguments": {"type": "object", "default": {}}},
        "required": ["tool"],
        "additionalProperties": False,
    }


def _tool_call(request: Request) -> tuple[str, JsonObject]:
    """The tool that a request names, and its arguments; the engine held the request to the schema."""
    return cast("str", request.input["tool"]), cast("JsonObject", request.input.get("arguments") or {})
