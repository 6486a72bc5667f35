"""Stands in for Elasticsearch or OpenSearch: as much of their REST API as their references say of what is asked.

It is strict: what a body holds beyond that is refused, a field that the mapping lacks too, and what was written without
`refresh` is not found.
"""

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

SCRIPTS = {
    "elasticsearch": "cosineSimilarity(params.query_value, 'vector') + 1.0",
    "opensearch": "cosineSimilarity(params.query_value, doc['vector']) + 1.0",
}

VECTOR_TYPES = {"elasticsearch": ("dense_vector", "dims"), "opensearch": ("knn_vector", "dimension")}


class RefusedError(Exception):
    """What the server says no to."""

    def __init__(self, status: int, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.kind, self.reason = status, kind, reason


@dataclass
class Index:
    mappings: dict[str, Any]
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    searchable: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass
class StandIn:
    flavour: str
    authorization: str = ""
    """Header that every request must carry; empty for any."""
    indexes: dict[str, Index] = field(default_factory=dict)
    url: str = ""
    requests: list[str] = field(default_factory=list)
    fails_with: list[web.Response] = field(default_factory=list)
    """Answers to the next requests, whatever they are."""

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append(f"{request.method} {request.path_qs}")
        if self.fails_with:
            return self.fails_with.pop(0)
        body = await request.read()
        try:
            if self.authorization and request.headers.get("Authorization") != self.authorization:
                raise RefusedError(401, "security_exception", "missing authentication credentials for REST request")
            if body and request.headers["Content-Type"] != "application/json":
                raise RefusedError(406, "media_type_header_exception", "Content-Type header is not supported")
            status, told = self._route(request, orjson.loads(body) if body else {})
        except RefusedError as refused:
            error = {"type": refused.kind, "reason": refused.reason}
            status, told = refused.status, {"error": {"root_cause": [error], **error}, "status": refused.status}
        return web.Response(status=status, body=orjson.dumps(told), content_type="application/json")

    def _route(self, request: web.Request, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        name, _, rest = request.path.lstrip("/").partition("/")
        if (request.method, rest) == ("PUT", ""):
            return self._make(name, body)
        index = self.indexes.get(name)
        if index is None:
            raise RefusedError(404, "index_not_found_exception", f"no such index [{name}]")
        action, _, number = rest.partition("/")
        does: dict[tuple[str, str], Callable[[], tuple[int, dict[str, Any]]]] = {
            ("GET", "_mapping"): lambda: (200, {name: {"mappings": index.mappings}}),
            ("PUT", "_create"): lambda: self._create(index, name, number, body, request.query),
            ("GET", "_doc"): lambda: self._get(index, name, number, request.query),
            ("POST", "_search"): lambda: self._search(index, name, body, request.query),
            ("POST", "_count"): lambda: self._count(index, body),
            ("POST", "_delete_by_query"): lambda: self._delete(index, body, request.query),
        }
        if (request.method, action) not in does:
            raise RefusedError(405, "method_not_allowed", f"{request.method} {request.path}")
        return does[request.method, action]()

    def _make(self, name: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if name in self.indexes:
            raise RefusedError(400, "resource_already_exists_exception", f"index [{name}/abc] already exists")
        mappings = only(body, "mappings")["mappings"]
        kind, dims = VECTOR_TYPES[self.flavour]
        allowed = {
            "keyword": {"index", "doc_values"},
            "long": set(),
            "boolean": set(),
            kind: {dims, "index"} if self.flavour == "elasticsearch" else {dims},
        }
        for each in only(mappings, "dynamic", "_meta", "properties")["properties"].values():
            if each["type"] not in allowed or set(each) - {"type"} - allowed[each["type"]]:
                raise RefusedError(400, "mapper_parsing_exception", f"unknown parameter in {each}")
        self.indexes[name] = Index(mappings)
        return 200, {"acknowledged": True, "shards_acknowledged": True, "index": name}

    def _create(self, index: Index, name: str, number: str, body: dict[str, Any], query: Any) -> Any:
        if number in index.documents:
            reason = f"[{number}]: version conflict, document already exists (current version [1])"
            raise RefusedError(409, "version_conflict_engine_exception", reason)
        dims = VECTOR_TYPES[self.flavour][1]
        for key, value in body.items():
            mapped = index.mappings["properties"].get(key)
            if mapped is None:
                raise RefusedError(400, "strict_dynamic_mapping_exception", f"introduction of [{key}] is not allowed")
            if key == "vector" and len(value) != mapped[dims]:
                raise RefusedError(400, "document_parsing_exception", f"vector has {len(value)} dimensions")
        index.documents[number] = body
        if query.get("refresh") == "true":
            index.searchable = dict(index.documents)
        return 201, {"_index": name, "_id": number, "_version": 1, "result": "created", "_seq_no": 0}

    def _get(self, index: Index, name: str, number: str, query: Any) -> tuple[int, dict[str, Any]]:
        document = index.documents.get(number)
        if document is None:
            return 404, {"_index": name, "_id": number, "found": False}
        source = {key: document[key] for key in query["_source_includes"].split(",")}
        return 200, {"_index": name, "_id": number, "_version": 1, "found": True, "_source": source}

    def _count(self, index: Index, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        hits = self._matching(index, only(body, "query")["query"])
        return 200, {"count": len(hits), "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0}}

    def _delete(self, index: Index, body: dict[str, Any], query: Any) -> tuple[int, dict[str, Any]]:
        hits = self._matching(index, only(body, "query")["query"])
        for number in hits:
            del index.documents[number]
        if query.get("refresh") == "true":
            index.searchable = dict(index.documents)
        return 200, {"took": 1, "timed_out": False, "deleted": len(hits), "version_conflicts": 0, "failures": []}

    def _search(self, index: Index, name: str, body: dict[str, Any], query: Any) -> tuple[int, dict[str, Any]]:
        only(body, "query", "size", "sort", "_source")
        if body["size"] > 10_000:
            raise RefusedError(400, "illegal_argument_exception", "Result window is too large")
        assert query["allow_partial_search_results"] == "false"
        scores = self._matching(index, body["query"])
        keys: list[tuple[str, str]] = [next(iter(each.items())) for each in body["sort"]]

        def place(number: str) -> list[float]:
            values = [scores[number] if key == "_score" else index.searchable[number][key] for key, _ in keys]
            return [-value if way == "desc" else value for value, (_, way) in zip(values, keys, strict=True)]

        by_score = any(key == "_score" for key, _ in keys)
        hits: list[dict[str, Any]] = [
            {"_index": name, "_id": number, "_score": scores[number] if by_score else None, "sort": place(number)}
            for number in sorted(scores, key=place)[: body["size"]]
        ]
        for hit in hits:
            document = index.searchable[hit["_id"]]
            if body["_source"] is not False:
                hit["_source"] = {key: document[key] for key in body["_source"]}
        told = {"total": {"value": len(scores), "relation": "eq"}, "max_score": None, "hits": hits}
        return 200, {"took": 1, "timed_out": False, "_shards": {"total": 1, "failed": 0}, "hits": told}

    def _matching(self, index: Index, query: dict[str, Any]) -> dict[str, float]:
        """Scores of the documents that a query matches."""
        ((kind, asked),) = query.items()
        if kind == "ids":
            return {number: 1.0 for number in only(asked, "values")["values"] if number in index.searchable}
        if kind == "script_score":
            only(asked, "query", "script")
            return {
                number: self._score(index, number, asked["script"]) for number in self._matching(index, asked["query"])
            }
        filters = only(only(query, "bool")["bool"], "filter")["filter"]
        return {
            number: 0.0
            for number, document in index.searchable.items()
            if all(matches(each, document) for each in filters)
        }

    def _score(self, index: Index, number: str, script: dict[str, Any]) -> float:
        if only(script, "source", "params")["source"] != SCRIPTS[self.flavour]:
            raise RefusedError(400, "script_exception", f"compile error in {script['source']}")
        vector, asked = index.searchable[number].get("vector"), script["params"]["query_value"]
        if vector is None:
            raise RefusedError(400, "script_exception", "A document doesn't have a value for a vector field!")
        if len(vector) != len(asked):
            raise RefusedError(400, "script_exception", "The query vector has a different number of dimensions")
        product = math.fsum(a * b for a, b in zip(vector, asked, strict=True))
        return 1.0 + product / math.sqrt(math.fsum(a * a for a in vector) * math.fsum(b * b for b in asked))


def only(body: dict[str, Any], *keys: str) -> dict[str, Any]:
    """The body, which holds these keys and no others."""
    if set(body) != set(keys):
        raise RefusedError(400, "parsing_exception", f"expected {sorted(keys)}, got {sorted(body)}")
    return body


def matches(query: dict[str, Any], document: dict[str, Any]) -> bool:
    ((kind, asked),) = query.items()
    ((key, value),) = asked.items()
    if kind == "term":
        held = document.get(key)
        return value in held if isinstance(held, list) else bool(held == value)  # a field may hold several
    if kind == "range":
        return bool(document[key] < only(value, "lt")["lt"])
    raise RefusedError(400, "parsing_exception", f"unknown query [{kind}]")


@asynccontextmanager
async def search_server(flavour: str, authorization: str = "") -> AsyncIterator[StandIn]:
    """A server at a port of its own."""
    stand_in = StandIn(flavour, authorization)
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", stand_in.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    stand_in.url = f"http://{host}:{port}"
    try:
        yield stand_in
    finally:
        await runner.cleanup()
