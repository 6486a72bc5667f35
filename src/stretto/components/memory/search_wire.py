"""Requests to Elasticsearch and OpenSearch, and what they answer: the parts that a memory reads."""

import asyncio
import base64
import time
from collections.abc import Collection
from http import HTTPStatus
from typing import Any, Final, TypeVar

import msgspec
import orjson

from stretto.components.memory.secrets import key_of
from stretto.components.memory.settings import MemorySettings
from stretto.components.web.connections import Connections
from stretto.components.web.failures import MAX_QUOTED_CHARS, Peer, said_by, start_of
from stretto.components.web.reply import Reply
from stretto.components.web.retry_after import retry_after_s
from stretto.types.errors import Code, ComponentError
from stretto.types.http_status import code_of
from stretto.types.json import JsonObject

T = TypeVar("T")

MAX_CONNECTIONS: Final = 100
MAX_RESPONSE_BYTES: Final = 32 << 20
"""Of an answer: what a memory tells is a step's output, which may be 8 MiB, and quoted it is longer."""

ALREADY_THERE: Final = "resource_already_exists_exception"


class Hit(msgspec.Struct, frozen=True):
    """One document that was found."""

    id: str = msgspec.field(name="_id")
    score_or_none: float | None = msgspec.field(name="_score", default=None)
    source: dict[str, Any] = msgspec.field(name="_source", default_factory=dict)

    @property
    def score(self) -> float:
        """What the search gave; 0 where it was by something else."""
        return self.score_or_none or 0.0


class _Hits(msgspec.Struct, frozen=True):
    hits: list[Hit]


class _Search(msgspec.Struct, frozen=True):
    hits: _Hits


class _Count(msgspec.Struct, frozen=True):
    count: int


class _Placed(msgspec.Struct, frozen=True):
    place: int


class _Document(msgspec.Struct, frozen=True):
    source: _Placed = msgspec.field(name="_source")


class _Mappings(msgspec.Struct, frozen=True):
    meta: dict[str, Any] = msgspec.field(name="_meta", default_factory=dict)


class _Index(msgspec.Struct, frozen=True):
    mappings: _Mappings


class SearchServer:
    """A client of one server. One request each time, no retries: those are the engine's."""

    def __init__(self, settings: MemorySettings) -> None:
        self._settings = settings
        self._url = settings.url.rstrip("/")
        self._what = f"memory '{settings.name}'"
        self._peer = Peer(
            who=f"the {settings.backend} of {self._what} at {self._url}",
            limit_remedy="lower `limit` or `top`",
            limit_code=Code.OUT_OF_RANGE,
        )
        self._connections = Connections(
            self._what, max_connections=MAX_CONNECTIONS, max_response_bytes=MAX_RESPONSE_BYTES
        )

    def open(self) -> None:
        """Make ready to connect."""
        self._connections.open()

    async def close(self) -> None:
        """Drop the connections."""
        await self._connections.close()

    async def search(self, path: str, body: JsonObject) -> list[Hit]:
        """The documents of a search."""
        return (await self._read("POST", path, body, _Search)).hits.hits

    async def count(self, path: str, body: JsonObject) -> int:
        """How many there are."""
        return (await self._read("POST", path, body, _Count)).count

    async def post(self, path: str, body: JsonObject) -> None:
        """Ask for something whose answer says nothing more."""
        await self._send("POST", path, body)

    async def create(self, path: str, body: JsonObject) -> bool:
        """Whether the document was made; it was there already if not."""
        reply = await self._send("PUT", path, body, also={HTTPStatus.CONFLICT})
        return reply.status != HTTPStatus.CONFLICT

    async def place_of(self, path: str) -> int:
        """The place that a document has."""
        return (await self._read("GET", path, None, _Document)).source.place

    async def meta(self, path: str) -> dict[str, Any] | None:
        """What an index says of itself; None where there is none."""
        reply = await self._send("GET", path, None, also={HTTPStatus.NOT_FOUND})
        if reply.status == HTTPStatus.NOT_FOUND:
            return None
        for index in self._decoded(reply, dict[str, _Index]).values():  # one, under its own name where this is an alias
            return index.mappings.meta
        return {}

    async def make(self, path: str, body: JsonObject) -> None:
        """Make an index, unless somebody else was first."""
        reply = await self._send("PUT", path, body, also={HTTPStatus.BAD_REQUEST})
        if reply.status == HTTPStatus.BAD_REQUEST and ALREADY_THERE.encode() not in reply.body:
            raise self._refusal(reply)

    async def _read(self, method: str, path: str, body: JsonObject | None, form: type[T]) -> T:
        return self._decoded(await self._send(method, path, body), form)

    async def _send(self, method: str, path: str, body: JsonObject | None, also: Collection[int] = ()) -> Reply:
        """Send one request. Raises ComponentError for a status that is no success, and none of `also`."""
        content = None if body is None else orjson.dumps(body)
        limit_s = self._settings.timeout.total_seconds()
        try:
            async with asyncio.timeout(limit_s):
                pool = self._connections.pool()
                reply = await pool.send(self._peer, method, self._url + path, self._headers(), content)
        except TimeoutError as error:
            text = f"{self._peer.who} gave no answer within {limit_s:g} s; is it well? `timeout` says how long it has"
            raise ComponentError(text, Code.DEADLINE_EXCEEDED) from error
        if not 200 <= reply.status < 300 and reply.status not in also:
            raise self._refusal(reply)
        return reply

    def _headers(self) -> dict[str, str]:
        """A key with a colon is a user and a password (RFC 7617), any other an API key of Elasticsearch."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        key = key_of(self._settings)
        if ":" in key:
            headers["Authorization"] = f"Basic {base64.b64encode(key.encode()).decode()}"
        elif key:
            headers["Authorization"] = f"ApiKey {key}"
        return headers

    def _decoded(self, reply: Reply, form: type[T]) -> T:
        try:
            return msgspec.json.decode(reply.body, type=form)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            text = f"{self._peer.who} answered what cannot be read ({error}); it begins with {start_of(reply.body)!r}"
            raise ComponentError(text, Code.INTERNAL) from error

    def _refusal(self, reply: Reply) -> ComponentError:
        remedy = ""
        if reply.status == HTTPStatus.UNAUTHORIZED:
            remedy = "; name the environment variable that holds its key, or user:password: api_key_env"
        text = f"{self._peer.who} answered {reply.status}: {_reason(reply.body)}{remedy}"
        return ComponentError(text, code_of(reply.status), retry_after_s=retry_after_s(reply.headers, time.time()))


def _reason(body: bytes) -> str:
    """Why, in the server's words: of a search it stands at the root of the error, and what that came from inside it."""
    try:
        error = orjson.loads(body)["error"]
        root = (error.get("root_cause") or [error])[0]
        cause = root.get("caused_by")
        deeper = f" ({cause['type']}: {cause['reason']})" if cause else ""
        return f"{root['type']}: {root['reason']}{deeper}"[:MAX_QUOTED_CHARS]
    except (orjson.JSONDecodeError, AttributeError, IndexError, KeyError, TypeError):
        return said_by(body) or "nothing"
