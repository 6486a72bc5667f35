"""A memory in a collection of Qdrant."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from stretto.components.memory.backend import SCORE_DIGITS, Found, Memory, Query, Shelf, after_writing
from stretto.components.memory.order import Places, id_of
from stretto.components.memory.qdrant_collection import QdrantCollection
from stretto.components.memory.settings import MemorySettings
from stretto.types.json import Json, JsonObject

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient
    from qdrant_client.models import FieldCondition, Filter, Record, ScoredPoint

    from stretto.components.memory.backend import Vector

MEMORY: Final = "memory"
FORGOTTEN: Final = "forgotten"
"""Kinds of point: a value, and the place up to which all were forgotten, with their keys: whoever sends one of them
again brings it back for nobody."""

MORE: Final = 32
"""Points asked for beyond those wanted, so that of some equally near the later ones are told."""


class QdrantBackend:
    """A point for each value, and one for each forgetting. Implements `MemoryBackend`."""

    blocks = False

    def __init__(self, settings: MemorySettings, embedding: str) -> None:
        self._settings = settings
        self._collection = QdrantCollection(settings, embedding)
        self._places = Places()

    async def open(self) -> None:
        """As `QdrantCollection.open`."""
        await self._collection.open()

    async def close(self) -> None:
        """As `QdrantCollection.close`."""
        await self._collection.close()

    async def remember(self, shelf: Shelf, memory: Memory) -> None:
        """As `MemoryBackend.remember`."""
        async with self._collection.asking() as client:
            forgotten = _of(shelf, FORGOTTEN, _matches("key", memory.effect_key))
            if (await client.count(self._collection.name, count_filter=forgotten)).count:
                return
            told: JsonObject = {"key": memory.effect_key, "value": orjson.dumps(memory.value).decode()}
            await self._put(client, shelf, MEMORY, memory.effect_key, told, memory.vector)
        with after_writing():
            async with self._collection.asking() as client:
                await self._drop_oldest(client, shelf, MEMORY)

    async def recall(self, shelf: Shelf, limit: int) -> Sequence[Json]:
        """As `MemoryBackend.recall`."""
        async with self._collection.asking() as client:
            points = await self._ordered(client, shelf, MEMORY, limit, newest=True)
        return [orjson.loads(_payload(point)["value"]) for point in points][::-1]

    async def search(self, shelf: Shelf, query: Query) -> Sequence[Found]:
        """As `MemoryBackend.search`."""
        from qdrant_client import models

        exactly = models.SearchParams(exact=True) if self._settings.url else None  # local mode is, and warns
        async with self._collection.asking() as client:
            answer = await client.query_points(
                self._collection.name,
                query=query.vector.tolist(),
                using=self._collection.vector,
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

        async with self._collection.asking() as client:
            gone = await self._ordered(client, shelf, MEMORY, self._settings.keep, newest=False)
            keys: JsonObject = {"key": [_payload(point)["key"] for point in gone]}
            before = await self._put(client, shelf, FORGOTTEN, effect_key, keys, None)
        older = models.FieldCondition(key="place", range=models.Range(lt=before))
        with after_writing():
            async with self._collection.asking() as client:
                await client.delete(self._collection.name, models.FilterSelector(filter=_of(shelf, MEMORY, older)))
                await self._drop_oldest(client, shelf, FORGOTTEN)

    # points

    async def _put(
        self,
        client: "AsyncQdrantClient",
        shelf: Shelf,
        kind: str,
        effect_key: str,
        told: JsonObject,
        vector: "Vector | None",
    ) -> int:
        """Keep a point unless it is there; its place."""
        from qdrant_client import models

        number = id_of(kind, effect_key)
        for point in await client.retrieve(self._collection.name, [number]):
            return cast("int", _payload(point)["place"])
        place = self._places.next()
        payload = {**told, "kind": kind, "tenant": shelf.tenant, "scope": shelf.scope, "place": place}
        named: dict[str, Any] = {} if vector is None else {self._collection.vector: vector.tolist()}
        await client.upsert(self._collection.name, [models.PointStruct(id=number, vector=named, payload=payload)])
        return place

    async def _drop_oldest(self, client: "AsyncQdrantClient", shelf: Shelf, kind: str) -> None:
        from qdrant_client import models

        count = (await client.count(self._collection.name, count_filter=_of(shelf, kind))).count
        if count > self._settings.keep:
            oldest = await self._ordered(client, shelf, kind, count - self._settings.keep, newest=False)
            await client.delete(self._collection.name, models.PointIdsList(points=[point.id for point in oldest]))

    async def _ordered(
        self, client: "AsyncQdrantClient", shelf: Shelf, kind: str, limit: int, *, newest: bool
    ) -> "list[Record]":
        from qdrant_client import models

        direction = models.Direction.DESC if newest else models.Direction.ASC
        by_place = models.OrderBy(key="place", direction=direction)
        points, _ = await client.scroll(
            self._collection.name, scroll_filter=_of(shelf, kind), limit=limit, order_by=by_place
        )
        return points


def _of(shelf: Shelf, kind: str, *more: Any) -> "Filter":
    from qdrant_client import models

    wanted = {"kind": kind, "tenant": shelf.tenant, "scope": shelf.scope}
    return models.Filter(must=[*(_matches(key, value) for key, value in wanted.items()), *more])


def _matches(key: str, value: str) -> "FieldCondition":
    from qdrant_client import models

    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def _payload(point: "Record | ScoredPoint") -> dict[str, Any]:
    return point.payload or {}


def _score(point: "ScoredPoint") -> float:
    return round(float(point.score), SCORE_DIGITS) + 0.0


def _nearest_then_latest(ranked: tuple[float, dict[str, Any]]) -> tuple[float, int]:
    score, payload = ranked
    return -score, -payload["place"]
