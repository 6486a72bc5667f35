"""A real server process over stdio: what it does right, and everything it can do wrong."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from stretto.components.mcp import CallTool, McpServer, McpSession
from stretto.testing.request import request_for
from stretto.types.enums import Effect, Scope
from stretto.types.errors import Code, ComponentError, InDoubtError, UsageError
from stretto.types.messages import Request, Response
from stretto.types.waited import NeverBegun

SCRIPTED = Path(__file__).parent / "servers" / "scripted.py"

Serve = Callable[..., Awaitable[McpServer]]


def declared(mode: str = "", log: Path | None = None, **options: Any) -> McpServer:
    command = [sys.executable, str(SCRIPTED), mode, *([] if log is None else [str(log)])]
    return McpServer("scripted", **{"command": command, **options})


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Starts scripted servers, and ends them with the test."""
    living: list[McpServer] = []

    async def start(mode: str = "", log: Path | None = None, **options: Any) -> McpServer:
        living.append(declared(mode, log, **options))
        await living[-1].open()
        return living[-1]

    yield start
    await asyncio.gather(*(server.close() for server in living))


def ask(tool: str, _run: str = "run-1", **arguments: Any) -> Request:
    return request_for(tool=tool, arguments=arguments, _run=_run)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# right


@pytest.mark.parametrize("mode", ["", "banner", "pages"])
async def test_a_server_is_started_asked_for_its_tools_and_called(serve: Serve, mode: str) -> None:
    server = await serve(mode)
    assert server.tools is not None
    assert "echo" in server.tools
    response = await server(ask("echo", text="hi"))
    assert response.output == {"ok": True, "result": "hi"}
    assert jsonschema_rs.is_valid(dict(server.card.output), response.output)


@pytest.mark.parametrize(
    ("tool", "output"),
    [
        ("structured", {"ok": True, "result": {"n": 1}}),
        ("json", {"ok": True, "result": {"a": [1]}}),
        ("fails", {"ok": False, "result": "Error: order not found", "error": "Error: order not found"}),
        ("reset", {"ok": True, "result": None}),
    ],
)
async def test_what_a_tool_answers_is_data_also_when_it_says_no(serve: Serve, tool: str, output: Any) -> None:
    assert (await (await serve())(ask(tool))).output == output


async def test_several_blocks_and_images_stay_blocks(serve: Serve) -> None:
    server = await serve()
    texts = (await server(ask("texts"))).output
    image = (await server(ask("image"))).output
    assert [block["text"] for block in texts["result"]] == ["a", "b"]  # type: ignore[index]
    assert image["result"][0]["mimeType"] == "image/png"  # type: ignore[index]


async def test_the_servers_hints_and_the_declared_effects_make_the_card(serve: Serve) -> None:
    undeclared, server = declared(), await serve(effects={"count": "read", "*": "write"})
    assert undeclared.card.effect_of("echo") is Effect.WRITE, "nobody described it yet"
    card = server.card
    assert [card.effect_of(tool) for tool in ("echo", "count", "put", "hang")] == ["read", "read", "write", "write"]
    assert card.digest != undeclared.card.digest
    assert jsonschema_rs.is_valid(dict(card.input), {"tool": "echo"})
    assert not jsonschema_rs.is_valid(dict(card.input), {"tool": "eco"})


async def test_each_tool_is_a_component_with_its_own_schemas(serve: Serve) -> None:
    server = await serve()
    echo, structured, put = server.tool("echo"), server.tool("structured"), server.tool("put")
    assert (echo.card.name, echo.card.description, echo.card.effect_of("")) == (
        "scripted/echo",
        "Say it back.",
        Effect.READ,
    )
    assert "text" in echo.card.input["properties"]  # type: ignore[operator]
    assert put.card.idempotent
    assert not echo.card.idempotent
    assert (await echo(request_for(text="hi"))).output == {"ok": True, "result": "hi"}
    assert jsonschema_rs.is_valid(dict(structured.card.output), (await structured(request_for())).output)
    assert not jsonschema_rs.is_valid(dict(structured.card.output), {"ok": True, "result": {"n": "one"}})
    assert server.tool("echo") is echo


async def test_trace_context_travels_and_a_write_carries_its_effect_key(serve: Serve) -> None:
    server = await serve(effects={"meta": "write"})
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    response = await server(request_for(tool="meta", _traceparent=trace, _tracestate="v=1", _path="a/b"))
    expected = {"traceparent": trace, "tracestate": "v=1", "stretto/effect-key": "run-1/a/b"}
    assert response.output["result"] == expected  # type: ignore[index]
    server = await serve(effects={"meta": "read"})
    assert (await server(request_for(tool="meta"))).output["result"] == {}  # type: ignore[index]


async def test_calls_at_once_are_told_apart(serve: Serve) -> None:
    server = await serve()
    responses = await asyncio.gather(*(server(ask("echo", text=str(n))) for n in range(50)))
    assert [response.output["result"] for response in responses] == [str(n) for n in range(50)]  # type: ignore[index]


async def test_several_processes_share_the_calls_in_turn(serve: Serve) -> None:
    server = await serve(processes=2)
    pids = [(await server(ask("pid"))).output["result"] for _ in range(4)]  # type: ignore[index]
    assert pids[0] == pids[2] != pids[1] == pids[3]


async def test_a_bound_on_calls_at_once_is_kept_and_its_wait_is_queueing(serve: Serve) -> None:
    server = await serve(concurrency=1)
    hanging = asyncio.ensure_future(server(ask("hang")))
    await asyncio.sleep(0)
    waiting = asyncio.ensure_future(server(ask("echo", text="hi")))
    await asyncio.wait({waiting}, timeout=0.05)
    assert not waiting.done()
    with pytest.raises(TimeoutError) as caught:
        async with asyncio.timeout(0.01):
            await server(ask("echo", text="late"))
    assert caught.value.__cause__ is not None
    never = caught.value.__cause__.__cause__
    assert isinstance(never, NeverBegun)
    assert (never.awaited, never.queue_ms >= 9) == ("its turn", True)
    refused = asyncio.ensure_future(server(ask("refuse")))
    await asyncio.wait({refused}, timeout=0.02)
    hanging.cancel()
    assert (await waiting).queue_ms >= 40
    with pytest.raises(ComponentError) as refusal:
        await refused
    assert refusal.value.queue_ms >= 15
    assert hanging.cancelled()


async def test_it_serves_one_event_loop_after_another() -> None:
    server = declared()

    async def once() -> object:
        return (await server(ask("echo", text="hi"))).output

    for _ in range(2):
        assert await asyncio.to_thread(asyncio.run, once()) == {"ok": True, "result": "hi"}


async def test_its_process_ends_with_its_last_user(serve: Serve) -> None:
    server = declared()
    tool = server.tool("pid")
    await server.open()
    await tool.open()
    pid = int((await tool(request_for())).output["result"])  # type: ignore[index]
    await server.close()
    assert int((await tool(request_for())).output["result"]) == pid  # type: ignore[index]
    await tool.close()
    assert not is_alive(pid)


async def test_users_whose_event_loop_ended_are_none_of_it_any_more() -> None:
    server = declared()
    tool = server.tool("pid")

    async def open_both() -> int:
        await server.open()
        await tool.open()
        return int((await tool(request_for())).output["result"])  # type: ignore[index]

    async def open_and_close() -> bool:
        pid = await open_both()
        await server.close()
        await tool.close()
        return is_alive(pid)

    left = await asyncio.to_thread(asyncio.run, open_both())
    assert not await asyncio.to_thread(asyncio.run, open_and_close())
    assert not is_alive(left)


async def test_a_loop_that_lives_keeps_it_until_it_closes_it(serve: Serve) -> None:
    server = await serve()
    pid = int((await server(ask("pid"))).output["result"])  # type: ignore[index]
    for use in (server.open(), server.close(), server(ask("pid"))):
        with pytest.raises(UsageError, match="MCP server 'scripted' is open in another event loop, which runs in"):
            await asyncio.to_thread(asyncio.run, use)
    assert int((await server(ask("pid"))).output["result"]) == pid  # type: ignore[index]
    await server.close()
    assert not is_alive(pid)
    await asyncio.to_thread(asyncio.run, server.close())


async def test_a_loop_that_starts_it_keeps_it() -> None:
    server = declared()
    starting = asyncio.ensure_future(server.open())
    await asyncio.sleep(0)
    with pytest.raises(UsageError, match="MCP server 'scripted' is open in another event loop, which runs in"):
        await asyncio.to_thread(asyncio.run, server.open())
    await starting
    pid = int((await server(ask("pid"))).output["result"])  # type: ignore[index]
    await server.close()
    assert not is_alive(pid)


async def test_closing_while_it_starts_leaves_no_process() -> None:
    server = declared()
    calling = asyncio.ensure_future(server(ask("pid")))  # nobody opened it
    await asyncio.sleep(0)
    await server.close()
    with pytest.raises(ComponentError):
        await calling
    calling = asyncio.ensure_future(server(ask("pid")))
    pid = int((await calling).output["result"])  # type: ignore[index]
    await server.close()
    assert not is_alive(pid)


async def test_who_could_not_open_it_is_no_user_of_it(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    server = declared(command=[sys.executable, str(program)])
    with pytest.raises(ComponentError):
        await server.open()
    program.write_bytes(SCRIPTED.read_bytes())
    await server.open()
    pid = int((await server(ask("pid"))).output["result"])  # type: ignore[index]
    await server.close()
    assert not is_alive(pid)


# sessions


POOL = McpSession("key", ("a", "b"), reset=("reset", {}))


async def count(session: Any, run: str, **arguments: Any) -> Any:
    return (await session(ask("count", _run=run, **arguments))).output["result"]


async def test_each_run_has_a_value_that_is_reset_supplied_and_given_back(serve: Serve) -> None:
    server = await serve(session=POOL)
    assert server.card.scope is Scope.RUN
    first, second = [await server.open_run(ask("count", run).call.run) for run in ("r1", "r2")]
    assert (await count(first, "r1"))["key"] == "a"
    assert (await count(first, "r1"))["count"] == 2
    assert (await count(second, "r2"))["key"] == "b"
    third = asyncio.ensure_future(server.open_run(ask("count", "r3").call.run))
    await asyncio.wait({third}, timeout=0.05)
    assert not third.done(), "both values are taken"
    with pytest.raises(TimeoutError) as caught:
        async with asyncio.timeout(0.01):
            await server.open_run(ask("count", "r4").call.run)
    assert caught.value.__cause__ is not None
    never = caught.value.__cause__.__cause__
    assert isinstance(never, NeverBegun)
    assert (never.awaited, never.queue_ms >= 9) == ("a free session", True)
    await first.close()
    answer = await (await third)(ask("count", "r3"))
    assert answer.output["result"]["key"] == "a"  # type: ignore[index]
    assert answer.output["result"]["count"] == 1, "reset before use"  # type: ignore[index]
    assert answer.queue_ms >= 40, "the wait for a value is queueing of the first call"
    assert (await third)._waited_ms == 0
    await second.close()
    await (await third).close()


async def test_a_run_sends_all_calls_with_its_value_to_one_process(serve: Serve) -> None:
    server = await serve(session=POOL, processes=2)
    sessions = [await server.open_run(ask("count", run).call.run) for run in ("r1", "r2")]
    pids = [{(await count(s, run))["pid"] for _ in range(3)} for s, run in zip(sessions, ("r1", "r2"), strict=True)]
    assert [len(each) for each in pids] == [1, 1]
    assert pids[0] != pids[1]
    for session in sessions:
        await session.close()


async def test_tools_of_one_server_share_their_runs_value(serve: Serve) -> None:
    server = await serve(session=POOL)
    tool = server.tool("count")
    assert "key" not in tool.card.input["properties"]  # type: ignore[operator]
    run = ask("count").call.run
    whole, single = await asyncio.gather(server.open_run(run), tool.open_run(run))
    await count(whole, "run-1")
    assert (await single(request_for())).output["result"]["count"] == 2  # type: ignore[index]
    await whole.close()
    assert (await single(request_for())).output["result"]["count"] == 3  # type: ignore[index]
    await single.close()


async def test_the_planner_can_neither_name_the_value_nor_reset_it(serve: Serve) -> None:
    server = await serve(session=POOL)
    session = await server.open_run(ask("count").call.run)
    with pytest.raises(ComponentError, match="hold 'key', which the session") as caught:
        await session(ask("count", key="b"))
    assert caught.value.rpc_code is Code.INVALID_ARGUMENT
    assert server.tools is not None
    assert "reset" not in server.tools
    with pytest.raises(ComponentError, match="has no tool 'reset'"):
        await session(ask("reset"))
    await session.close()


async def test_a_reset_that_fails_gives_the_value_back(serve: Serve) -> None:
    server = await serve(session=McpSession("key", ["a"], reset=("reset", {"fail": True})))
    for _ in range(2):
        with pytest.raises(
            ComponentError, match="did not reset the run's session with 'reset': cannot reset"
        ) as caught:
            await server.open_run(ask("count").call.run)
        assert not caught.value.sent


async def test_without_a_pool_the_runs_id_is_the_value(serve: Serve) -> None:
    server = await serve(session=McpSession("key"))
    session = await server.open_run(ask("count", "r-77").call.run)
    assert (await count(session, "r-77"))["key"] == "r-77"
    await session.close()


# wrong


async def test_a_server_that_dies_during_a_write_leaves_it_in_doubt_and_is_started_again(serve: Serve) -> None:
    server = await serve()
    with pytest.raises(InDoubtError) as caught:
        await server(ask("die"))
    text = str(caught.value)
    assert "MCP server 'scripted' was lost while it worked on 'die': it ended with exit code 3" in text
    assert "ZeroDivisionError: division by zero" in text
    assert (await server(ask("echo", text="back"))).output == {"ok": True, "result": "back"}


@pytest.mark.parametrize("tool", ["read_then_die", "put", "put_by_key"])
async def test_a_lost_read_and_an_idempotent_write_may_be_sent_again(serve: Serve, tool: str) -> None:
    with pytest.raises(ComponentError, match="exit code 3") as caught:
        await (await serve())(ask(tool))
    assert not isinstance(caught.value, InDoubtError)
    assert caught.value.rpc_code is Code.UNAVAILABLE
    assert caught.value.retryable


async def test_a_server_that_dies_on_whatever_it_is_asked_is_not_started_for_ever(serve: Serve) -> None:
    server = await serve()
    for _ in range(5):
        with pytest.raises(ComponentError, match="exit code 3"):
            await server(ask("read_then_die"))
    with pytest.raises(ComponentError, match="started 4 times and died each time") as caught:
        await server(ask("read_then_die"))
    assert not caught.value.retryable
    assert not caught.value.sent


async def test_calls_in_flight_are_all_told_when_the_server_dies(serve: Serve) -> None:
    server = await serve(effects="read")
    waiting = [asyncio.ensure_future(server(ask("hang"))) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(ComponentError):
        await server(ask("die"))
    told = await asyncio.gather(*waiting, return_exceptions=True)
    assert ["exit code 3" in str(error) for error in told] == [True] * 3


async def test_a_message_beyond_the_limit_ends_the_server(serve: Serve) -> None:
    server = await serve(max_message_bytes=65_536, effects="read")
    with pytest.raises(ComponentError, match="sent a message of more than 65,536 bytes"):
        await server(ask("flood"))
    assert (await server(ask("echo", text="hi"))).output == {"ok": True, "result": "hi"}


async def test_a_server_that_prints_its_log_where_messages_belong_is_ended(serve: Serve) -> None:
    with pytest.raises(
        ComponentError, match=r"printed 101 lines on standard output that are no messages, like 'log line 100'"
    ):
        await (await serve(effects="read"))(ask("babble"))


@pytest.mark.parametrize("tool", ["broken_text", "lone_surrogate", "too_deep", "cut_short"])
async def test_an_answer_that_cannot_be_read_ends_all_calls_that_wait_for_one(serve: Serve, tool: str) -> None:
    server = await serve(effects={"*": "read", tool: "write"})
    waiting = asyncio.ensure_future(server(ask("hang")))
    await asyncio.sleep(0)
    with pytest.raises(InDoubtError, match=r"it sent a message that cannot be read: '\{\"jsonrpc\": \"2.0\", \"id\""):
        await server(ask(tool))
    with pytest.raises(ComponentError, match="cannot be read") as caught:
        await waiting
    assert caught.value.retryable
    assert (await server(ask("echo", text="back"))).output == {"ok": True, "result": "back"}


async def test_a_refusal_of_the_server_is_no_lost_write(serve: Serve) -> None:
    with pytest.raises(ComponentError, match=r"refused 'refuse': no such thing \(JSON-RPC -32602\)") as caught:
        await (await serve())(ask("refuse"))
    assert caught.value.rpc_code is Code.INVALID_ARGUMENT


async def test_an_answer_against_the_protocol_is_no_answer(serve: Serve) -> None:
    with pytest.raises(ComponentError, match="answered 'garbage' with what is no tool result") as caught:
        await (await serve())(ask("garbage"))
    assert caught.value.rpc_code is Code.INTERNAL


async def test_a_tool_that_is_not_there_is_named_with_the_nearest(serve: Serve) -> None:
    server = await serve()
    with pytest.raises(ComponentError, match="has no tool 'ecco'; did you mean 'echo'") as caught:
        await server(ask("ecco"))
    assert caught.value.rpc_code is Code.NOT_FOUND
    with pytest.raises(ComponentError, match="did you mean 'count'"):
        server.tool("cuont")


async def test_a_call_that_hangs_is_cancelled_at_the_server_too(serve: Serve, tmp_path: Path) -> None:
    log = tmp_path / "log"
    server = await serve("", log, effects="read")
    with suppress(TimeoutError):
        async with asyncio.timeout(0.05):
            await server(ask("hang"))
    assert (await server(ask("echo", text="hi"))).output == {"ok": True, "result": "hi"}
    methods = [json.loads(line)[0] for line in log.read_text().splitlines()]
    assert methods[-3:] == ["tools/call", "notifications/cancelled", "tools/call"]


async def test_a_server_that_ignores_every_request_to_end_is_killed() -> None:
    server = declared("stubborn")
    await server.open()
    pid = int((await server(ask("pid"))).output["result"])  # type: ignore[index]
    await server.close()
    assert not is_alive(pid)


@pytest.mark.parametrize(
    ("mode", "options", "message"),
    [
        ("exit", {}, r"cannot be reached: .*exit code 7; .*cannot read /etc/absent.conf"),
        ("old", {}, r"speaks another version of the protocol\. .*1999-01-01; this side speaks .*2025-06-18"),
        ("silent", {"start_timeout": timedelta(seconds=0.2)}, "did not answer the handshake within 0.2 s"),
        ("mumble", {}, "cannot be reached: it sent a message that cannot be read"),
        ("toolless", {}, "does not list its tools: method not found: tools/list"),
        ("", {"command": "no-such-mcp-server"}, "cannot be started: No such file or directory: 'no-such-mcp-server'"),
        ("", {"cwd": "/no/such/folder"}, "cannot be started: No such file or directory: '/no/such/folder'"),
    ],
)
async def test_a_server_that_cannot_be_started_says_why(mode: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ComponentError) as caught:
        await declared(mode, **options).open()
    assert not caught.value.sent, "a write that was never sent is not in doubt"
    assert re.search(message, str(caught.value), re.DOTALL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tools": ["ecko"]}, "lists no tool 'ecko', which its declaration names; did you mean 'echo'"),
        ({"effects": {"cuont": "write"}}, "did you mean 'count'"),
        ({"session": McpSession("key", ["a"], ("rest", {}))}, "did you mean 'reset'"),
        ({"session": McpSession("state_key")}, "no tool of MCP server 'scripted' takes 'state_key'"),
    ],
)
async def test_a_declaration_that_does_not_fit_the_servers_tools_is_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        await declared(**options).open()


# in doubt


async def test_a_declared_confirm_asks_the_server_with_the_runs_value(serve: Serve) -> None:
    asked = []

    async def confirm(call_tool: CallTool, request: Request) -> Response | None:
        asked.append(request.input)
        answer = await call_tool("count", by=0)
        happened = answer["result"]["count"] > 0  # type: ignore[index, operator, call-overload]
        return Response(output=answer) if happened else None

    server = await serve(session=POOL, confirm=confirm)
    assert server.card.confirms
    request = ask("count", by=1)
    session = await server.open_run(request.call.run)
    assert await server.confirm(request) is None
    await session(request)
    assert await server.confirm(request) is not None
    assert await server.tool("count").confirm(request_for(by=1)) is not None
    assert asked == [request.input] * 3
    await session.close()
    with pytest.raises(InDoubtError, match="can no longer be asked"):
        await server.confirm(request)


async def test_a_server_without_confirm_cannot_tell(serve: Serve) -> None:
    server = await serve()
    assert not server.card.confirms
    with pytest.raises(InDoubtError, match="declares no `confirm`"):
        await server.confirm(ask("count"))
