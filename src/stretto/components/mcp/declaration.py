"""What a declaration of kind ``mcp`` may hold in a workflow file."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from stretto.components.mcp.server import McpServer
from stretto.components.mcp.session import McpSession
from stretto.components.option_shapes import (
    ANY_TEXT,
    DESCRIPTION_KEY,
    TEXT_BY_NAME,
    TEXTS,
    VERSION_KEY,
    CommandShape,
    EffectsShape,
    Make,
)
from stretto.spec.codes import SpecCode
from stretto.spec.nested import Items, ObjectValue
from stretto.spec.records import Fields, Key, Record
from stretto.spec.shapes import Duration, Flag, Text, Whole
from stretto.types.errors import UsageError
from stretto.types.json import Json
from stretto.types.protocols import Component

_TOOL: Final = Text(expected="the name of a tool")

TOOL: Final = Key("tool", _TOOL, means="the tool that resets", example="tool: reset_state", required=True)
ARGUMENTS: Final = Key(
    "arguments", ObjectValue(), means="further arguments of the reset", example="arguments: { domain: retail }"
)


def _reset(fields: Fields) -> tuple[str, Mapping[str, Json]] | None:
    tool, arguments = fields.get(TOOL), fields.get(ARGUMENTS)
    return None if tool is None else (tool.value, {} if arguments is None else arguments.value)


RESET: Final = Key(
    "reset",
    Record(
        "reset",
        means="How a session's state is brought back to its beginning.",
        keys=(TOOL, ARGUMENTS),
        build=_reset,
        is_thing=False,
    ),
    means="the call that brings a value's state back to its beginning, made before a run uses it",
    example="reset: { tool: reset_state }",
)
ARGUMENT: Final = Key(
    "argument",
    Text(expected="the name of an argument"),
    means="tool argument that carries the run's value; no request may hold it",
    example="argument: state_key",
    required=True,
)
VALUES: Final = Key(
    "values",
    TEXTS,
    means="pool of values, each leased to one run at a time; without it the value is the run's id",
    example='values: ["state-0", "state-1"]',
)


def _session(fields: Fields) -> McpSession | None:
    argument, values, reset = fields.get(ARGUMENT), fields.get(VALUES), fields.get(RESET)
    if argument is None:
        return None
    try:
        return McpSession(argument.value, None if values is None else tuple(v.value for v in values), reset)
    except UsageError as error:
        fields.report.add(fields.node.span.problem(SpecCode.CONFLICT, str(error)))
        return None


COMMAND: Final = Key(
    "command",
    CommandShape(),
    means="program that speaks the protocol on its standard input and output, with its arguments",
    example="command: [python, -m, my_server]",
    also=("cmd", "program", "exec"),
    akin=("args",),
)
URL: Final = Key(
    "url",
    ANY_TEXT,
    means="address of a streamable HTTP endpoint",
    example="url: http://127.0.0.1:8000/mcp",
    also=("endpoint", "base_url", "address"),
)
ENV: Final = Key("env", TEXT_BY_NAME, means="environment variables of the program", example='env: { MODE: "test" }')
CWD: Final = Key("cwd", ANY_TEXT, means="the program's folder, relative to this file", example="cwd: ./server")
HEADERS: Final = Key("headers", TEXT_BY_NAME, means="HTTP headers of every request", example='headers: { X-Team: "a" }')
PROCESSES: Final = Key("processes", Whole(minimum=1), means="servers that share the calls", example="processes: 2")
CONCURRENCY: Final = Key(
    "concurrency", Whole(minimum=1), means="calls at once in each process", example="concurrency: 1"
)
TOOLS: Final = Key(
    "tools",
    Items(item=_TOOL, what="tools"),
    means="tools that may be called; all when absent",
    example="tools: [get_order]",
)
EFFECTS: Final = Key(
    "effects",
    EffectsShape(),
    means="what the tools do to the world: one effect for all, or by tool, * for the rest",
    example='effects: { get_order: read, "*": write }',
)
IDEMPOTENT: Final = Key("idempotent", Flag(), means="the same call sent twice happens once", example="idempotent: true")
SESSION: Final = Key(
    "session",
    Record(
        "session",
        means="How the server's state is kept apart by run.",
        keys=(ARGUMENT, VALUES, RESET),
        build=_session,
        may_be_empty=False,
    ),
    means="gives each run a value of its own",
    example="session: { argument: state_key, values: [a, b], reset: { tool: reset_state } }",
)
START_TIMEOUT: Final = Key(
    "start_timeout", Duration(), means="how long a start may take", example="start_timeout: 30s", also=("timeout",)
)
MAX_MESSAGE_BYTES: Final = Key(
    "max_message_bytes", Whole(minimum=1), means="largest message of the server", example="max_message_bytes: 8388608"
)

_PLAIN: Final[tuple[Key[Any], ...]] = (
    COMMAND,
    PROCESSES,
    CONCURRENCY,
    EFFECTS,
    IDEMPOTENT,
    SESSION,
    START_TIMEOUT,
    MAX_MESSAGE_BYTES,
)
_TEXT: Final = (URL, CWD, VERSION_KEY, DESCRIPTION_KEY)
_MAPPINGS: Final = (ENV, HEADERS)


def _build(fields: Fields) -> Make:
    options: dict[str, Any] = {key.name: fields.get(key) for key in _PLAIN if key in fields}
    options |= {key.name: text.value for key in _TEXT if (text := fields.get(key)) is not None}
    options |= {key.name: dict(pairs) for key in _MAPPINGS if (pairs := fields.get(key)) is not None}
    tools = fields.get(TOOLS)
    if tools is not None:
        options["tools"] = [tool.value for tool in tools]
    return partial(_make, options)


def _make(options: dict[str, Any], name: str, folder: Path) -> Component:
    cwd = {"cwd": folder / options["cwd"]} if "cwd" in options else {}
    return McpServer(name, **{**options, **cwd})


MCP: Final[Record[Make]] = Record(
    "tool-server",
    means="Tools of a server that speaks the Model Context Protocol.",
    keys=(*_PLAIN, *_TEXT, *_MAPPINGS, TOOLS),
    build=_build,
    may_be_empty=False,
)
