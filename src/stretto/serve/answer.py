"""The way of an answer to a client, as ASGI has it: whole, or in pieces."""

from collections.abc import Iterable, Mapping
from typing import Final

import orjson
from starlette.types import Send

from stretto.serve.refused import Refused
from stretto.types.json import JsonObject

JSON_HEADERS: Final = {"content-type": "application/json"}


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
