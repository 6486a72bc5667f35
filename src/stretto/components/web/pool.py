"""Connections to servers, shared by all calls of one component in one event loop: one request each time, no retries."""

import asyncio
from collections.abc import Mapping
from ssl import SSLContext
from typing import Final

import aiohttp
from yarl import URL

from stretto.components.waiting import Wait
from stretto.components.web.failures import Peer, lost, no_http, too_large, unreachable
from stretto.components.web.reply import Reply
from stretto.components.web.waiting import connections, telling_waits

CONNECT_TIMEOUT_S: Final = 30.0
"""For a connection. Answers have no time-out of their own: the deadline of the step bounds them."""


class Pool:
    """An HTTP client whose connections are kept alive between calls."""

    def __init__(self, *, max_connections: int, max_response_bytes: int, ssl: SSLContext | None = None) -> None:
        self._max_response_bytes = max_response_bytes
        self.loop = asyncio.get_running_loop()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=max_connections, ssl=ssl or True),
            cookie_jar=aiohttp.DummyCookieJar(),  # what one run is given must not go out with another
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
            trust_env=False,  # a proxy that the environment names sees every secret
            trace_configs=[telling_waits(connections(max_connections, "Raise `max_connections`"))],
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
        with Wait() as waiting:
            return await self._send(peer, method, url, headers, body, waiting)

    async def _send(
        self, peer: Peer, method: str, url: str | URL, headers: Mapping[str, str], body: bytes | None, waiting: Wait
    ) -> Reply:
        began = self.loop.time()
        try:
            async with self._session.request(
                method,
                url,
                data=body,
                headers=headers,
                allow_redirects=False,  # a redirected POST may become a GET, and takes its headers along
                trace_request_ctx=waiting,
            ) as response:
                content = await self._read(peer, response)
                took_ms = (self.loop.time() - began) * 1000.0 - waiting.ms
                return Reply(
                    status=response.status,
                    headers=response.headers,
                    body=content,
                    queue_ms=waiting.ms,
                    took_ms=took_ms,
                )
        except (aiohttp.ClientSSLError, aiohttp.ClientConnectorCertificateError) as error:
            raise unreachable(peer, str(error), retryable=False) from error
        except (aiohttp.InvalidURL, UnicodeError) as error:  # a host that no name server could know
            raise unreachable(peer, str(error), retryable=False) from error
        except aiohttp.ClientConnectorError as error:
            raise unreachable(peer, str(error.os_error)) from error
        except aiohttp.ConnectionTimeoutError as error:
            raise unreachable(peer, str(error)) from error
        except aiohttp.ClientResponseError as error:
            raise no_http(peer, error.message) from error
        except aiohttp.ClientError as error:
            raise lost(peer, str(error)) from error

    async def close(self) -> None:
        """Drop every connection."""
        await self._session.close()

    async def _read(self, peer: Peer, response: aiohttp.ClientResponse) -> bytes:
        """The body, unpacked, up to the limit."""
        limit = self._max_response_bytes
        content = bytearray()
        async for chunk in response.content.iter_any():
            content += chunk
            if len(content) > limit:
                raise too_large(peer, limit)
        return bytes(content)
