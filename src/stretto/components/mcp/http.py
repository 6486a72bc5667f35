"""A server behind a URL, spoken to over streamable HTTP through the SDK, with a bound on what it may send."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Final

import httpx2
from mcp.client.streamable_http import streamable_http_client

from stretto.components.mcp.waiting import POSTED
from stretto.components.waiting import Queue, Wait

if TYPE_CHECKING:  # the SDK names this type in a private module only
    from mcp.client._transport import TransportStreams

CONNECT_TIMEOUT_S: Final = 30.0
"""For a connection, once there is room for one. Waiting for room, and answers, have no time-out of their own: the
deadline of the run bounds them."""

MAX_CONNECTIONS: Final = 100
"""At once; the client's own default. One may be held by the stream on which the server speaks unasked."""


KEPT: Final = 20
"""Connections that are kept for later; the client's own default."""

CLIENT_CLOSED: Final = 499
"""Status for a request that was not sent, as nginx logs it. The SDK makes an answer of it that nobody waits for."""


class HttpTransport(AbstractAsyncContextManager["TransportStreams"]):
    """A session with the server while it is entered."""

    def __init__(
        self, url: str, *, headers: Mapping[str, str], max_message_bytes: int, on_end: Callable[[], None]
    ) -> None:
        self._url = url
        self._headers = headers
        self._max_message_bytes = max_message_bytes
        self._on_end = on_end
        self._stack = AsyncExitStack()

    @property
    def why(self) -> str:
        """Nothing: the exception that ended it says all that is known."""
        return ""

    async def __aenter__(self) -> "TransportStreams":
        client = await self._stack.enter_async_context(
            httpx2.AsyncClient(
                headers=dict(self._headers),
                timeout=httpx2.Timeout(CONNECT_TIMEOUT_S, read=None, pool=None),
                transport=_Bounded(self._max_message_bytes, MAX_CONNECTIONS),
            )
        )
        return await self._stack.enter_async_context(
            streamable_http_client(self._url, http_client=client, max_sse_event_size=self._max_message_bytes)
        )

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._on_end()
        await self._stack.__aexit__(kind, error, traceback)


class MessageTooLargeError(httpx2.StreamError):
    """A response body is longer than a message may be."""


class _Bounded(httpx2.AsyncHTTPTransport):
    """Stops reading a response body at the limit; event streams have no end, their events are bounded by the SDK.

    Tells how long a call waited for a connection. One that was given up meanwhile is not sent.
    """

    def __init__(self, max_bytes: int, max_connections: int) -> None:
        super().__init__(limits=httpx2.Limits(max_connections=max_connections, max_keepalive_connections=KEPT))
        self._max_bytes = max_bytes
        self._connections = Queue(
            awaited="a connection",
            remedy=f"all {max_connections} are in use. Bound the calls at once by `concurrency` or a bulkhead, call it "
            "less, or give the call a later deadline",
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        posted = POSTED.get()
        wait = None if posted is None else posted.take()
        if wait is not None:
            wait.begin(self._connections)
            request.extensions["trace"] = _Unqueued(wait)
        try:
            response = await super().handle_async_request(request)
        except _GivenUpError:
            return httpx2.Response(CLIENT_CLOSED, request=request)  # an error would end the whole session
        is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        if not is_stream and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _BoundedStream(response.stream, self._max_bytes)
        return response


class _Unqueued:
    """What the client tells of a request. The first thing that it does comes when it has a connection, or a place for
    one: httpcore tells of that, and not of the queue itself."""

    def __init__(self, wait: Wait) -> None:
        self._wait: Wait | None = wait

    async def __call__(self, _event: str, _info: Mapping[str, object]) -> None:
        wait, self._wait = self._wait, None
        if wait is None:
            return
        if wait.is_left:
            raise _GivenUpError
        wait.end()


class _GivenUpError(Exception):
    """Nobody waits for the answer any more, and nothing was sent."""


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._stream = stream
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = 0
        async for chunk in self._stream:
            total += len(chunk)
            if total > self._max_bytes:
                raise MessageTooLargeError(f"a message of more than {self._max_bytes:,} bytes, the limit")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
