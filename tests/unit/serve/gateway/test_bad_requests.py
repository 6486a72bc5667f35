"""Requests that are none: what is answered, in OpenAI's shape, and that nothing else is harmed."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from stretto.serve.gateway.settings import GatewaySettings
from tests.unit.serve.gateway.conftest import HELLO, Standing

CHAT = "/run/k1/v1/chat/completions"
DEEP = b'{"messages":' + b"[" * 1900 + b"]" * 1900 + b"}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def small(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Standing]:
    """One gateway for all of them, with a run that is open; nothing stands behind it, and nothing is asked."""
    settings = GatewaySettings(upstream="http://127.0.0.1:9/v1", max_body_bytes=4000)
    standing = Standing(tmp_path_factory.mktemp("small") / "runs.db", settings)
    await standing.start()
    await standing.ask("POST", "/runs", {"key": "open"})
    yield standing
    await standing.stop()


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        (CHAT, b"{", 400, "the body is no JSON"),
        (CHAT, b"", 400, "the body is no JSON"),
        (CHAT, b"[]", 400, "the body is list; expected a JSON object"),
        (CHAT, b'{"messages": [{"role": "user", "content": "\xff"}]}', 400, "the body is no JSON"),
        (CHAT, b'{"messages": [{"role": "user", "content": "\\ud800"}]}', 400, "the body is no JSON"),
        (CHAT, b'{"temperature": NaN, "messages": []}', 400, "the body is no JSON"),
        (CHAT, DEEP, 400, "the body is no JSON"),
        (CHAT, b'{"messages":' + b"[" * 300 + b"]" * 300 + b"}", 400, "nested more than 254 levels deep"),
        (CHAT, b'{"x":' + b"[" * 1000 + b"]" * 1000 + b"}", 400, "nested more than 254 levels deep"),
        (CHAT, {"messages": HELLO, "$after": "agent[0]"}, 400, "`$after` is a word of the record"),
        (CHAT, {"messages": HELLO, "$same": ["tools"]}, 400, "`$same` is a word of the record"),
        (CHAT, {}, 400, "`messages` is missing or empty"),
        (CHAT, {"messages": []}, 400, "`messages` is missing or empty"),
        (CHAT, {"messages": "hello"}, 400, "`messages` is missing or empty"),
        (CHAT, {"messages": ["hello"]}, 400, "message 0 has no role"),
        (CHAT, {"messages": [*HELLO, {"content": "x"}]}, 400, "message 1 has no role"),
        (CHAT, {"messages": HELLO, "model": 7}, 400, "`model` is 7"),
        (CHAT, {"messages": [{"role": "user", "content": "x" * 5000}]}, 413, "larger than 4,000 bytes"),
        ("/run/k1/v1/completions", {"prompt": 7}, 400, "`prompt` is missing or empty"),
        ("/run/k1/v1/completions", {}, 400, "`prompt` is missing or empty"),
        ("/run/k%2F1/v1/chat/completions", {"messages": HELLO}, 404, "is not served"),
        (f"/run/{'k' * 200}/v1/chat/completions", {"messages": HELLO}, 400, "cannot be the key of a run"),
        ("/run//v1/chat/completions", {"messages": HELLO}, 400, "'' cannot be the key of a run"),
        ("/v1/responses", {}, 404, "is not served; served are POST /v1/chat/completions"),
        ("/metrics", {}, 405, "GET or HEAD is"),
        ("/run/k1/v1/responses", {}, 404, "is not served; served are POST /v1/chat/completions"),
        ("/runs", {"kee": "k"}, 400, "unknown field 'kee'"),
        ("/runs", {"key": "a b"}, 400, "'a b' cannot be the key"),
        ("/runs", {"key": 7}, 400, "'int' cannot be the key"),
        ("/runs", {"labels": {"task": 7}}, 400, 'the label `task` is int; expected text: "7"'),
        ("/runs", {"labels": ["a"]}, 400, "`labels` is list"),
        ("/runs", {"labels": {"gateway_key": "x"}}, 400, "holds the run's key"),
        ("/runs", {"seed": "x"}, 400, "`seed` is 'x'"),
        ("/runs", {"seed": True}, 400, "`seed` is True"),
        ("/runs", {"seed": 2**63}, 400, "`seed` is 9223372036854775808"),
        ("/runs", {"model": []}, 400, "`model` is []"),
        (
            "/runs",
            b'{"input":' + b"[" * 300 + b"]" * 300 + b"}",
            400,
            "`input` cannot be recorded: the value is nested",
        ),
        ("/runs", {"reference": 2**63}, 400, "`reference` cannot be recorded: 9223372036854775808 lies outside"),
        ("/runs", b"[1]", 400, "the body is list"),
        ("/runs", b"nonsense", 400, "the body is no JSON"),
        ("/runs/open/reward", {}, 400, "there is no `value`"),
        ("/runs/open/reward", b'{"value": NaN}', 400, "the body is no JSON"),
        ("/runs/open/reward", b'{"value": 1e999}', 400, "the body is no JSON"),
        ("/runs/open/reward", {"value": 1.7e308}, 400, "`value` is 1.7e+308; expected at most 1e+100 either way"),
        ("/runs/open/reward", {"value": -1e101}, 400, "`value` is -1e+101; expected at most 1e+100 either way"),
        ("/runs/open/reward", {"value": "1"}, 400, "`value` is '1'; expected a number, or null"),
        ("/runs/open/reward", {"value": True}, 400, "`value` is True"),
        ("/runs/open/reward", {"value": 1, "name": ""}, 400, "`name` is ''"),
        ("/runs/open/reward", {"value": 1, "reason": 7}, 400, "`reason` is int"),
        ("/runs/open/reward", {"value": 1, "weight": 2}, 400, "unknown field 'weight'; expected name, value, reason"),
        ("/runs/nobody/reward", {"value": 1}, 404, "there is no run of key 'nobody'"),
        ("/runs/nobody/end", {}, 404, "there is no run of key 'nobody'"),
        ("/runs/01a22b15-ee5d-7604-b03b-6509bfca34ae/end", {}, 404, "there is no run of key"),
        ("/runs/open/end", {"status": "parked"}, 400, "expected one of ok, failed, cancelled, expired"),
        ("/runs/open/end", {"status": 1}, 400, "`status` is 1"),
        ("/runs/open/end", {"output": "x"}, 400, "`output` is str"),
        ("/runs/open/end", {"error": 1}, 400, "`error` is int"),
        ("/runs/open/end", b'{"output":{"a":' + b"[" * 300 + b"]" * 300 + b"}}", 400, "`output` cannot be recorded"),
        ("/runs/open/end", {"output": {"a": 2**63}}, 400, "`output` cannot be recorded: 9223372036854775808"),
        ("/runs/open/nonsense", {}, 404, "is not served"),
        ("/runs/open", {}, 405, "GET or HEAD is"),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_bad_request_says_what_was_expected(
    small: Standing, path: str, body: Any, status: int, says: str
) -> None:
    found, told, _ = await small.ask("POST", path, body)
    assert says in told["error"]["message"]
    assert found == status
    assert set(told["error"]) == {"message", "type", "param", "code"}
    assert (await small.ask("GET", "/runs/open"))[1]["status"] is None


@pytest.mark.parametrize(
    ("headers", "status", "says"),
    [
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "expected application/json"),
        ({"X-Stretto-Run": "other"}, 400, "the path names run 'k1' and x-stretto-run names 'other'"),
        ({"X-Stretto-Agent": "$reward"}, 400, "x-stretto-agent is '$reward'"),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_bad_header_says_what_was_expected(
    small: Standing, headers: dict[str, str], status: int, says: str
) -> None:
    found, told, _ = await small.ask("POST", CHAT, {"messages": HELLO}, headers=headers)
    assert (found, says in told["error"]["message"]) == (status, True), told


async def test_a_method_that_is_not_served_is_told(gateway: Standing) -> None:
    status, told, _ = await gateway.ask("GET", CHAT)
    assert (status, told["error"]["code"]) == (405, "method_not_allowed")


async def test_a_body_that_stops_half_way_is_given_up(gateway: Standing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.serve.gateway.asgi.BODY_LIMIT_S", 0.01)
    host, port = gateway.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    assert b" 408 " in await reader.readline()
    writer.close()
    await writer.wait_closed()
    assert (await gateway.ask("GET", "/readyz"))[1]["open_runs"] == 0
