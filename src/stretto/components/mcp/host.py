"""A server as its components share it: started with the first of them, ended with the last, asked in between."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from stretto.components.loop_lock import LoopLock, open_elsewhere
from stretto.components.mcp.errors import ServerLostError, lost, supplied_argument, unknown_tool
from stretto.components.mcp.run import Ask, McpRun
from stretto.components.mcp.session import Lease
from stretto.components.mcp.settings import McpSettings
from stretto.components.mcp.tools import ToolBelt
from stretto.components.waiting import Wait
from stretto.spec.suggest import nearest
from stretto.types.card import ANY_ACTION
from stretto.types.enums import Effect
from stretto.types.errors import Code, ComponentError, InDoubtError, UsageError
from stretto.types.json import Json, JsonObject
from stretto.types.messages import Call, Response, RunInfo

if TYPE_CHECKING:  # the SDK takes most of a second to import, so it is when the server is started
    from stretto.components.mcp.link import Link

LISTING_TIME: Final = timedelta(seconds=30)
"""For the list of its tools, after the start; as long as the start has when nobody says otherwise."""

EFFECT_KEY: Final = "stretto/effect-key"
"""Key in ``_meta`` of a write: the same for every attempt, so that a server may do it once."""


class McpHost:
    """Settings, tools, and the link of the event loop at hand."""

    def __init__(self, settings: McpSettings) -> None:
        self.settings = settings
        session = settings.session
        self.argument = "" if session is None else session.argument
        """Tool argument that the session supplies; empty when there is none."""
        reset = "" if session is None or session.reset is None else session.reset[0]
        self.belt = ToolBelt(allowed=settings.tools, hidden=reset, effects=settings.effects)
        """What is known of the tools: what was declared, and after `open` what the server says."""
        self._link: Link | None = None
        self._linking = LoopLock()
        self._users = 0

    async def open(self) -> None:
        """Start the server and ask it for its tools. Every `open` needs its `close`; only the first starts anything.

        Raises ComponentError when it cannot be started, UsageError when what was declared does not fit its tools, and
        while another event loop that has not ended has it open.
        """
        self._forget_ended()
        self._users += 1
        try:
            await self.linked()
        except BaseException:  # what did not open is not closed
            self._users -= 1
            raise

    async def close(self) -> None:
        """End the server with its last user; the next call starts it again.

        Raises UsageError while another event loop that has not ended has it open: it is the one to close it.
        """
        self._forget_ended()
        self._users = max(0, self._users - 1)
        async with self._linking.held(self._words):  # else what is being started now would stay
            link = self._link if self._users == 0 else None
            if link is not None:
                self._link = None
        if link is not None:
            await link.close()

    async def linked(self) -> "Link":
        """The link of this event loop, started if need be; raises as `open` does."""
        if self._link is not None and self._link.loop is asyncio.get_running_loop():
            return self._link
        async with self._linking.held(self._words):
            self._forget_ended()
            if self._link is None:
                self._link = await self._start()
            return self._link

    def _forget_ended(self) -> None:
        """Forget a link whose event loop has ended, with its users: the server ended with the loop.

        Raises UsageError for one of another loop that lives.
        """
        link = self._link
        if link is None or link.loop is asyncio.get_running_loop():
            return
        if not link.loop.is_closed():
            raise open_elsewhere(self._words, link.loop)
        self._link, self._users = None, 0

    @property
    def _words(self) -> str:
        return f"MCP server '{self.settings.name}'"

    async def ask(self, call: Call, tool: str, arguments: JsonObject, lease: Lease | None) -> Response:
        """Call a tool for a step.

        Raises InDoubtError when the server went away during a write; ComponentError otherwise, with `sent` false when
        nothing was sent.
        """
        from stretto.components.mcp.answer import output_of

        link = await self.linked()
        self.check_tool(tool)
        arguments = self._with_session_value(tool, arguments, lease)
        is_write = self.belt.effect_of(tool) is Effect.WRITE
        meta: dict[str, Json] = {EFFECT_KEY: call.effect_key} if is_write else {}
        meta |= call.run.trace
        with Wait() as wait:
            try:
                result = await link.call(tool, arguments, meta, wait, lease.place if lease else None)
            except ServerLostError as error:
                in_doubt = is_write and not self.is_idempotent(tool)
                raise lost(self.settings.name, tool, str(error), in_doubt=in_doubt) from error
        return Response(output=output_of(result), queue_ms=wait.ms)

    async def inquire(self, call: Call, tool: str, arguments: JsonObject) -> JsonObject:
        """Call a tool to find out about a write, with the session value that the run holds and no effect key.

        Raises InDoubtError when the run holds none any more, ComponentError when the server cannot be asked.
        """
        from stretto.components.mcp.answer import output_of

        link = await self.linked()
        lease = None if link.leases is None else link.leases.standing(call.run)
        if link.leases is not None and lease is None:
            raise InDoubtError(
                f"the session of MCP server '{self.settings.name}' with this run ended with the process that began it; "
                "what was done in it can no longer be asked"
            )
        arguments = self._with_session_value(tool, arguments, lease)
        try:
            result = await link.call(tool, arguments, {**call.run.trace}, Wait(), lease.place if lease else None)
        except ServerLostError as error:
            raise lost(self.settings.name, tool, str(error), in_doubt=False) from error
        return output_of(result)

    async def lease(self, run: RunInfo, ask: Ask) -> McpRun:
        """A run's way to the server, with its session value reset; waits while none is free.

        All components of the server share the run's value.
        """
        link = await self.linked()
        if link.leases is None:
            raise UsageError(f"MCP server '{self.settings.name}' has no session, so its scope is 'process'")
        asked = link.loop.time()
        with Wait() as wait:
            lease = await link.leases.take(run, partial(self._reset, link), wait)
        waited_ms = (link.loop.time() - asked) * 1000.0
        return McpRun(ask, lease, partial(link.leases.give, run), waited_ms)

    @property
    def open_limit(self) -> timedelta:
        """How long `open` may take."""
        return self.settings.start_timeout + LISTING_TIME

    def check_tool(self, tool: str) -> None:
        """Raise ComponentError when the tool surely cannot be called."""
        names = self.belt.names
        if names is not None and tool not in names:
            raise unknown_tool(self.settings.name, tool, names)

    def is_idempotent(self, tool: str) -> bool:
        """Whether sending the same call again does it once: declared for all tools, or hinted by the server."""
        listed = self.belt.listed.get(tool) if self.belt.listed else None
        return self.settings.idempotent or (listed is not None and listed.idempotent)

    async def _start(self) -> "Link":
        from stretto.components.mcp.link import Link

        link = Link(self.settings)
        try:
            self.belt = msgspec.structs.replace(self.belt, listed=await link.start())
            self._check_declared()
        except BaseException:
            await link.close()
            raise
        return link

    def _check_declared(self) -> None:
        """Every tool that was named must be there, and the session's argument must go somewhere."""
        name, belt = self.settings.name, self.belt
        listed = belt.listed or {}
        hidden = [belt.hidden] if belt.hidden else []
        named = [*(belt.allowed or ()), *(action for action in belt.effects if action != ANY_ACTION), *hidden]
        for tool in belt.unknown(named):
            near = nearest(tool, listed)
            hint = f"did you mean '{near}'?" if near else f"it lists {', '.join(listed) or 'none'}"
            raise UsageError(f"MCP server '{name}' lists no tool '{tool}', which its declaration names; {hint}")
        if self.argument and not any(belt.takes(tool, self.argument) for tool in listed):
            raise UsageError(f"no tool of MCP server '{name}' takes '{self.argument}', the argument of its session")

    def _with_session_value(self, tool: str, arguments: JsonObject, lease: Lease | None) -> JsonObject:
        if lease is None:
            return arguments
        if self.argument in arguments:
            raise supplied_argument(self.settings.name, tool, self.argument)
        return {**arguments, self.argument: lease.value} if self.belt.takes(tool, self.argument) else arguments

    async def _reset(self, link: "Link", lease: Lease) -> None:
        session = self.settings.session
        if session is None or session.reset is None:
            return
        from stretto.components.mcp.answer import output_of

        tool, further = session.reset
        try:
            result = await link.call(tool, {**further, self.argument: lease.value}, {}, Wait(), lease.place)
        except ServerLostError as error:
            text = f"MCP server '{self.settings.name}' was lost while '{tool}' prepared the run's session: {error}"
            raise ComponentError(text, Code.UNAVAILABLE, sent=False) from error
        output = output_of(result)
        if not output["ok"]:
            text = f"MCP server '{self.settings.name}' did not reset the run's session with '{tool}': {output['error']}"
            raise ComponentError(text, Code.FAILED_PRECONDITION, sent=False)


def effects_by_tool(server: str, effects: Effect | str | Mapping[str, Effect | str] | None) -> dict[str, Effect]:
    """Declared effects by tool. Raises UsageError for one that does not exist."""
    by_tool = effects if isinstance(effects, Mapping) else {} if effects is None else {ANY_ACTION: effects}
    for tool, effect in by_tool.items():
        if effect not in list(Effect):
            near = nearest(str(effect), list(Effect))
            hint = f"did you mean '{near}'?" if near else "expected pure, read or write"
            raise UsageError(f"MCP server '{server}': the effect of '{tool}' is '{effect}'; {hint}")
    return {tool: Effect(effect) for tool, effect in by_tool.items()}
