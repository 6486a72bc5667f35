"""Stands in for a Qdrant server: the REST requests of its client, carried out by the client's own local mode.

Bodies are read by the client's models of the server's API, so that what a server would not know is refused here too.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson
from aiohttp import web
from pydantic import BaseModel, ValidationError
from qdrant_client import AsyncQdrantClient, models

M = TypeVar("M", bound=BaseModel)


@dataclass
class StandIn:
    api_key: str = ""
    url: str = ""
    local: AsyncQdrantClient = field(default_factory=lambda: AsyncQdrantClient(location=":memory:"))
    indexed: dict[str, str] = field(default_factory=dict)
    """Fields with a payload index, and their types."""
    fails_with: list[web.Response] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        if self.fails_with:
            return self.fails_with.pop(0)
        if self.api_key and request.headers.get("api-key") != self.api_key:
            return web.Response(status=401, text="Must provide an API key or an Authorization bearer token")
        body = await request.read()
        try:
            result = await self._do(request, orjson.loads(body) if body else {})
        except (ValidationError, ValueError) as error:
            return _told({"status": {"error": str(error)}, "result": None}, 400)
        return _told({"result": result, "status": "ok", "time": 0.0}, 200)

    async def _do(self, request: web.Request, body: dict[str, Any]) -> Any:
        _, collections, name, *rest = request.path.split("/")
        assert collections == "collections"
        match request.method, "/".join(rest):
            case "GET", "exists":
                return {"exists": await self.local.collection_exists(name)}
            case "PUT", "":
                vectors = {key: models.VectorParams(**value) for key, value in body["vectors"].items()}
                return await self.local.create_collection(name, vectors_config=vectors)
            case "PUT", "index":
                self.indexed[body["field_name"]] = body["field_schema"]
                return _updated()
            case "GET", "":
                return (await self.local.get_collection(name)).model_dump(mode="json")
            case "PUT", "points":
                points = models.PointsList(**body).points
                await self.local.upsert(name, points)
                return _updated()
            case "POST", "points":
                return [point.model_dump(mode="json") for point in await self.local.retrieve(name, body["ids"])]
            case "POST", "points/scroll":
                return await self._scroll(name, models.ScrollRequest(**body))
            case "POST", "points/count":
                counted = models.CountRequest(**body)
                self._hold_to_indexes(counted.filter)
                return (await self.local.count(name, count_filter=counted.filter)).model_dump(mode="json")
            case "POST", "points/query":
                return await self._query(name, models.QueryRequest(**body))
            case "POST", "points/delete":
                chosen = models.FilterSelector(**body) if "filter" in body else models.PointIdsList(**body)
                await self.local.delete(name, chosen)
                return _updated()
        raise ValueError(f"no such request: {request.method} {request.path}")

    async def _scroll(self, name: str, asked: models.ScrollRequest) -> dict[str, Any]:
        assert isinstance(asked.order_by, models.OrderBy)
        if self.indexed.get(asked.order_by.key) != "integer":
            raise ValueError(f"No range index for `order_by` key: `{asked.order_by.key}`")
        self._hold_to_indexes(asked.filter)
        points, offset = await self.local.scroll(name, asked.filter, limit=asked.limit or 10, order_by=asked.order_by)
        return {"points": [point.model_dump(mode="json") for point in points], "next_page_offset": offset}

    async def _query(self, name: str, asked: models.QueryRequest) -> dict[str, Any]:
        assert asked.params is not None
        assert asked.params.exact
        self._hold_to_indexes(asked.filter)
        query: Any = asked.query.nearest if isinstance(asked.query, models.NearestQuery) else asked.query
        told = await self.local.query_points(
            name, query, using=asked.using, query_filter=asked.filter, limit=asked.limit or 10
        )
        return told.model_dump(mode="json")

    def _hold_to_indexes(self, asked: models.Filter | None) -> None:
        """A server in strict mode filters by nothing else."""
        conditions: Any = [] if asked is None else asked.must
        for each in conditions:
            assert each.key in self.indexed


def _updated() -> dict[str, Any]:
    return {"operation_id": 0, "status": "completed"}


def _told(content: dict[str, Any], status: int) -> web.Response:
    return web.Response(status=status, body=orjson.dumps(content), content_type="application/json")


@asynccontextmanager
async def qdrant_server(api_key: str = "") -> AsyncIterator[StandIn]:
    """A server at a port of its own."""
    stand_in = StandIn(api_key)
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
        await stand_in.local.close()
