"""A client that does not take its replies costs no more than one of them."""

import asyncio
from typing import Any

from stretto.serve.acp_guard import CLIENT, TAKE_LIMIT_S, GuardedProtocol
from stretto.testing import run_virtual
from tests.unit.serve.transport import Transport, connected

REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


async def reply(scope: Any, _receive: object, _send: object) -> None:
    """An application that answers at once."""
    scope[CLIENT].reply(200, (), b"large")


async def settled(connection: GuardedProtocol) -> None:
    while connection.tasks:
        await asyncio.gather(*connection.tasks)


def replies(transport: Transport) -> int:
    return transport.written.count(b"large")


def test_the_next_request_is_begun_when_the_reply_before_was_taken() -> None:
    async def main() -> None:
        connection, transport = connected(GuardedProtocol, reply)
        transport.is_taken = False
        connection.data_received(REQUEST * 100)
        await settled(connection)
        assert (replies(transport), transport.reads) == (1, False)
        connection.resume_writing()
        await settled(connection)
        assert replies(transport) == 2
        transport.is_taken = True
        connection.resume_writing()
        await settled(connection)
        assert (replies(transport), transport.reads, transport.ended) == (100, True, "")
        connection.connection_lost(None)

    run_virtual(main())


def test_a_connection_of_which_nothing_is_taken_is_ended() -> None:
    async def main() -> None:
        connection, transport = connected(GuardedProtocol, reply)
        transport.is_taken = False
        connection.data_received(REQUEST)
        await settled(connection)
        await asyncio.sleep(TAKE_LIMIT_S / 2)
        assert transport.ended == ""
        await asyncio.sleep(TAKE_LIMIT_S)
        assert transport.ended == "aborted"
        connection.connection_lost(None)

    run_virtual(main())


def test_a_client_that_takes_its_reply_slowly_is_waited_for() -> None:
    async def main() -> None:
        connection, transport = connected(GuardedProtocol, reply)
        transport.is_taken = False
        connection.data_received(REQUEST)
        await settled(connection)
        for _ in range(5):
            transport.written = transport.written[:-1]
            await asyncio.sleep(TAKE_LIMIT_S)
        assert transport.ended == ""
        connection.resume_writing()
        await asyncio.sleep(TAKE_LIMIT_S * 2)
        assert transport.ended == "closed"  # as any that is kept alive in vain
        connection.connection_lost(None)

    run_virtual(main())
