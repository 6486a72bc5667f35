"""A request that offers to go on in another protocol is answered as if it had not, however its bytes come."""

import asyncio

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from stretto.serve.unswitched import Unswitched
from tests.unit.serve.transport import Transport, connected

OFFERS = (
    b"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAEAAEAA\r\nUpgrade: h2c\r\n",  # the JDK's
    b"upgrade: h2c\r\nconnection: keep-alive, upgrade\r\n",
    b"Connection: Upgrade\r\nUPGRADE: websocket\r\n",
)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with what it was sent."""
    body = await Request(scope, receive).body()
    await Response(body, media_type="application/json")(scope, receive, send)


async def answered(connection: Unswitched, transport: Transport, *parts: bytes) -> bytes:
    """What is written for bytes that come in these parts."""
    before = len(transport.written)
    for part in parts:
        connection.data_received(part)
    while connection.tasks:
        await asyncio.gather(*connection.tasks)
    return transport.written[before:]


def request_with(offer: bytes, body: bytes) -> bytes:
    return b"POST /x HTTP/1.1\r\nHost: a\r\n" + offer + b"Content-Length: %d\r\n\r\n" % len(body) + body


@pytest.mark.parametrize("offer", OFFERS)
async def test_an_offer_does_not_cost_the_body(offer: bytes) -> None:
    body = b'{"a": "Upgrade:"}'
    connection, transport = connected(Unswitched, echo)
    for _ in range(2):  # the connection goes on
        reply = await answered(connection, transport, request_with(offer, body))
        assert reply.startswith(b"HTTP/1.1 200")
        assert reply.endswith(body)


@pytest.mark.parametrize("offer", OFFERS)
async def test_an_offer_may_come_in_any_two_pieces(offer: bytes) -> None:
    body = b"{}\nup"
    whole = request_with(offer, body)
    connection, transport = connected(Unswitched, echo)
    for at in range(1, len(whole)):
        reply = await answered(connection, transport, whole[:at], whole[at:])
        assert reply.endswith(body), whole[:at]


async def test_an_offer_may_come_byte_by_byte() -> None:
    connection, transport = connected(Unswitched, echo)
    whole = request_with(OFFERS[0], b"[1]")
    assert (await answered(connection, transport, *(bytes([each]) for each in whole))).endswith(b"[1]")


async def test_what_only_looks_like_an_offer_is_left_as_it_is() -> None:
    connection, transport = connected(Unswitched, echo)
    body = b"{\nupgrade: 1}\r\n\r\nupgrade:\nUPGRADE:"
    whole = request_with(b"X-Upgrade: h2c\r\nUpgrades: 1\r\n", body)
    assert (await answered(connection, transport, whole)).endswith(body)
    head, body_of = whole[: -len(body)], whole[-len(body) :]
    assert (await answered(connection, transport, head, body_of)).endswith(body)
