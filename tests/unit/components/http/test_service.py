"""A service over real connections: what is kept alive, what waits, and every way in which one can break."""

import asyncio
import gzip
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from stretto.components.http.service import HttpService
from stretto.testing.request import request_for
from stretto.types.errors import Code, ComponentError, UsageError
from stretto.types.messages import Response
from stretto.types.waited import NeverBegun
from tests.unit.components.http.conftest import ServiceOf
from tests.unit.components.http.declaring import service
from tests.unit.components.http.standin import Asked, Reply, StandIn, reply

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
MIB = 1024 * 1024


def output(response: Response) -> dict[str, Any]:
    assert isinstance(response.output, dict)
    return response.output


async def failing(asking: HttpService, **data: Any) -> ComponentError:
    with pytest.raises(ComponentError) as caught:
        await asking(request_for(**data))
    return caught.value


@asynccontextmanager
async def raw_server(*written: bytes) -> AsyncIterator[str]:
    """The origin of a server that reads a request's head, writes these bytes and closes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for part in written:
            writer.write(part)
            await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


async def test_connections_are_kept_alive_and_no_cookie_is(server: StandIn, service_of: ServiceOf) -> None:
    server.reply({"a": 1}, headers={"Set-Cookie": "session=1"})
    asking = service_of("url: HERE/x")
    for _ in range(3):
        await asking(request_for())
    assert len({asked.peer for asked in server.asked}) == 1
    assert {asked.headers.get("Cookie") for asked in server.asked} == {None}


async def test_waiting_for_a_connection_is_told_apart(server: StandIn, service_of: ServiceOf) -> None:
    server.reply({"a": 1})
    server.gate.clear()
    asking = service_of("url: HERE/x\nmax_connections: 1")
    first = asyncio.create_task(asking(request_for()))
    await server.arrived.wait()
    second = asyncio.create_task(asking(request_for()))
    await asyncio.sleep(0.05)
    server.gate.set()
    assert (await first).queue_ms == 0
    assert (await second).queue_ms >= 40


async def test_a_call_given_up_in_the_queue_was_never_sent(server: StandIn, service_of: ServiceOf) -> None:
    server.reply({"a": 1})
    server.gate.clear()
    asking = service_of("url: HERE/x\nmax_connections: 1")
    first = asyncio.create_task(asking(request_for()))
    await server.arrived.wait()
    second = asyncio.create_task(asking(request_for()))
    await asyncio.sleep(0.01)
    second.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await second
    assert isinstance(caught.value.__cause__, NeverBegun)
    server.gate.set()
    await first
    assert len(server.asked) == 1


async def test_waiting_is_told_on_errors_too(server: StandIn, service_of: ServiceOf) -> None:
    server.reply({"detail": "no"}, status=404)
    server.gate.clear()
    asking = service_of("url: HERE/x\nmax_connections: 1")
    calls = [asyncio.create_task(failing(asking)) for _ in range(2)]
    await server.arrived.wait()
    await asyncio.sleep(0.05)
    server.gate.set()
    first, second = sorted([error.queue_ms for error in await asyncio.gather(*calls)])
    assert first == 0
    assert second >= 40


async def test_cancelling_closes_the_connection(server: StandIn, service_of: ServiceOf) -> None:
    server.gate.clear()
    task = asyncio.create_task(service_of("url: HERE/x")(request_for()))
    await server.arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(server.dropped.wait(), 5)


@pytest.mark.parametrize(
    "written",
    [
        pytest.param((), id="nothing"),
        pytest.param((HEAD,), id="half a head"),
        pytest.param((HEAD, b"Content-Length: 500\r\n\r\n", b'{"a": ['), id="half a body"),
        pytest.param((HEAD, b"Transfer-Encoding: chunked\r\n\r\n", b"5\r\n{"), id="half a chunk"),
    ],
)
async def test_a_write_whose_answer_is_lost_may_have_happened(written: tuple[bytes, ...]) -> None:
    async with raw_server(*written) as origin:
        asking = service(f"url: {origin}/pay\njson: {{ a: 1 }}")
        error = await failing(asking)
        await asking.close()
    assert (error.rpc_code, error.sent) == (Code.UNAVAILABLE, True)
    assert "was lost before its answer was whole" in str(error)
    assert "RawResponseMessage" not in str(error)
    assert "\n" not in str(error)


async def test_a_header_that_is_no_utf_8_is_read_as_latin_1() -> None:
    async with raw_server(HEAD, "X-A: Zo\u00eb\r\n".encode(), b"X-B: Zo\xeb\r\nContent-Length: 2\r\n\r\n{}") as origin:
        made = "{ a: \"response.headers['x-a']\", b: \"response.headers['x-b']\" }"
        asking = service(f"url: {origin}/x\nresponse: {{ map: {made} }}")
        assert output(await asking(request_for())) == {"a": "Zoë", "b": "Zoë"}
        await asking.close()


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
async def test_an_attempt_is_one_request_whatever_the_method(method: str) -> None:
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        if len(heads) == 1:  # kept alive, and then cut in the midst of the next
            writer.write(HEAD + b"Content-Length: 2\r\n\r\n{}")
            heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        asking = service(f"url: http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/x\nmethod: {method}")
        await asking(request_for())
        error = await failing(asking)
        await asking.close()
    assert len(heads) == 2
    assert (error.rpc_code, error.sent) == (Code.UNAVAILABLE, True)


async def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    async with raw_server(HEAD + b"Content-Length: 2\r\n\r\n{}") as origin:
        asking = service(f"url: {origin}/pay\nmethod: POST")
        for _ in range(3):
            await asking(request_for())
            await asyncio.sleep(0.01)
        await asking.close()


async def test_what_speaks_no_http_is_told() -> None:
    async with raw_server(b"SSH-2.0-OpenSSH_9.6\r\n") as origin:
        asking = service(f"url: {origin}/x")
        error = await failing(asking)
        await asking.close()
    assert error.rpc_code is Code.INTERNAL
    assert "answered what is no HTTP" in str(error)


async def test_a_response_whose_lines_never_end_is_given_up() -> None:
    async with raw_server(b"HTTP/1.1 200 OK\r\nX-Long: ", b"a" * 200_000, b"\r\n\r\n") as origin:
        asking = service(f"url: {origin}/x")
        error = await failing(asking)
        await asking.close()
    assert error.rpc_code is Code.INTERNAL


async def test_where_nobody_listens_nothing_was_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    asking = service(f"url: http://127.0.0.1:{port}/pay\njson: {{ a: 1 }}")
    error = await failing(asking)
    await asking.close()
    assert (error.rpc_code, error.sent, error.retryable) == (Code.UNAVAILABLE, False, True)
    assert f"the service of component 'it' at http://127.0.0.1:{port} cannot be reached" in str(error)


async def test_a_server_without_tls_was_sent_nothing(server: StandIn, service_of: ServiceOf) -> None:
    error = await failing(service_of(f"url: {server.origin.replace('http:', 'https:')}/x\nmethod: POST"))
    assert (error.sent, error.retryable) == (False, False)
    assert server.asked == []


async def test_a_body_that_grows_when_unpacked_is_given_up(server: StandIn, service_of: ServiceOf) -> None:
    bomb = gzip.compress(b" " * 64 * MIB)
    assert len(bomb) < MIB
    server.reply(bomb, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})
    error = await failing(service_of("url: HERE/x\nmax_response_bytes: 1048576"))
    assert error.rpc_code is Code.DATA_LOSS
    assert "more than 1,048,576 bytes" in str(error)


async def test_what_is_packed_and_is_none_is_told(server: StandIn, service_of: ServiceOf) -> None:
    server.reply(b"not packed", headers={"Content-Encoding": "gzip"})
    error = await failing(service_of("url: HERE/x"))
    assert error.sent
    assert error.rpc_code in (Code.UNAVAILABLE, Code.INTERNAL)


async def test_no_proxy_of_the_environment_is_used(
    server: StandIn, service_of: ServiceOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.reply({"a": 1})
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert output(await service_of("url: HERE/x")(request_for()))["status"] == 200


async def test_a_proxy_that_is_declared_is_gone_through(server: StandIn, service_of: ServiceOf) -> None:
    server.reply({"a": 1})
    asking = service_of("url: http://nowhere.example/x/{id}\nproxy: HERE")
    assert output(await asking(request_for(id="a/b"))) == {"status": 200, "body": {"a": 1}}
    assert server.asked[0].target == "http://nowhere.example/x/a%2Fb"
    assert server.asked[0].headers["Host"] == "nowhere.example"


async def test_a_proxy_that_refuses_passed_nothing_on() -> None:
    async with raw_server(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n") as proxy:
        asking = service(f"url: https://nowhere.example/x\nproxy: {proxy}\nmethod: POST")
        error = await failing(asking)
        await asking.close()
    assert (error.sent, error.rpc_code) == (False, Code.UNAVAILABLE)
    assert "https://nowhere.example cannot be reached: its proxy answered 407 Proxy Auth" in str(error)


async def test_a_proxy_that_is_not_there_is_told_by_its_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    asking = service(f"url: http://nowhere.example/x\nproxy: http://127.0.0.1:{port}")
    error = await failing(asking)
    await asking.close()
    assert not error.sent
    assert f"cannot be reached: its proxy at 127.0.0.1:{port}: " in str(error)


async def test_one_call_fetches_the_token_for_all_that_wait(
    server: StandIn, service_of: ServiceOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_TEST_SECRET", "s1")

    def answer(asked: Asked) -> Reply:
        if asked.target == "/token":
            return reply({"access_token": f"tok-{len(server.asked)}", "expires_in": 3600})
        return reply({"authorization": asked.headers["Authorization"]})

    server.answer = answer
    asking = service_of(
        """
        url: HERE/x
        auth: { oauth2: { token_url: HERE/token, client_id: me, client_secret: { env: HTTP_TEST_SECRET } } }
        response: { map: { length: "size(response.body.authorization)" } }
        """
    )
    responses = await asyncio.gather(*(asking(request_for()) for _ in range(10)))
    await asking(request_for())
    assert [asked.target for asked in server.asked].count("/token") == 1
    assert {asked.headers["Authorization"] for asked in server.asked[1:]} == {"Bearer tok-1"}
    assert len(responses) == 10


async def test_a_token_that_is_about_to_end_is_fetched_anew(
    server: StandIn, service_of: ServiceOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_TEST_SECRET", "s1")
    for token, lasts in (("tok-1", 0), ("tok-2", 3600)):
        server.reply({"access_token": token, "expires_in": lasts})
        server.reply({"a": 1})
    asking = service_of(
        "url: HERE/x\n"
        "auth: { oauth2: { token_url: HERE/token, client_id: me, client_secret: { env: HTTP_TEST_SECRET } } }"
    )
    for _ in range(3):
        await asking(request_for())
    assert [asked.target for asked in server.asked] == ["/token", "/x", "/token", "/x", "/x"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"token": "x"}, "without an `access_token`"),
        ({"access_token": "a\nb"}, "without an `access_token`"),
        (b"<html>", "without an `access_token`"),
        (b"[1]", "without an `access_token`"),
    ],
)
async def test_a_token_server_that_gives_no_token_is_told(
    server: StandIn, service_of: ServiceOf, monkeypatch: pytest.MonkeyPatch, answer: object, words: str
) -> None:
    monkeypatch.setenv("HTTP_TEST_SECRET", "s1")
    server.reply(answer)
    error = await failing(
        service_of(
            "url: HERE/pay\nmethod: POST\n"
            "auth: { oauth2: { token_url: HERE/token, client_id: me, client_secret: { env: HTTP_TEST_SECRET } } }"
        )
    )
    assert words in str(error)
    assert not error.sent


async def test_a_secret_that_no_header_can_hold_is_told(
    server: StandIn, service_of: ServiceOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_TEST_TOKEN", "a\nb")
    error = await failing(service_of("url: HERE/x\nauth: { bearer: { env: HTTP_TEST_TOKEN } }"))
    assert (error.rpc_code, error.sent) == (Code.UNAUTHENTICATED, False)
    assert "a\nb" not in str(error)
    assert server.asked == []


async def test_a_run_is_traced_to_the_service(server: StandIn, service_of: ServiceOf) -> None:
    server.reply({"a": 1})
    await service_of("url: HERE/x")(request_for(_traceparent="00-1-2-01", _tracestate="v=1"))
    headers = server.asked[0].headers
    assert (headers["traceparent"], headers["tracestate"]) == ("00-1-2-01", "v=1")


async def test_the_effect_key_stands_in_ascii(server: StandIn, service_of: ServiceOf) -> None:
    server.reply({"a": 1})
    asking = service_of("url: HERE/x\nmethod: POST\nidempotent: true")
    await asking(request_for(_path='pay["é"]/x'))
    assert server.asked[0].headers["Idempotency-Key"] == "run-1/pay[%22%C3%A9%22]/x"


async def test_it_is_closed_with_its_last_user_and_connects_again(server: StandIn, service_of: ServiceOf) -> None:
    server.reply({"a": 1})
    asking = service_of("url: HERE/x")
    await asking.open()
    await asking.open()
    await asking(request_for())
    await asking.close()
    await asking(request_for())
    await asking.close()
    await asking(request_for())
    peers = [asked.peer for asked in server.asked]
    assert peers[0] == peers[1] != peers[2]


def test_an_event_loop_that_lives_keeps_it_until_it_closes_it() -> None:
    asking = service("url: http://127.0.0.1:1/x")
    with asyncio.Runner() as resting:
        resting.run(asking.open())
        with pytest.raises(UsageError, match="component 'it' is open in another event loop"):
            asyncio.run(asking(request_for()))
        resting.run(asking.close())


async def test_many_calls_at_once_are_told_apart(server: StandIn, service_of: ServiceOf) -> None:
    server.answer = lambda asked: reply({"you": asked.target})
    asking = service_of("url: HERE/{n}")
    responses = await asyncio.gather(*(asking(request_for(n=n)) for n in range(50)))
    assert [output(response)["body"]["you"] for response in responses] == [f"/{n}" for n in range(50)]


def test_its_digest_covers_what_it_asks_and_not_its_limits() -> None:
    def digest(declaration: str) -> str:
        return service(declaration).card.digest

    same = digest("url: http://h/{id}\njson: { a: input.b }")
    assert digest("url: http://h/{id}\njson: { a: input.b }\nmax_connections: 3\nproxy: http://p:1") == same
    limits = "max_connections: 3\nauth: { bearer: { env: A } }\nunencrypted: true"
    assert digest(f"url: http://h/{{id}}\njson: {{ a: input.b }}\n{limits}") == same
    written = "url: http://h/{id}\njson: { a: input.b }\nidempotent: true"
    assert digest(f"{written}\nidempotency_header: Idempotency-Key") == digest(written) != same
    others = [
        "url: http://h2/{id}\njson: { a: input.b }",
        "url: http://h/{id}\njson: { a: input.c }",
        "url: http://h/{id}\njson: { a: input.b }\nmethod: PUT",
        "url: http://h/{id}\njson: { a: input.b }\nerrors: [{ status: 400, code: aborted }]",
        "url: http://h/{id}\njson: { a: input.b }\nresponse: { map: { a: response.body } }",
    ]
    assert len({same, *(digest(other) for other in others)}) == len(others) + 1


@pytest.mark.parametrize("module", ["aiohttp", "lxml"])
def test_declaring_a_service_imports_nothing_heavy(module: str) -> None:
    program = (
        "import sys; from tests.unit.components.http.declaring import service; "
        "service('url: http://h/{id}\\nquery: { a: input.b }'); "
        f"sys.exit({module!r} in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


async def test_words_without_end_are_told_shortly(server: StandIn, service_of: ServiceOf) -> None:
    server.reply(b'{"error":' * 900 + b"1" + b"}" * 900, status=500)
    error = await failing(service_of("url: HERE/x"))
    assert error.rpc_code is Code.INTERNAL
    assert len(str(error)) < 700


async def test_how_many_pages_there_were_is_kept(server: StandIn, service_of: ServiceOf) -> None:
    server.reply([1])
    server.reply([])
    asking = service_of(
        "url: HERE/x\npaging: { items: response.body, next: 'size(response.body) == 0 ? null : page + 1', query: page }"
    )
    response = await asking(request_for())
    assert response.evidence == {"status": 200, "pages": 2}


async def test_a_secret_in_an_answer_is_not_in_the_output(
    server: StandIn, service_of: ServiceOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_TEST_KEY", 'qu"oted-secret')
    server.answer = lambda asked: reply({"echo": asked.headers["X-Key"], "query": asked.target})
    asking = service_of("url: HERE/x\nheaders: { X-Key: { env: HTTP_TEST_KEY } }")
    found = orjson.dumps(output(await asking(request_for())))
    assert b"oted-secret" not in found
    assert b"***" in found
