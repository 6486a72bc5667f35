"""A real streamable HTTP server on loopback, made with the SDK."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from stretto.components.mcp import McpServer
from stretto.testing.request import request_for
from stretto.types.enums import Effect
from stretto.types.errors import Code, ComponentError, InDoubtError
from stretto.types.messages import Request
from stretto.types.waited import NeverBegun

HTTP_TOOLS = Path(__file__).parent / "servers" / "http_tools.py"


@contextmanager
def serving(answers: str) -> Iterator[str]:
    """The address of a server that answers by ``stream`` or ``json``; connections wait in the socket until it is up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        descriptor = listening.fileno()
        command = [sys.executable, str(HTTP_TOOLS), str(descriptor), answers]
        process = subprocess.Popen(command, pass_fds=[descriptor], stderr=subprocess.DEVNULL)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    try:
        yield address
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module", params=["stream", "json"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with serving(request.param) as address:
        yield address


@pytest.fixture
async def server(url: str) -> AsyncIterator[McpServer]:
    opened = McpServer("shop", url=url, max_message_bytes=65_536, headers={"X-Team": "retail"})
    await opened.open()
    yield opened
    await opened.close()


def ask(tool: str, **arguments: Any) -> Request:
    return request_for(tool=tool, arguments=arguments)


async def test_its_tools_are_listed_and_called(server: McpServer) -> None:
    assert server.tools == ("add", "fail", "big", "mark", "crash", "hang")
    assert server.card.effect_of("add") is Effect.READ
    assert server.card.effect_of("fail") is Effect.WRITE
    assert (await server(ask("add", a=1, b=2))).output == {"ok": True, "result": {"sum": 3}}


async def test_calls_at_once_are_told_apart(server: McpServer) -> None:
    responses = await asyncio.gather(*(server(ask("add", a=n, b=0)) for n in range(20)))
    assert [response.output["result"]["sum"] for response in responses] == list(range(20))  # type: ignore[index]


async def test_a_tool_that_says_no_is_data(server: McpServer) -> None:
    output = (await server(ask("fail"))).output
    assert output["ok"] is False  # type: ignore[index]
    assert "out of stock" in output["error"]  # type: ignore[index]


async def test_a_message_beyond_the_limit_is_refused_and_the_server_goes_on(server: McpServer) -> None:
    with pytest.raises(InDoubtError, match=r"its answer cannot be read: .*limit"):
        await server(ask("big", size=200_000))
    assert (await server(ask("add", a=1, b=2))).output["ok"]  # type: ignore[index]


@pytest.mark.parametrize("answers", ["stream", "json"])
async def test_a_server_that_crashes_leaves_a_write_in_doubt(answers: str) -> None:
    with serving(answers) as address:
        server = McpServer("shop", url=address)
        with pytest.raises(InDoubtError, match="MCP server 'shop' was lost while it worked on 'crash'"):
            await server(ask("crash"))
        with pytest.raises(ComponentError, match="MCP server 'shop' cannot be reached") as caught:
            await server(ask("add", a=1, b=2))
        assert (caught.value.rpc_code, caught.value.sent) == (Code.UNAVAILABLE, False)
        await server.close()


async def test_a_hang_is_given_up_by_the_caller(server: McpServer) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await server(ask("hang"))
    assert (await server(ask("add", a=1, b=2))).output["ok"]  # type: ignore[index]


@pytest.fixture
async def full(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[McpServer, Callable[[], None]]]:
    """A server of whose connections none is free, and what frees them."""
    monkeypatch.setattr("stretto.components.mcp.http.MAX_CONNECTIONS", 2)
    opened = McpServer("shop", url=url, max_message_bytes=65_536)
    await opened.open()
    held = [asyncio.ensure_future(opened(ask("hang"))) for _ in range(2)]

    def free() -> None:
        for call in held:
            call.cancel()

    await asyncio.wait(held, timeout=0.05)
    yield opened, free
    free()
    await asyncio.wait(held)
    await opened.close()


Full: TypeAlias = tuple[McpServer, Callable[[], None]]


async def test_the_wait_for_a_connection_is_queueing_however_the_call_ends(full: Full) -> None:
    server, free = full
    answered = asyncio.ensure_future(server(ask("add", a=1, b=2)))
    refused = asyncio.ensure_future(server(ask("big", size=200_000)))
    await asyncio.wait({answered, refused}, timeout=0.3)
    assert not answered.done()
    free()
    assert (await answered).queue_ms >= 40
    with pytest.raises(InDoubtError) as caught:
        await refused
    assert caught.value.queue_ms >= 40


async def test_a_call_whose_deadline_comes_while_it_waits_for_a_connection_is_never_sent(full: Full) -> None:
    server, free = full
    with pytest.raises(TimeoutError) as caught:
        async with asyncio.timeout(0.3):  # part of it may go before the wait begins, where others are at work
            await server(ask("mark", name="given up"))
    assert caught.value.__cause__ is not None
    never = caught.value.__cause__.__cause__
    assert isinstance(never, NeverBegun)
    assert (never.awaited, never.queue_ms >= 40) == ("a connection", True)
    free()
    marks = (await server(ask("mark", name="made"))).output["result"]  # type: ignore[index]
    assert "given up" not in marks["result"]
    assert "made" in marks["result"]


async def test_an_address_where_nobody_listens_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    server = McpServer("shop", url=f"http://127.0.0.1:{port}/mcp", start_timeout=timedelta(seconds=5))
    with pytest.raises(ComponentError, match="MCP server 'shop' cannot be reached: ConnectError"):
        await server.open()
