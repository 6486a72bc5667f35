"""Connections that are held to sense, below ASGI: uvicorn itself waits for a head, and for a body, for ever; tells an
application that its client hung up only when it asks; and writes a reply in two pieces."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from stretto.acp.failure import Failure
from stretto.acp.names import Reason
from stretto.acp.problem import problem_of
from stretto.acp.server.refusal import refusal
from stretto.serve.unswitched import Unswitched
from stretto.types.errors import Code

HEAD_LIMIT_S: Final = 5.0
"""In which a request's head must have come: one that is sent byte by byte (slow loris) holds a connection."""

TAKE_LIMIT_S: Final = 30.0
"""In which a client must have taken something of its replies, where they wait for it."""

MAX_HEAD_BYTES: Final = 64 * 1024
"""Of a request's head; cookies and traces fit many times."""

_TOO_LARGE: Final = f"the head of the request is larger than {MAX_HEAD_BYTES:,} bytes"

CLIENT: Final = "stretto.client"
"""Key in a request's scope of its `Client`."""


Header: TypeAlias = tuple[bytes, bytes]


class Client:
    """Who waits for one reply."""

    __slots__ = ("_cycle", "before", "on_hang_up")

    def __init__(self, cycle: RequestResponseCycle, before: "Client | None") -> None:
        self._cycle = cycle
        self.before = before
        """Who waits for an earlier reply on the same connection: requests may follow without one (HTTP pipelining)."""
        self.on_hang_up: Callable[[], object] | None = None
        """Called when the connection ends before the reply is written."""

    @property
    def waits(self) -> bool:
        """Whether it has no reply yet."""
        return not self._cycle.response_complete

    @property
    def comes(self) -> bool:
        """Whether more of its request must come."""
        return self._cycle.more_body

    @property
    def hung_up(self) -> bool:
        """Whether the connection has ended."""
        return self._cycle.disconnected

    def reply(self, status: int, headers: Iterable[Header], body: bytes) -> None:
        """Write the whole reply at once, and close the connection where more of the request would come.

        By ASGI's two messages it is two system calls, and wakes the client twice.
        """
        self.on_hang_up = None
        cycle = self._cycle
        scope: dict[str, object] = cycle.scope  # type: ignore[assignment]  # as any mapping
        scope.pop(CLIENT, None)  # each would keep the other, and all of the call, until Python's collector came by
        if cycle.disconnected:
            return
        parts = [STATUS_LINE[status]]
        for name, value in (*cycle.default_headers, *headers):
            parts += (name, b": ", value, b"\r\n")
        if cycle.more_body or not cycle.keep_alive:
            cycle.keep_alive = False
            parts.append(b"connection: close\r\n")
        parts.append(b"content-length: %d\r\n\r\n" % len(body))
        if cycle.scope["method"] != "HEAD":
            parts.append(body)
        cycle.transport.write(b"".join(parts))
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()


class GuardedProtocol(Unswitched):
    """uvicorn's protocol, with limits of time and size for the head of each request, and of time for its body."""

    body_s = 5.0
    """In which a body must have come after its head."""
    _client: Client | None = None
    _timer: asyncio.TimerHandle | None = None
    """For what must come next: a head, or the rest of a body. Most come whole, and cost no timer."""
    _head_bytes = 0
    _came_bytes = 0
    """With what came last: a head of fewer is within bounds."""
    _taking: asyncio.TimerHandle | None = None
    """While a reply waits to be taken."""
    _is_next_held = False
    _why = ""
    """Why a request cannot be read, where the parser does not know it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        self._timer = self.loop.call_later(HEAD_LIMIT_S, self._head_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        if self._taking is not None:
            self._taking.cancel()
        super().connection_lost(exc)
        client, self._client = self._client, None
        while client is not None:
            if client.on_hang_up is not None:
                client.on_hang_up()
            client = client.before

    def data_received(self, data: bytes) -> None:
        self._came_bytes = len(data)
        super().data_received(data)
        if self._is_in_head:
            self._head_continues(len(data))
        elif self._timer is None and self.cycle is not None and self.cycle.more_body:
            self._timer = self.loop.call_later(self.body_s, self._body_late, self.cycle)

    def eof_received(self) -> None:
        """A request that ends half-way is refused; whoever sends nothing more after a whole one hung up."""
        is_half = self.cycle is not None and self.cycle.more_body and not self.cycle.response_started
        if is_half or (self._is_in_head and self._head_bytes):
            self.send_400_response("the connection was closed before the request was whole")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        if self._head_bytes + self._came_bytes > MAX_HEAD_BYTES:
            self._hold_head()
        if self._timer is not None:
            self._disarm()
        super().on_headers_complete()
        before = self._client
        self._client = Client(self.cycle, before if before is not None and before.waits else None)
        self.scope[CLIENT] = self._client  # type: ignore[typeddict-unknown-key]  # ours

    def pause_writing(self) -> None:
        """A client that does not take its replies is sent no more, and read no further."""
        super().pause_writing()
        self.flow.pause_reading()
        size = self.transport.get_write_buffer_size()
        self._taking = self.loop.call_later(TAKE_LIMIT_S, self._untaken, size)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None
        if self._is_next_held:
            self._is_next_held = False
            self.on_response_complete()

    def on_response_complete(self) -> None:
        """Begin with the next request, which may have come already; not while a reply waits to be taken."""
        self._is_next_held = self.flow.write_paused and not self.transport.is_closing()
        if not self._is_next_held:
            super().on_response_complete()

    def _untaken(self, before: int) -> None:
        """End a connection of whose replies nothing was taken for a while."""
        size = self.transport.get_write_buffer_size()
        if size >= before:
            self._taking = None
            self.transport.abort()
        else:
            self._taking = self.loop.call_later(TAKE_LIMIT_S, self._untaken, size)

    def on_message_complete(self) -> None:
        if self._timer is not None:
            self._disarm()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP is answered as a problem too, and ends the connection."""
        self._end(Failure(code=Code.INVALID_ARGUMENT, message=self._why or msg, reason=Reason.MALFORMED))

    def _end(self, failure: Failure) -> None:
        """Tell a failure, and close; without a word where an earlier request would take it for its own."""
        if self.transport.is_closing():
            return
        if self._is_owed():
            self.transport.close()
            return
        status, headers, body = problem_of(failure)
        headers |= {"Content-Length": str(len(body)), "Connection": "close"}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.transport.write(STATUS_LINE[status] + f"{head}\r\n".encode() + body)
        self.transport.close()

    def _is_owed(self) -> bool:
        """Whether a request before the one that comes in waits for its reply."""
        last = self._client
        before = last.before if last is not None and last.comes else last
        return before is not None and before.waits

    def _hold_head(self) -> None:
        """Raise for a head that is too large, also where it came in one piece; the parser answers by `_why`."""
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > MAX_HEAD_BYTES:
            self._why = _TOO_LARGE
            raise ValueError(_TOO_LARGE)

    def _head_continues(self, received_bytes: int) -> None:
        """Part of a head came, and the rest must."""
        self._head_bytes += received_bytes
        if self._head_bytes > MAX_HEAD_BYTES:
            self.send_400_response(_TOO_LARGE)
        elif self._timer is None:
            self._timer = self.loop.call_later(HEAD_LIMIT_S, self._head_late)

    def _head_late(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()

    def _body_late(self, cycle: RequestResponseCycle) -> None:
        self._timer = None
        if cycle.response_started:  # refused before its body was read
            self.transport.close()
            return
        message = f"the body did not come within {self.body_s:g} s"
        self._end(refusal(Code.DEADLINE_EXCEEDED, Reason.DEADLINE_PASSED, message).failure)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def guarded(limit_s: float) -> type[GuardedProtocol]:
    """The protocol with a time for bodies."""

    class Limited(GuardedProtocol):
        body_s = limit_s

    return Limited
