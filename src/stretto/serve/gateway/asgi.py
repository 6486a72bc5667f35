"""Requests and answers as ASGI has them: what every path of the gateway needs, and no framework beside."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

import orjson
from starlette.types import Receive, Scope, Send

from stretto.serve.gateway.refused import Refused
from stretto.types.json import JsonObject

BODY_LIMIT_S: Final = 30.0
"""In which a body must have come: a client that stops half-way would hold a place for ever."""

JSON_HEADERS: Final = {"content-type": "application/json"}


class Asked:
    """One request: its method, path and headers, and the way to its body."""

    __slots__ = ("_receive", "headers", "method", "origin", "path")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.headers: Mapping[str, str] = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        self.origin = f"{scope.get('scheme', 'http')}://{self.headers.get('host', 'localhost')}"
        """As the client wrote it."""
        self._receive = receive

    async def body(self, limit_bytes: int) -> bytes:
        """The whole body. Raises Refused: 413 as soon as it is known to be too large, 408 when it does not come."""
        announced = self.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > limit_bytes:
            raise _too_large(limit_bytes)
        try:
            async with asyncio.timeout(BODY_LIMIT_S):
                return await self._read(limit_bytes)
        except TimeoutError:
            raise Refused(408, f"the body did not come within {BODY_LIMIT_S:g} s") from None

    async def gone(self) -> None:
        """Return when the client has hung up, or has its answer."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _read(self, limit_bytes: int) -> bytes:
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):  # as nearly all come
            body: bytes = message.get("body", b"")
            if len(body) > limit_bytes:
                raise _too_large(limit_bytes)
            return body
        read = bytearray()
        while True:
            if message["type"] == "http.disconnect":
                raise Refused(499, "the client hung up before its body had come")
            read += message.get("body", b"")
            if len(read) > limit_bytes:
                raise _too_large(limit_bytes)
            if not message.get("more_body", False):
                return bytes(read)
            message = await self._receive()


class Answer:
    """The way of an answer to the client; it is begun once."""

    __slots__ = ("_send", "begun", "headers")

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False
        self.headers: dict[str, str] = {}
        """What every answer to this request says."""

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send status and headers."""
        self.begun = True
        await self._send(
            {"type": "http.response.start", "status": status, "headers": _encoded({**headers, **self.headers}.items())}
        )

    async def part(self, content: bytes) -> None:
        """Send some of the body; waits while the client does not read."""
        await self._send({"type": "http.response.body", "body": content, "more_body": True})

    async def end(self, content: bytes = b"") -> None:
        """Send the last of the body."""
        await self._send({"type": "http.response.body", "body": content})

    async def whole(self, status: int, content: bytes, headers: Mapping[str, str] = JSON_HEADERS) -> None:
        """Send all of it."""
        await self.begin(status, {**headers, "content-length": str(len(content))})
        await self.end(content)

    async def json(self, status: int, document: JsonObject) -> None:
        await self.whole(status, orjson.dumps(document))

    async def refused(self, refused: Refused) -> None:
        await self.whole(refused.status, refused.body(), {**JSON_HEADERS, **refused.headers})


def _encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


def _too_large(limit_bytes: int) -> Refused:
    return Refused(
        413,
        f"the body is larger than {limit_bytes:,} bytes, the limit; start the gateway with a larger --max-body-bytes",
    )
