"""One tool of an MCP server as a component: its arguments are the request's fields."""

from datetime import timedelta

from stretto.components.mcp.confirm import Confirm, confirmed
from stretto.components.mcp.host import McpHost
from stretto.components.mcp.run import McpRun
from stretto.types.card import ANY_ACTION, Card
from stretto.types.enums import Scope
from stretto.types.ids import digest_of
from stretto.types.json import Json, JsonObject, Schema
from stretto.types.messages import Request, Response, RunInfo


def answer_schema(result: JsonObject | None) -> Schema:
    """Output of a tool: whether it did it, what it returned (null when it did not), and what it then said."""
    value: Json = {} if result is None else {"anyOf": [result, {"type": "null"}]}
    return {
        "type": "object",
        "properties": {"ok": {"type": "boolean"}, "result": value, "error": {"type": "string"}},
        "required": ["ok", "result"],
        "additionalProperties": False,
    }


class McpTool:
    """Shares its server's process and its runs' session values with all other tools. Made by `McpServer.tool`."""

    def __init__(self, host: McpHost, tool: str, confirm: Confirm | None) -> None:
        self._host = host
        self._tool = tool
        self._confirm = confirm
        self._card: Card | None = None
        self._listed = False

    @property
    def card(self) -> Card:
        """With the tool's own schemas once the server was asked; open ones before."""
        listed = self._host.belt.listed is not None
        if self._card is None or listed is not self._listed:
            self._card, self._listed = self._read_card(), listed
        return self._card

    @property
    def open_limit(self) -> timedelta:
        """How long `open` may take: what its server may take to start, and then to list its tools."""
        return self._host.open_limit

    async def open(self) -> None:
        """As `McpHost.open`."""
        await self._host.open()

    async def close(self) -> None:
        """As `McpHost.close`."""
        await self._host.close()

    async def __call__(self, request: Request) -> Response:
        return await self._host.ask(request.call, self._tool, request.input, None)

    async def open_run(self, run: RunInfo) -> McpRun:
        """As `McpHost.lease`."""
        return await self._host.lease(
            run, lambda request, lease: self._host.ask(request.call, self._tool, request.input, lease)
        )

    async def confirm(self, request: Request) -> Response | None:
        """Ask the server's `confirm`; the request reads as one to the server: ``{tool, arguments}``."""
        asked = Request({"tool": self._tool, "arguments": request.input}, request.call)
        return await confirmed(self._host, self._confirm, asked)

    def _read_card(self) -> Card:
        host, settings = self._host, self._host.settings
        listed = (host.belt.listed or {}).get(self._tool)
        return Card(
            name=f"{settings.name}/{self._tool}",
            version=settings.version,
            kind="mcp",
            digest=digest_of(f"{settings.digest()}/{self._tool}".encode()),
            input=host.belt.schema_of(self._tool, without=host.argument),
            output=answer_schema(None if listed is None else listed.output),
            effects={ANY_ACTION: host.belt.effect_of(self._tool)},
            idempotent=host.is_idempotent(self._tool),
            confirms=self._confirm is not None,
            scope=Scope.RUN if host.argument else Scope.PROCESS,
            description="" if listed is None else listed.description,
        )
