"""Connections to servers, shared by all calls of one component in one event loop: one request each time, no retries."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from io import BytesIO
from ssl import SSLContext
from typing import Final

import aiohttp
from yarl import URL

from stretto.components.waiting import Wait
from stretto.components.web.failures import Peer, lost, no_http, one_line, too_large, unreachable, untrusted
from stretto.components.web.reply import Reply
from stretto.components.web.waiting import connections
from stretto.types.errors import ComponentError
from stretto.types.os_error import reason_of

_LONG_BYTES: Final = 1 << 20
"""Beyond which aiohttp sends a body piece by piece only when it is a file."""

CONNECT_TIMEOUT_S: Final = 30.0
"""For a connection. Answers have no time-out of their own: the deadline of the step bounds them."""

_UNTOLD: Final = ("Content-Type",)
"""What aiohttp makes up where it is not given, even for a body that there is not."""


class Pool:
    """An HTTP client whose connections are kept alive between calls."""

    def __init__(
        self, *, max_connections: int, max_response_bytes: int, ssl: SSLContext | None = None, proxy: str = ""
    ) -> None:
        self.max_response_bytes = max_response_bytes
        self._free = asyncio.Semaphore(max_connections)
        self._awaited = connections(max_connections, "Raise `max_connections`")
        self.loop = asyncio.get_running_loop()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=ssl or True),  # they are counted here: told of by aiohttp's
            # tracing, waits cost each request 13 µs
            cookie_jar=aiohttp.DummyCookieJar(),  # what one run is given must not go out with another
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
            proxy=proxy or None,
            trust_env=False,  # a proxy that only the environment names would see what is meant for the server
        )

        # aiohttp sends GET, PUT and DELETE again by itself when a connection breaks, and has no option against it: an
        # attempt would be two requests, of which the engine that counts, waits and tells of doubts knows one
        self._session._retry_connection = False  # noqa: SLF001  # pinned: test_an_attempt_is_one_request_...

    async def send(
        self, peer: Peer, method: str, url: str | URL, headers: Mapping[str, str], body: bytes | None
    ) -> Reply:
        """Send one request and read its reply, whatever its status; cancelling drops the connection.

        Raises ComponentError, with `sent` false when the request surely never left.
        """
        with Wait() as waiting:  # as `exchange`, without what its context managers cost
            began = self.loop.time()
            await self._take(waiting)
            try:
                response = await self._request(method, url, headers, body)
                try:
                    return await Exchange(self, peer, response, waiting, began).whole()
                finally:
                    if response.connection is not None:  # it was not read to its end
                        response.close()
            except (aiohttp.ClientError, UnicodeError) as error:
                raise _failed(peer, error) from error
            finally:
                self._free.release()

    @asynccontextmanager
    async def exchange(
        self, peer: Peer, method: str, url: str | URL, headers: Mapping[str, str], body: bytes | None
    ) -> AsyncIterator["Exchange"]:
        """Send one request, whose reply is read while this is open; leaving it half read, or cancelling, drops the
        connection.

        Raises ComponentError as `send` does, also where reading inside it finds the connection lost.
        """
        with Wait() as waiting:
            async with self._sent(peer, method, url, headers, body, waiting) as sent:
                yield sent

    @asynccontextmanager
    async def _sent(
        self, peer: Peer, method: str, url: str | URL, headers: Mapping[str, str], body: bytes | None, waiting: Wait
    ) -> AsyncIterator["Exchange"]:
        began = self.loop.time()
        await self._take(waiting)
        try:
            async with await self._request(method, url, headers, body) as response:
                yield Exchange(self, peer, response, waiting, began)
        except (aiohttp.ClientError, UnicodeError) as error:
            raise _failed(peer, error) from error
        finally:
            self._free.release()

    async def _take(self, waiting: Wait) -> None:
        """Wait until one more connection may be used."""
        if self._free.locked():
            waiting.begin(self._awaited)
        await self._free.acquire()
        waiting.end()

    def _request(
        self, method: str, url: str | URL, headers: Mapping[str, str], body: bytes | None
    ) -> Awaitable[aiohttp.ClientResponse]:
        return self._session.request(
            method,
            url,
            data=BytesIO(body) if body is not None and len(body) > _LONG_BYTES else body,  # aiohttp warns of long bytes
            headers=headers,
            skip_auto_headers=None if "Content-Type" in headers else _UNTOLD,
            allow_redirects=False,  # a redirected POST may become a GET, and takes its headers along
        )

    async def close(self) -> None:
        """Drop every connection."""
        await self._session.close()


def _failed(peer: Peer, error: aiohttp.ClientError | UnicodeError) -> ComponentError:
    """The error of a request that brought no reply, or not the whole of it."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return untrusted(peer, getattr(error.certificate_error, "verify_message", "") or str(error))
        case aiohttp.ClientSSLError():
            return unreachable(peer, str(error), retryable=False)
        case aiohttp.InvalidURL() | UnicodeError():  # a host that no name server could know
            return unreachable(peer, str(error), retryable=False)
        case aiohttp.ClientProxyConnectionError():
            return unreachable(peer, f"its proxy at {error.host}:{error.port}: {reason_of(error.os_error)}")
        case aiohttp.ClientHttpProxyError():
            return unreachable(peer, f"its proxy answered {error.status} {error.message}")
        case aiohttp.ClientConnectorError():
            return unreachable(peer, reason_of(error.os_error))
        case aiohttp.ConnectionTimeoutError():
            return unreachable(peer, str(error))
        case aiohttp.ClientResponseError():
            said = error.message.partition("\n\n")[0]  # behind it stand the bytes
            return no_http(peer, one_line(said).rstrip(":"))
        case aiohttp.ServerDisconnectedError() if not isinstance(error.message, str):
            return lost(peer, "the server closed it within its headers")  # the message is what was read of them
    return lost(peer, one_line(str(error)))


class Exchange:
    """One request that was sent, and its reply as it comes."""

    __slots__ = ("_began", "_limit_bytes", "_now", "_peer", "_waiting", "response")

    def __init__(self, pool: Pool, peer: Peer, response: aiohttp.ClientResponse, waiting: Wait, began: float) -> None:
        self.response = response
        self._peer = peer
        self._waiting = waiting
        self._began = began
        self._limit_bytes = pool.max_response_bytes
        self._now = pool.loop.time

    @property
    def queue_ms(self) -> float:
        """How long it waited for a connection."""
        return self._waiting.ms

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes, unpacked, up to the limit; what is not read here, the server is not let send."""
        length = 0
        async for chunk in self.response.content.iter_any():
            length += len(chunk)
            if length > self._limit_bytes:
                raise too_large(self._peer, self._limit_bytes)
            yield chunk

    async def whole(self) -> Reply:
        """The reply with its whole body."""
        stream, content = self.response.content, bytearray()
        while chunk := await stream.readany():
            content += chunk
            if len(content) > self._limit_bytes:
                raise too_large(self._peer, self._limit_bytes)
        return self.reply(bytes(content))

    def reply(self, body: bytes) -> Reply:
        """The reply, with a body that was read already."""
        waited_ms = self._waiting.ms
        return Reply(
            status=self.response.status,
            headers=self.response.headers,
            body=body,
            queue_ms=waited_ms,
            took_ms=(self._now() - self._began) * 1000.0 - waited_ms,
        )
