"""Requests as ASGI has them: what every path of the gateway needs, and no framework beside."""

import asyncio
from collections.abc import Mapping
from typing import Final

from starlette.types import Receive, Scope

from stretto.serve.refused import Refused

BODY_LIMIT_S: Final = 30.0
"""In which a body must have come: a client that stops half-way would hold a place for ever."""


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


def _too_large(limit_bytes: int) -> Refused:
    return Refused(
        413,
        f"the body is larger than {limit_bytes:,} bytes, the limit; start the gateway with a larger --max-body-bytes",
    )
