"""A memory in Elasticsearch or OpenSearch, over their REST API.

Written against their references ("Create index", "Index API", "Search", "Script score query", "Delete by query";
OpenSearch 3, "Painless scripting extensions"), and tested against a stand-in of what those say: no server was to be
had.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import orjson

from stretto.components.memory.backend import SCORE_DIGITS, Found, Memory, Query, Shelf, after_writing
from stretto.components.memory.embedding import made_with_another
from stretto.components.memory.order import Places, id_of
from stretto.components.memory.search_wire import SearchServer
from stretto.components.memory.settings import BackendKind, MemorySettings
from stretto.types.errors import Code, ComponentError
from stretto.types.json import Json, JsonObject

if TYPE_CHECKING:
    from stretto.components.memory.backend import Vector

MEMORY: Final = "memory"
FORGOTTEN: Final = "forgotten"
"""Kinds of document: a value, and the place up to which all were forgotten, with their keys: whoever sends one of them
again brings it back for nobody."""

FORMAT: Final = 1
"""Of an index; kept in its `_meta`."""

_KEYWORD: Final[JsonObject] = {"type": "keyword"}

_COSINES: Final = {
    BackendKind.ELASTICSEARCH: "cosineSimilarity(params.query_value, 'vector') + 1.0",
    BackendKind.OPENSEARCH: "cosineSimilarity(params.query_value, doc['vector']) + 1.0",
}
"""Exact: every value of a shelf is compared, as `keep` bounds how many there are. Scores may not be negative."""

_REFRESHED: Final = "refresh=true"
"""What one step told, the next one finds: else it would within the second."""

_WHOLE: Final = "allow_partial_search_results=false"
"""A shard that fails is an error, and not a memory that has forgotten."""


class SearchServerBackend:
    """One index, whose documents carry one vector field. Implements `MemoryBackend`."""

    blocks = False

    def __init__(self, settings: MemorySettings, embedding: str) -> None:
        self._settings = settings
        self._index = settings.kept_in
        self._embedding = embedding
        self._places = Places()
        self._server = SearchServer(settings)
        self._is_ready = False

    async def open(self) -> None:
        """Make ready to connect; nothing is sent."""
        self._server.open()

    async def close(self) -> None:
        """Drop the connections; the next call connects again, and looks at the index again."""
        self._is_ready = False
        await self._server.close()

    async def remember(self, shelf: Shelf, memory: Memory) -> None:
        """As `MemoryBackend.remember`."""
        await self._ready()
        key = memory.effect_key
        forgotten = _of(shelf, FORGOTTEN, {"term": {"key": key}})
        if await self._server.count(f"/{self._index}/_count", {"query": forgotten}):
            return
        await self._put(shelf, MEMORY, key, key, memory.value, memory.vector)
        with after_writing():
            await self._drop_oldest(shelf, MEMORY)

    async def recall(self, shelf: Shelf, limit: int) -> Sequence[Json]:
        """As `MemoryBackend.recall`."""
        await self._ready()
        asked: JsonObject = {"size": limit, "query": _of(shelf, MEMORY), "sort": [{"place": "desc"}]}
        hits = await self._server.search(f"/{self._index}/_search?{_WHOLE}", asked | {"_source": ["value"]})
        return [orjson.loads(hit.source["value"]) for hit in hits][::-1]

    async def search(self, shelf: Shelf, query: Query) -> Sequence[Found]:
        """As `MemoryBackend.search`."""
        await self._ready()
        params: JsonObject = {"query_value": query.vector.tolist()}
        script: JsonObject = {"source": _COSINES[self._settings.backend], "params": params}
        within = _of(shelf, MEMORY, {"term": {"searchable": True}})
        asked: JsonObject = {
            "size": query.top,
            "query": {"script_score": {"query": within, "script": script}},
            "sort": [{"_score": "desc"}, {"place": "desc"}],
            "_source": ["value", "key"],
        }
        hits = await self._server.search(f"/{self._index}/_search?{_WHOLE}", asked)
        scored = [(round(hit.score - 1.0, SCORE_DIGITS) + 0.0, hit.source) for hit in hits]
        return [
            Found(value=orjson.loads(source["value"]), score=score, source=source["key"])
            for score, source in scored
            if score > query.above
        ]

    async def forget(self, shelf: Shelf, effect_key: str) -> None:
        """As `MemoryBackend.forget`."""
        await self._ready()
        asked: JsonObject = {"size": self._settings.keep, "query": _of(shelf, MEMORY), "sort": [{"place": "asc"}]}
        gone = await self._server.search(f"/{self._index}/_search?{_WHOLE}", asked | {"_source": ["key"]})
        before = await self._put(shelf, FORGOTTEN, effect_key, [hit.source["key"] for hit in gone], None, None)
        with after_writing():
            await self._delete(_of(shelf, MEMORY, {"range": {"place": {"lt": before}}}))
            await self._drop_oldest(shelf, FORGOTTEN)

    # documents

    async def _put(
        self, shelf: Shelf, kind: str, effect_key: str, key: Json, value: Json, vector: "Vector | None"
    ) -> int:
        """Keep a document unless it is there; its place."""
        number = id_of(kind, effect_key)
        place = self._places.next()
        document: JsonObject = {"kind": kind, "tenant": shelf.tenant, "scope": shelf.scope, "key": key, "place": place}
        document |= {"value": orjson.dumps(value).decode(), "searchable": vector is not None}
        if vector is not None:
            document["vector"] = vector.tolist()
        if await self._server.create(f"/{self._index}/_create/{number}?{_REFRESHED}", document):
            return place
        return await self._server.place_of(f"/{self._index}/_doc/{number}?_source_includes=place")

    async def _drop_oldest(self, shelf: Shelf, kind: str) -> None:
        among = _of(shelf, kind)
        more = await self._server.count(f"/{self._index}/_count", {"query": among}) - self._settings.keep
        if more > 0:
            asked: JsonObject = {"size": more, "query": among, "sort": [{"place": "asc"}], "_source": False}
            hits = await self._server.search(f"/{self._index}/_search?{_WHOLE}", asked)
            await self._delete({"ids": {"values": [hit.id for hit in hits]}})

    async def _delete(self, query: JsonObject) -> None:
        """What another process deletes at the same time is deleted as well."""
        await self._server.post(f"/{self._index}/_delete_by_query?{_REFRESHED}&conflicts=proceed", {"query": query})

    # the index

    async def _ready(self) -> None:
        """Make the index unless it is there; refuse one that is no memory's, or whose vectors something else made."""
        if self._is_ready:
            return
        meta = await self._server.meta(f"/{self._index}/_mapping")
        if meta is None:
            await self._server.make(f"/{self._index}", self._mapping())
            meta = await self._server.meta(f"/{self._index}/_mapping") or {}
        own = meta.get("stretto")
        found = own.get("embedding") if isinstance(own, dict) and own.get("format") == FORMAT else None
        if found is None:
            text = f"memory '{self._settings.name}': the index '{self._index}' is there, and no memory of this release"
            raise ComponentError(f"{text} made it; name another: `collection`", Code.FAILED_PRECONDITION, sent=False)
        if found != self._embedding:
            place = f"the index '{self._index}'"
            raise made_with_another(self._settings.name, place, str(found), self._embedding, "another `collection`")
        self._is_ready = True

    def _mapping(self) -> JsonObject:
        dimensions = int(self._embedding.rpartition("/")[2])
        vector: JsonObject = {"type": "dense_vector", "dims": dimensions, "index": False}
        if self._settings.backend is BackendKind.OPENSEARCH:
            vector = {"type": "knn_vector", "dimension": dimensions}
        properties: JsonObject = {
            **dict.fromkeys(("kind", "tenant", "scope", "key"), _KEYWORD),
            "place": {"type": "long"},
            "value": {"type": "keyword", "index": False, "doc_values": False},
            "searchable": {"type": "boolean"},
            "vector": vector,
        }
        own: JsonObject = {"format": FORMAT, "embedding": self._embedding}
        return {"mappings": {"dynamic": "strict", "_meta": {"stretto": own}, "properties": properties}}


def _of(shelf: Shelf, kind: str, *more: JsonObject) -> JsonObject:
    same: list[JsonObject] = [
        {"term": {"kind": kind}},
        {"term": {"tenant": shelf.tenant}},
        {"term": {"scope": shelf.scope}},
    ]
    return {"bool": {"filter": [*same, *more]}}
