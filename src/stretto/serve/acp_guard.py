"""Connections that are held to sense before there is a request: uvicorn itself waits for a head for ever."""

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from stretto.acp.failure import Failure
from stretto.acp.names import Reason
from stretto.acp.problem import problem_of
from stretto.types.errors import Code

HEAD_LIMIT_S: Final = 5.0
"""In which a request's head must have come: one that is sent byte by byte (slow loris) holds a connection."""

MAX_HEAD_BYTES: Final = 64 * 1024
"""Of a request's head; cookies and traces fit many times."""


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with a limit of time and size for the head of each request."""

    _head_timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _is_in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_in_head:
            return
        self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD_BYTES:
            self.send_400_response(f"the head of the request is larger than {MAX_HEAD_BYTES:,} bytes")

    def eof_received(self) -> None:
        """A request that ends half-way is refused; whoever sends nothing more after a whole one hung up."""
        is_half = self.cycle is not None and self.cycle.more_body and not self.cycle.response_started
        if is_half or (self._is_in_head and self._head_bytes):
            self.send_400_response("the connection was closed before the request was whole")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        self._cancel_head_timer()
        self._is_in_head = False
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP is answered as a problem too, and ends the connection."""
        if self.transport.is_closing():
            return
        status, headers, body = problem_of(Failure(code=Code.INVALID_ARGUMENT, message=msg, reason=Reason.MALFORMED))
        headers |= {"Content-Length": str(len(body)), "Connection": "close"}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.transport.write(f"HTTP/1.1 {status} Bad Request\r\n{head}\r\n".encode() + body)
        self.transport.close()

    def _expect_head(self) -> None:
        self._is_in_head, self._head_bytes = True, 0
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_LIMIT_S, self._too_slow)

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _too_slow(self) -> None:
        self._head_timer = None
        if self._is_in_head and not self.transport.is_closing():
            self.transport.close()
