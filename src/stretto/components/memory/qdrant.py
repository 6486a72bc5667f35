"""A memory in Qdrant: on a server, or in this process or a folder by its client's local mode."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from stretto.components.loop_lock import open_elsewhere
from stretto.components.memory.backend import SCORE_DIGITS, Found, Memory, Query, Shelf, after_writing
from stretto.components.memory.embedding import made_with_another
from stretto.components.memory.order import Places, id_of
from stretto.components.memory.secrets import key_of
from stretto.components.memory.settings import MemorySettings
from stretto.types.errors import Code, ComponentError
from stretto.types.http_status import code_of
from stretto.types.json import Json

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient
    from qdrant_client.models import Filter, Record, ScoredPoint

    from stretto.components.memory.backend import Vector

MEMORY: Final = "memory"
FORGOTTEN: Final = "forgotten"
"""Kinds of point: a value, and the place up to which all were forgotten."""

MORE: Final = 32
"""Points asked for beyond those wanted, so that of some equally near the later ones are told."""

_PAYLOAD_INDEXES: Final = {"tenant": "keyword", "scope": "keyword", "kind": "keyword", "place": "integer"}
"""What a server needs to filter and to order by."""


class QdrantBackend:
    """One collection, whose points carry one named vector: the name says what made it. Implements `MemoryBackend`.

    Local mode is for tests and for some thousand values; a folder is held by one process at a time.
    """

    blocks = False

    def __init__(self, settings: MemorySettings, embedding: str) -> None:
        self._settings = settings
        self._collection = settings.kept_in
        self._embedding = embedding
        self._dimensions = int(embedding.rpartition("/")[2])
        self._vector = embedding.replace("/", "-")
        self._places = Places()
        self._client: AsyncQdrantClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        """The one in which a server's connections are; local mode belongs to none."""
        self._is_ready = False

    async def open(self) -> None:
        """Import the client, which takes a second."""
        await asyncio.to_thread(_load)

    async def close(self) -> None:
        """Drop the connections, or let go of the folder; what is kept in this process stays."""
        if self._client is not None and (self._settings.url or self._settings.path):
            self._hold_to_loop()
            client, self._client = self._client, None
            await client.close()

    async def remember(self, shelf: Shelf, memory: Memory) -> None:
        """As `MemoryBackend.remember`."""
        async with self._asking() as client:
            await self._put(client, shelf, MEMORY, memory.effect_key, memory.value, memory.vector)
        with after_writing():
            async with self._asking() as client:
                await self._drop_oldest(client, shelf, MEMORY)

    async def recall(self, shelf: Shelf, limit: int) -> Sequence[Json]:
        """As `MemoryBackend.recall`."""
        async with self._asking() as client:
            points = await self._ordered(client, shelf, MEMORY, limit, newest=True)
        return [orjson.loads(_payload(point)["value"]) for point in points][::-1]

    async def search(self, shelf: Shelf, query: Query) -> Sequence[Found]:
        """As `MemoryBackend.search`."""
        from qdrant_client import models

        exactly = models.SearchParams(exact=True) if self._settings.url else None  # local mode is, and warns
        async with self._asking() as client:
            answer = await client.query_points(
                self._collection,
                query=query.vector.tolist(),
                using=self._vector,
                query_filter=_of(shelf, MEMORY),
                limit=query.top + MORE,
                search_params=exactly,
            )
        ranked = sorted(((_score(point), _payload(point)) for point in answer.points), key=_nearest_then_latest)
        return [
            Found(value=orjson.loads(payload["value"]), score=score, source=payload["key"])
            for score, payload in ranked[: query.top]
            if score > query.above
        ]

    async def forget(self, shelf: Shelf, effect_key: str) -> None:
        """As `MemoryBackend.forget`."""
        from qdrant_client import models

        async with self._asking() as client:
            before = await self._put(client, shelf, FORGOTTEN, effect_key, None, None)
        older = models.FieldCondition(key="place", range=models.Range(lt=before))
        with after_writing():
            async with self._asking() as client:
                await client.delete(self._collection, models.FilterSelector(filter=_of(shelf, MEMORY, older)))
                await self._drop_oldest(client, shelf, FORGOTTEN)

    # points

    async def _put(
        self,
        client: "AsyncQdrantClient",
        shelf: Shelf,
        kind: str,
        key: str,
        value: Json,
        vector: "Vector | None",
    ) -> int:
        """Keep a point unless it is there; its place."""
        from qdrant_client import models

        number = id_of(kind, key)
        for point in await client.retrieve(self._collection, [number]):
            return cast("int", _payload(point)["place"])
        place = self._places.next()
        payload = {"kind": kind, "tenant": shelf.tenant, "scope": shelf.scope, "key": key, "place": place}
        payload["value"] = orjson.dumps(value).decode()
        named: dict[str, Any] = {} if vector is None else {self._vector: vector.tolist()}
        await client.upsert(self._collection, [models.PointStruct(id=number, vector=named, payload=payload)])
        return place

    async def _drop_oldest(self, client: "AsyncQdrantClient", shelf: Shelf, kind: str) -> None:
        from qdrant_client import models

        count = (await client.count(self._collection, count_filter=_of(shelf, kind))).count
        if count > self._settings.keep:
            oldest = await self._ordered(client, shelf, kind, count - self._settings.keep, newest=False)
            await client.delete(self._collection, models.PointIdsList(points=[point.id for point in oldest]))

    async def _ordered(
        self, client: "AsyncQdrantClient", shelf: Shelf, kind: str, limit: int, *, newest: bool
    ) -> "list[Record]":
        from qdrant_client import models

        direction = models.Direction.DESC if newest else models.Direction.ASC
        by_place = models.OrderBy(key="place", direction=direction)
        points, _ = await client.scroll(
            self._collection, scroll_filter=_of(shelf, kind), limit=limit, order_by=by_place
        )
        return points

    # the client

    @asynccontextmanager
    async def _asking(self) -> "AsyncIterator[AsyncQdrantClient]":
        """The client, with its collection there; what it raises is told as ComponentError."""
        client_errors = _load()
        try:
            client = self._connected()
            if not self._is_ready:
                await self._prepare(client)
                self._is_ready = True
            yield client
        except client_errors as error:
            raise self._trouble(error) from error

    def _connected(self) -> "AsyncQdrantClient":
        if self._client is not None and self._loop in (None, asyncio.get_running_loop()):
            return self._client
        from qdrant_client import AsyncQdrantClient

        self._hold_to_loop()
        settings = self._settings
        if settings.url:
            self._loop = asyncio.get_running_loop()
            self._client = AsyncQdrantClient(
                url=settings.url,
                port=None,  # the address says it
                api_key=key_of(settings) or None,
                timeout=math.ceil(settings.timeout.total_seconds()),
                check_compatibility=False,  # it would ask the server before there is anybody to tell
            )
        elif settings.path is not None:
            self._client = AsyncQdrantClient(path=str(settings.path), force_disable_check_same_thread=True)
        else:
            self._client = AsyncQdrantClient(location=":memory:")
        self._is_ready = False
        return self._client

    def _hold_to_loop(self) -> None:
        """Raise UsageError while another event loop that has not ended has the connections."""
        loop = self._loop
        if loop is not None and loop is not asyncio.get_running_loop() and not loop.is_closed():
            raise open_elsewhere(f"memory '{self._settings.name}'", loop)

    async def _prepare(self, client: "AsyncQdrantClient") -> None:
        """Make the collection unless it is there; refuse one whose vectors something else made."""
        from qdrant_client import models
        from qdrant_client.http.exceptions import UnexpectedResponse

        if not await client.collection_exists(self._collection):
            params = models.VectorParams(size=self._dimensions, distance=models.Distance.COSINE)
            try:
                await client.create_collection(self._collection, vectors_config={self._vector: params})
            except UnexpectedResponse:
                if not await client.collection_exists(self._collection):  # else another process made it meanwhile
                    raise
        if self._settings.url:  # local mode needs none, and warns
            for field, kind in _PAYLOAD_INDEXES.items():
                await client.create_payload_index(self._collection, field, models.PayloadSchemaType(kind))
        found = (await client.get_collection(self._collection)).config.params.vectors
        names = sorted(found) if isinstance(found, dict) else ["one without a name"]
        if self._vector not in names:
            place = f"the collection '{self._collection}'"
            told = ", ".join(names) or "none"
            raise made_with_another(self._settings.name, place, told, self._vector, "another `collection`")

    def _trouble(self, error: Exception) -> ComponentError:
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        settings = self._settings
        where = settings.url or settings.path or "local mode"
        what = f"memory '{settings.name}': Qdrant ({where})"
        if isinstance(error, UnexpectedResponse):
            said = " ".join(error.content.decode(errors="replace").split())[:300]
            code = code_of(error.status_code or 500)
            key = "; name the variable that holds its key: api_key_env" if code is Code.UNAUTHENTICATED else ""
            return ComponentError(f"{what} answered {error.status_code}: {said}{key}", code)
        if isinstance(error, ResponseHandlingException):
            why = str(error.source) or type(error.source).__name__
            sent = not _never_left(error.source)
            return ComponentError(f"{what} cannot be reached: {why}; is it running?", Code.UNAVAILABLE, sent=sent)
        busy = "already accessed" in str(error)
        remedy = "one process at a time may have a folder; use a server, `url`" if busy else "see that it is whole"
        code = Code.UNAVAILABLE if busy else Code.FAILED_PRECONDITION
        return ComponentError(f"{what}: {' '.join(str(error).split())[:300]}; {remedy}", code, sent=False)


def _load() -> tuple[type[Exception], ...]:
    """What the client may raise."""
    import sqlite3

    from qdrant_client.http.exceptions import ApiException

    return (ApiException, RuntimeError, OSError, sqlite3.Error)


def _never_left(error: Exception) -> bool:
    import httpx

    return isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)


def _of(shelf: Shelf, kind: str, *more: Any) -> "Filter":
    from qdrant_client import models

    wanted = {"kind": kind, "tenant": shelf.tenant, "scope": shelf.scope}
    same = [models.FieldCondition(key=key, match=models.MatchValue(value=value)) for key, value in wanted.items()]
    return models.Filter(must=[*same, *more])


def _payload(point: "Record | ScoredPoint") -> dict[str, Any]:
    return point.payload or {}


def _score(point: "ScoredPoint") -> float:
    return round(float(point.score), SCORE_DIGITS) + 0.0


def _nearest_then_latest(ranked: tuple[float, dict[str, Any]]) -> tuple[float, int]:
    score, payload = ranked
    return -score, -payload["place"]
