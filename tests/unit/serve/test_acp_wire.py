"""Clients that are slow, break off, say too much or too little, or may not ask at all."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from stretto.acp.server import Limits
from stretto.acp.server.tokens import Tokens, read_tokens
from stretto.serve import acp_guard
from stretto.serve.acp_tls import read_tls
from stretto.types.errors import UsageError
from tests.unit.serve.acp_living import add, envelope, made, post, served, waiting
from tests.unit.serve.certificates import Authority

BODY = json.dumps({"envelope": envelope(), "input": {"a": 1, "b": 2}}).encode()

HEAD = b"POST /acp/v1/execute HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"

TOKEN = "a-token-of-some-length"


@asynccontextmanager
async def raw(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection whose bytes a test writes itself."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield reader, writer
    finally:
        writer.close()


async def reply(reader: asyncio.StreamReader) -> tuple[int, Any]:
    """Status and JSON of all that comes until the connection ends; 0 where nothing does."""
    text = await reader.read()
    head, _, body = text.partition(b"\r\n\r\n")
    return (int(head.split()[1]), json.loads(body)) if head else (0, None)


async def test_a_head_that_does_not_come_in_time_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acp_guard, "HEAD_LIMIT_S", 0.05)
    async with served(made(add)) as (_, url):
        for sent in (b"", HEAD, b"POST /acp"):
            async with raw(url) as (reader, writer):
                writer.write(sent)
                assert await reply(reader) == (0, None)


@pytest.mark.parametrize("end", [b"", b"\r\ncontent-length: %d\r\n\r\n" % len(BODY) + BODY], ids=["never", "at once"])
async def test_a_head_that_is_too_large_is_refused(end: bytes) -> None:
    async with served(made(add)) as (desk, url), raw(url) as (reader, writer):
        writer.write(HEAD + b"x-filler: " + b"x" * (acp_guard.MAX_HEAD_BYTES + 1) + end)
        status, problem = await reply(reader)
        assert (status, problem["reason"]) == (400, "MALFORMED")
        assert "larger than 65,536 bytes" in problem["detail"]
        assert desk.in_progress == 0


async def test_a_body_that_does_not_come_in_time_is_refused_and_ends_the_connection() -> None:
    async with served(made(add), Limits(body_s=0.05)) as (desk, url), raw(url) as (reader, writer):
        writer.write(HEAD + b"content-length: 500\r\n\r\n" + BODY[:20])
        status, problem = await reply(reader)
        assert (status, problem["code"], problem["reason"]) == (504, "deadline_exceeded", "DEADLINE_PASSED")
        assert problem["metadata"] == {"sent": "no"}
        assert desk.in_progress == 0


async def test_a_body_in_pieces_is_put_together_however_slowly_it_comes() -> None:
    async with served(made(add), Limits(body_s=5.0)) as (_, url), raw(url) as (reader, writer):
        writer.write(HEAD + b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(BODY) + BODY[:20])
        await asyncio.sleep(0.05)  # longer than the watch takes to look
        writer.write(BODY[20:])
        status, answer = await reply(reader)
        assert (status, answer["output"]) == (200, {"sum": 3})


async def test_a_body_in_chunks_is_refused_where_it_becomes_too_large() -> None:
    async with served(made(add), Limits(max_request_bytes=1000)) as (_, url), raw(url) as (reader, writer):
        writer.write(HEAD + b"transfer-encoding: chunked\r\n\r\n" + b"258\r\n" + b" " * 600 + b"\r\n")
        writer.write(b"258\r\n" + b" " * 600 + b"\r\n")
        status, problem = await reply(reader)
        assert (status, problem["reason"], problem["metadata"]) == (400, "TOO_LARGE", {"max_request_bytes": "1000"})


async def test_a_connection_carries_one_call_after_another_also_after_a_refusal() -> None:
    async with served(made(add), tokens=Tokens((TOKEN,))) as (_, url), raw(url) as (reader, writer):
        for token, status in ((b"wrong", b"401"), (TOKEN.encode(), b"200"), (TOKEN.encode(), b"200")):
            length = b"content-length: %d\r\n" % len(BODY)
            writer.write(HEAD + b"authorization: Bearer " + token + b"\r\n" + length + b"\r\n" + BODY)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.split()[1] == status
            size = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(int(size.split()[1]))


@pytest.mark.parametrize("sent", [b"HELLO\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n"], ids=repr)
async def test_what_is_no_http_is_a_problem(sent: bytes) -> None:
    async with served(made(add)) as (_, url), raw(url) as (reader, writer):
        writer.write(sent)
        status, problem = await reply(reader)
        assert (status, problem["reason"]) == (400, "MALFORMED")


@pytest.mark.parametrize("sent", [HEAD[:40], HEAD + b"content-length: 500\r\n\r\n" + BODY[:20]], ids=["head", "body"])
async def test_a_connection_closed_half_way_through_a_request_is_refused(sent: bytes) -> None:
    async with served(made(add)) as (desk, url), raw(url) as (reader, writer):
        writer.write(sent)
        writer.write_eof()
        status, problem = await reply(reader)
        assert (status, problem["reason"]) == (400, "MALFORMED")
        assert "before the request was whole" in problem["detail"]
        assert desk.in_progress == 0


@pytest.mark.parametrize("how", ["close", "write_eof"])
async def test_a_client_that_hangs_up_cancels_its_call(how: str) -> None:
    waits, begun, ended = waiting()
    async with served(made(waits)) as (desk, url), raw(url) as (_, writer):
        body = json.dumps({"envelope": envelope(), "input": {}}).encode()
        writer.write(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)
        await begun.wait()
        getattr(writer, how)()
        await asyncio.wait_for(ended.wait(), 5)
        assert desk.in_progress == 0


async def test_a_client_that_hangs_up_with_a_second_request_sent_cancels_the_first() -> None:
    waits, begun, ended = waiting()
    async with served(made(waits)) as (_, url), raw(url) as (_, writer):
        body = json.dumps({"envelope": envelope(), "input": {}}).encode()
        writer.write((HEAD + b"content-length: %d\r\n\r\n" % len(body) + body) * 2)
        await begun.wait()
        writer.close()
        await asyncio.wait_for(ended.wait(), 5)


@pytest.mark.parametrize("second", [b"HELLO\r\n\r\n", HEAD[:40], HEAD + b"content-length: 9\r\n\r\n{"])
async def test_a_refusal_is_not_taken_for_the_reply_to_the_request_before(second: bytes) -> None:
    waits, begun, ended = waiting()
    async with served(made(waits), Limits(body_s=0.5)) as (_, url), raw(url) as (reader, writer):
        body = json.dumps({"envelope": envelope(), "input": {}}).encode()
        writer.write(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)
        await begun.wait()
        writer.write(second)
        writer.write_eof()
        assert await reply(reader) == (0, None)
        await asyncio.wait_for(ended.wait(), 5)


async def test_the_http_client_of_a_jdk_is_answered() -> None:
    """It offers HTTP/2 with whatever it sends over plain HTTP."""
    offer = b"connection: Upgrade, HTTP2-Settings\r\nhttp2-settings: AAEAAEAA\r\nupgrade: h2c\r\n"
    async with served(made(add)) as (_, url), raw(url) as (reader, writer):
        for _ in range(2):
            writer.write(HEAD + offer + b"content-length: %d\r\n\r\n" % len(BODY) + BODY)
            assert b'"output":{"sum":3}}' in await reader.readuntil(b'"output":{"sum":3}}')


@pytest.mark.parametrize(
    ("headers", "says"),
    [
        ({"content-type": "text/plain"}, "Content-Type is 'text/plain'"),
        ({"content-type": "application/x-www-form-urlencoded"}, "Content-Type is"),
        ({"content-type": "application/json; charset=latin-1"}, "Content-Type is"),
        ({"content-type": "application/json", "content-encoding": "gzip"}, "Content-Encoding is 'gzip'"),
    ],
    ids=str,
)
async def test_a_body_of_another_type_is_refused(headers: dict[str, str], says: str) -> None:
    async with served(made(add)) as (_, url):
        status, _, problem = await post(f"{url}/acp/v1/execute", BODY, headers=headers)
    assert (status, problem["code"], problem["reason"]) == (400, "invalid_argument", "MEDIA_TYPE")
    assert says in problem["detail"]


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json;charset=UTF-8", 'Application/JSON; charset="utf-8"; profile=x']
)
async def test_json_in_utf_8_is_taken_however_it_is_said(kind: str) -> None:
    async with served(made(add)) as (_, url):
        assert (await post(f"{url}/acp/v1/execute", BODY, headers={"content-type": kind}))[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", "/acp/v1/execute", 400, "POST"),
        ("PUT", "/acp/v1/describe", 400, "POST"),
        ("POST", "/readyz", 400, "GET, HEAD"),
        ("POST", "/acp/v2/execute", 404, None),
        ("GET", "/", 404, None),
    ],
)
async def test_what_is_not_served_is_told(method: str, path: str, status: int, allow: str | None) -> None:
    async with (
        served(made(add)) as (_, url),
        aiohttp.ClientSession() as session,
        session.request(method, f"{url}{path}") as response,
    ):
        problem = await response.json(content_type="application/problem+json")
        assert (response.status, response.headers.get("allow")) == (status, allow)
        assert "served" in problem["detail"]


async def test_a_server_says_how_it_is_and_what_it_did() -> None:
    async with served(made(add)) as (desk, url), aiohttp.ClientSession() as session:
        await post(f"{url}/acp/v1/execute", BODY)
        await post(f"{url}/acp/v1/execute", b"{")
        for path, text in (("/livez", "ok\n"), ("/readyz", "ready\n")):
            async with session.get(f"{url}{path}") as response:
                assert (response.status, await response.text()) == (200, text)
            async with session.head(f"{url}{path}") as response:
                assert (response.status, await response.text()) == (200, "")
        async with session.get(f"{url}/metrics") as response:
            figures = await response.text()
        await desk.drain(1.0)
        async with session.get(f"{url}/readyz") as response:
            assert (response.status, await response.text()) == (503, "draining\n")
        async with session.get(f"{url}/livez") as response:
            assert response.status == 200
        refused = await post(f"{url}/acp/v1/execute", BODY)
        assert (refused[0], refused[1]["Retry-After"], refused[2]["reason"]) == (503, "1", "DRAINING")
    assert 'stretto_acp_calls_total{code="ok",verb="execute"} 1.0' in figures
    assert 'stretto_acp_calls_total{code="invalid_argument",verb="execute"} 1.0' in figures
    assert 'stretto_acp_call_seconds_count{verb="execute"} 2.0' in figures
    assert 'stretto_acp_component_info{component="add"' in figures


async def test_only_who_has_a_token_may_ask() -> None:
    async with served(made(add), tokens=Tokens((TOKEN, "another-token-of-length"))) as (_, url):
        for given in (None, "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer "):
            headers = {"content-type": "application/json"} | ({} if given is None else {"authorization": given})
            status, found, problem = await post(f"{url}/acp/v1/execute", BODY, headers=headers)
            assert (status, problem["code"], problem["reason"]) == (401, "unauthenticated", "UNAUTHENTICATED")
            assert found["WWW-Authenticate"] == "Bearer"
            assert TOKEN not in str(problem)
        for given in (f"Bearer {TOKEN}", f"bearer {TOKEN}", "Bearer another-token-of-length"):
            headers = {"content-type": "application/json", "authorization": given}
            assert (await post(f"{url}/acp/v1/execute", BODY, headers=headers))[0] == 200
        async with aiohttp.ClientSession() as session:
            for path, status in (("/livez", 200), ("/readyz", 200), ("/metrics", 401), ("/acp/v1/describe", 401)):
                async with session.get(f"{url}{path}") as response:
                    assert response.status == status


def test_tokens_come_from_the_environment_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# callers\n\n{TOKEN}\n", encoding="utf-8")
    monkeypatch.setenv("ACP_TOKENS", "one-token-of-sixteen  two-token-of-sixteen")
    tokens = read_tokens("ACP_TOKENS", file)
    assert tokens is not None
    assert all(tokens.accepts(f"Bearer {each}".encode()) for each in (TOKEN, "one-token-of-sixteen"))
    assert not tokens.accepts(b"Bearer # callers")
    assert read_tokens(None, None) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "holds no token"),
        ("# only this\n", "holds no token"),
        ("short\n", "16 or more"),
        ("grüße-grüße-grüße", "16"),
    ],
)
def test_a_file_of_tokens_that_is_none_is_refused(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "tokens"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=says) as raised:
        read_tokens(None, file)
    assert "short" not in str(raised.value)


@pytest.mark.parametrize("variable", ["ACP_NO_SUCH_VARIABLE"])
def test_a_variable_without_tokens_is_refused(variable: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no token"):
        read_tokens(variable, None)
    with pytest.raises(UsageError, match="cannot be read"):
        read_tokens(None, tmp_path / "nowhere")


async def test_tls_and_a_certificate_of_the_caller(tmp_path: Path) -> None:
    ours, others = Authority(tmp_path), Authority(tmp_path, "others")
    cert, key = ours.signed("server")
    async with served(made(add), tls=read_tls(cert, key, ours.file)) as (_, url):
        assert url.startswith("https://127.0.0.1:")
        for authority, is_let_in in ((ours, True), (others, False)):
            context = ssl.create_default_context(cafile=ours.file)
            context.load_cert_chain(*authority.signed("client"))
            if is_let_in:
                assert (await post(f"{url}/acp/v1/execute", BODY, ssl=context))[0] == 200
            else:
                with pytest.raises(aiohttp.ClientError):
                    await post(f"{url}/acp/v1/execute", BODY, ssl=context)


def test_files_that_make_no_certificate_are_refused(tmp_path: Path) -> None:
    cert, _ = Authority(tmp_path).signed("server")
    with pytest.raises(UsageError, match="cannot be used"):
        read_tls(cert, cert, None)
    with pytest.raises(UsageError, match="cannot be used"):
        read_tls(tmp_path / "nowhere", cert, None)
