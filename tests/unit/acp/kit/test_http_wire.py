"""Whatever a server says to a case, the kit reads it, or says what it is."""

import gzip

import pytest

from stretto.acp.kit.case import Exchange, Http
from stretto.acp.kit.http_wire import HttpWire
from stretto.acp.kit.seen import Seen
from stretto.acp.messages import CallResponse
from stretto.acp.names import Verb
from tests.unit.components.acp.raw_server import OK, RawServer, reply

PROBLEM = reply(
    "400 Bad Request",
    b'{"type":"urn:acp:invalid_argument","code":"invalid_argument","status":400,"detail":"cut"}',
    "application/problem+json",
)
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"
)


async def seen(answer: bytes, http: Http | None) -> Seen:
    with RawServer(answer, closes=True) as server:
        wire = HttpWire(f"http://127.0.0.1:{server.port}", {})
        try:
            return await wire.send(Verb.EXECUTE, {}, Exchange(http=http))
        finally:
            await wire.close()


@pytest.mark.parametrize("http", [None, Http(cut=True)])
@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"SSH-2.0-x\r\n\r\n", "no HTTP"),
        (b"HTTP/1.1 xyz\r\n\r\n", ""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", ""),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, ""),
        (reply("200 OK", b'{"output":' + b"[" * 100_000), "nested too deeply"),
        (reply("500 X", b"[" * 100_000), "no problem document"),
        (reply("200 OK", b"<p>"), "the body is no ExecuteResponse"),
        (reply("400 Bad Request", b"<p>"), "no problem document"),
    ],
)
async def test_what_is_no_answer_is_a_complaint(answer: bytes, complaint: str, http: Http | None) -> None:
    found = await seen(answer, http)
    assert found.complaints
    if complaint and (http is not None or not answer.startswith(b"SSH")):
        assert complaint in " ".join(found.complaints)


async def test_a_body_that_grows_without_end_is_not_read_to_its_end() -> None:
    bomb = reply("200 OK", gzip.compress(b" " * 50_000_000), Content_Encoding="gzip")
    assert (await seen(bomb, None)).complaints == ("it answered more than 16,777,216 bytes",)


@pytest.mark.parametrize("http", [None, Http(cut=True)])
@pytest.mark.parametrize(
    "answer",
    [
        reply("200 OK", OK),
        CHUNKED % (len(OK), OK),
        b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + OK,
        b"HTTP/1.1 100 Continue\r\n\r\n" + reply("200 OK", OK),
    ],
)
async def test_an_answer_in_any_form_is_read(answer: bytes, http: Http | None) -> None:
    found = await seen(answer, http)
    assert found.complaints == ()
    assert isinstance(found.response, CallResponse)


async def test_a_refusal_of_what_was_cut_is_read() -> None:
    found = await seen(PROBLEM, Http(cut=True))
    assert found.complaints == ()
    assert found.failure is not None
    assert found.failure.message == "cut"
