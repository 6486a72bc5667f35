"""One request and its reply over connections that are kept alive."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from stretto.components.web.failures import Peer
from stretto.components.web.pool import Pool
from stretto.types.errors import Code

PEER = Peer(who="the server", limit_remedy="ask for less", limit_code=Code.DATA_LOSS)

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Served:
    """A server that answers every request with the same bytes."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self.heads: list[bytes] = []
        self.connections = 0
        self.left = asyncio.Semaphore(0)
        """Has one for each connection that the client dropped."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(self._answer)
        except asyncio.IncompleteReadError:
            self.left.release()
        finally:
            writer.close()


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    made = Pool(max_connections=2, max_response_bytes=1000)
    yield made
    await made.close()


async def asked(pool: Pool, served: Served, headers: dict[str, str], times: int = 1, dropped: int = 0) -> list[int]:
    """The status of each reply, once so many connections were dropped."""
    async with await asyncio.start_server(served.serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        told = [(await pool.send(PEER, "POST", url, headers, None)).status for _ in range(times)]
        for _ in range(dropped):
            await asyncio.wait_for(served.left.acquire(), 10)
        await pool.close()
        return told


async def test_a_connection_is_used_again(pool: Pool) -> None:
    served = Served(OK)
    assert await asked(pool, served, {}, times=3) == [200, 200, 200]
    assert served.connections == 1


async def test_a_connection_that_left_http_is_dropped(pool: Pool) -> None:
    served = Served(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
    assert await asked(pool, served, {}, times=2, dropped=2) == [101, 101]
    assert served.connections == 2


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "text/csv"}, {"content-type": "text/csv"}])
async def test_no_type_is_made_up_for_a_body_that_there_is_not(pool: Pool, headers: dict[str, str]) -> None:
    served = Served(OK)
    await asked(pool, served, headers)
    lines = [line.lower() for line in served.heads[0].split(b"\r\n") if line.lower().startswith(b"content-type")]
    assert lines == [b"content-type: text/csv"] * len(headers)
