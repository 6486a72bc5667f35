"""What can be said about an MCP server before it is started."""

import subprocess
import sys
from datetime import timedelta
from typing import Any

import jsonschema_rs
import pytest

from stretto.components.mcp import McpServer, McpSession, settings as mcp_settings
from stretto.types.enums import Effect, Scope
from stretto.types.errors import ComponentError, MissingExtraError, UsageError


def test_a_declared_server_has_a_card_before_it_is_started() -> None:
    card = McpServer(
        "retail", command=["x", "--stdio"], tools=["get", "buy"], effects={"get": "read"}, version="1.2.0"
    ).card
    assert (card.name, card.version, card.kind, card.scope) == ("retail", "1.2.0", "mcp", Scope.PROCESS)
    assert card.action_of({"tool": "get"}) == "get"
    assert [card.effect_of(tool) for tool in ("get", "buy", "other")] == [Effect.READ, Effect.WRITE, Effect.WRITE]
    assert jsonschema_rs.is_valid(dict(card.input), {"tool": "buy", "arguments": {"n": 1}})
    assert not jsonschema_rs.is_valid(dict(card.input), {"tool": "sell"})


def test_one_effect_may_stand_for_all_tools() -> None:
    assert McpServer("a", command="x", effects="read").card.effect_of("anything") is Effect.READ


def test_the_digest_covers_what_decides_and_no_secret() -> None:
    def digest(**options: Any) -> str:
        return McpServer("a", **{"command": "x", **options}).card.digest

    assert digest() == digest(env={"KEY": "1"}, start_timeout=timedelta(seconds=1))
    assert len({digest(), digest(command="y"), digest(tools=["t"]), digest(effects="read")}) == 4


def test_a_tool_is_offered_as_a_component_unless_it_surely_is_none() -> None:
    server = McpServer("retail", command="x", tools=["get_order", "buy"])
    assert server.tool("buy").card.name == "retail/buy"
    assert server.tool("buy").card.input == {"type": "object"}
    with pytest.raises(ComponentError, match="has no tool 'get_ordr'; did you mean 'get_order'"):
        server.tool("get_ordr")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "neither of `command` and `url`"),
        ({"command": "x", "url": "http://x"}, "both of `command` and `url`"),
        ({"url": "http://[::1"}, "which is no address"),
        ({"url": "http://"}, "expected one that begins with http:// or https://"),
        ({"url": "localhost:80"}, "expected one that begins with http:// or https://"),
        ({"url": "http://x", "env": {"A": "1"}}, "`env` has no effect without `command`"),
        ({"url": "http://x", "processes": 2}, "`processes` has no effect on a `url`"),
        ({"command": "x", "headers": {"A": "1"}}, "`headers` has no effect without `url`"),
        ({"command": "x", "processes": 0}, "processes is 0; expected 1 or more"),
        ({"command": "x", "concurrency": -1}, "concurrency is -1"),
        ({"command": "x", "start_timeout": timedelta(0)}, "expected more than 0"),
        ({"command": "x", "effects": {"buy": "wirte"}}, "the effect of 'buy' is 'wirte'; did you mean 'write'"),
    ],
)
def test_a_declaration_that_cannot_work_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        McpServer("retail", **options)
    with pytest.raises(UsageError, match="cannot be the name"):
        McpServer("re tail", command="x")


@pytest.mark.parametrize(
    ("session", "message"),
    [
        (lambda: McpSession("key", []), "give at least one value"),
        (lambda: McpSession("key", ["a", "a"]), "each once"),
        (lambda: McpSession("key", None, ("reset", {})), "a reset would wipe what a resumed run has done"),
    ],
)
def test_a_session_that_cannot_keep_runs_apart_is_refused(session: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        session()


def test_the_missing_sdk_is_told_when_the_server_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_settings, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[mcp\]'"):
        McpServer("retail", command="x")


def test_declaring_a_server_does_not_import_the_sdk() -> None:
    code = (
        "import sys\nfrom stretto.components.mcp import McpServer\n"
        "McpServer('a', command='x').card\n"
        "assert not {'mcp', 'pydantic', 'anyio', 'httpx2'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
