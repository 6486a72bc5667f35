"""A memory in Elasticsearch or OpenSearch: a server that is away, slow, closed, full or somebody else's."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import orjson
import pytest
from aiohttp import web

from stretto.components.memory import MemorySearch, RecencyMemory
from stretto.testing.request import request_for
from stretto.types.errors import Code, ComponentError
from tests.unit.components.memory.search_stand_in import StandIn, search_server


@pytest.fixture(params=["elasticsearch", "opensearch"])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[StandIn]:
    async with search_server(request.param) as stand_in:
        yield stand_in


def memory_at(server: StandIn, **options: Any) -> RecencyMemory:
    return RecencyMemory("notes", backend=server.flavour, url=server.url, **options)


async def told(memory: RecencyMemory, **fields: Any) -> Any:
    return (await memory(request_for(**fields))).output


async def test_a_memory_is_there_for_the_next_process(server: StandIn) -> None:
    first = memory_at(server)
    await told(first, remember="the parcel")
    await first.close()
    again = memory_at(server)
    answer = await told(again, query="parcel", _path="x")
    assert (answer["recent"], [each["value"] for each in answer["found"]]) == (["the parcel"], ["the parcel"])
    await again.close()


async def test_an_index_is_looked_at_once(server: StandIn) -> None:
    memory = memory_at(server)
    await told(memory, _path="1")
    assert [request.partition("?")[0] for request in server.requests] == [
        "GET /notes/_mapping",
        "PUT /notes",
        "GET /notes/_mapping",
        "POST /notes/_search",
    ]
    server.requests.clear()
    await told(memory, remember="a", limit=0, _path="2")
    assert [request.partition("?")[0].rpartition("/")[0] for request in server.requests] == [
        "POST /notes",  # whether it was forgotten
        "PUT /notes/_create",
        "POST /notes",
    ]
    await memory.close()


async def test_who_makes_the_index_second_uses_the_first_one_s(server: StandIn) -> None:
    first, second = memory_at(server), memory_at(server)
    server.fails_with.append(_answer(404, "index_not_found_exception"))
    await told(first, remember="a", _path="1")
    server.fails_with.append(_answer(404, "index_not_found_exception"))
    assert (await told(second, remember="b", _path="2"))["recent"] == ["a", "b"]
    for memory in (first, second):
        await memory.close()


async def test_an_index_with_vectors_of_another_embedding_is_refused(server: StandIn) -> None:
    first = memory_at(server)
    await told(first, remember="a")
    await first.close()
    other = memory_at(server, search=MemorySearch(dimensions=64))
    says = "the index 'notes' holds vectors of 'hashed-1/512'.*'hashed-1/64'.*another `collection`"
    with pytest.raises(ComponentError, match=says) as caught:
        await told(other, remember="b")
    assert (caught.value.rpc_code, caught.value.sent) == (Code.FAILED_PRECONDITION, False)
    await other.close()


async def test_somebody_else_s_index_is_refused(server: StandIn) -> None:
    server.fails_with.append(web.Response(body=orjson.dumps({"notes": {"mappings": {}}})))
    memory = memory_at(server)
    with pytest.raises(
        ComponentError, match="the index 'notes' is there, and no memory of this release made it"
    ) as caught:
        await told(memory)
    assert caught.value.rpc_code is Code.FAILED_PRECONDITION
    await memory.close()


async def test_a_server_that_is_away_may_be_asked_again() -> None:
    async with search_server("elasticsearch") as server:
        memory = memory_at(server)
    says = "the elasticsearch of memory 'notes' at http://127.0.0.1:.* cannot be reached"
    for fields in ({"remember": "a"}, {}):
        with pytest.raises(ComponentError, match=says) as caught:
            await told(memory, **fields)
        assert (caught.value.rpc_code, caught.value.retryable, caught.value.sent) == (Code.UNAVAILABLE, True, False)
    await memory.close()


async def test_what_fails_after_the_value_was_kept_does_not_say_that_nothing_was_sent() -> None:
    async with search_server("elasticsearch") as server:
        memory = memory_at(server)
        await told(memory, remember="a", _path="1")
        await memory.close()
        answer = server.answer

        async def then_away(request: web.Request) -> web.StreamResponse:
            if "_create" in request.path:
                return await answer(request)
            assert request.transport is not None
            request.transport.close()
            return web.Response()

        server.answer = then_away  # type: ignore[method-assign,assignment]
    async with _served(server) as url:
        away = RecencyMemory("notes", backend="elasticsearch", url=url)
        away._backend._is_ready = True  # type: ignore[attr-defined]
        with pytest.raises(ComponentError, match="was lost") as caught:
            await told(away, remember="b", _path="2")
        assert (caught.value.sent, caught.value.retryable) == (True, True)
        await away.close()


async def test_a_server_that_never_answers_is_not_waited_for(server: StandIn) -> None:
    silent = asyncio.Event()

    async def waits(request: web.Request) -> web.StreamResponse:
        await silent.wait()
        return web.Response()

    server.answer = waits  # type: ignore[method-assign,assignment]
    async with _served(server) as url:
        memory = RecencyMemory("notes", backend=server.flavour, url=url, timeout=timedelta(milliseconds=20))
        with pytest.raises(ComponentError, match=r"gave no answer within 0\.02 s.*`timeout`") as caught:
            await told(memory)
        assert (caught.value.rpc_code, caught.value.retryable) == (Code.DEADLINE_EXCEEDED, True)
        silent.set()
        await memory.close()


@pytest.mark.parametrize(
    ("status", "code", "says"),
    [
        (401, Code.UNAUTHENTICATED, "answered 401: some_exception: it will not; name the environment variable"),
        (403, Code.PERMISSION_DENIED, "answered 403: some_exception: it will not"),
        (429, Code.RESOURCE_EXHAUSTED, "answered 429"),
        (503, Code.UNAVAILABLE, "answered 503"),
    ],
)
async def test_a_refusal_says_what_the_server_said(server: StandIn, status: int, code: Code, says: str) -> None:
    memory = memory_at(server)
    refusal = _answer(status, "some_exception")
    refusal.headers["Retry-After"] = "7"
    server.fails_with.append(refusal)
    with pytest.raises(ComponentError, match=says) as caught:
        await told(memory)
    assert (caught.value.rpc_code, caught.value.retry_after_s) == (code, 7.0)
    assert (await told(memory))["recent"] == []
    await memory.close()


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            {
                "type": "search_phase_execution_exception",
                "reason": "all shards failed",
                "root_cause": [
                    {
                        "type": "script_exception",
                        "reason": "runtime error",
                        "caused_by": {"type": "illegal_argument_exception", "reason": "no such field"},
                    }
                ],
            },
            r"400: script_exception: runtime error \(illegal_argument_exception: no such field\)",
        ),
        ({"type": "a", "reason": "b"}, "400: a: b"),
        ("closed", '400: {"error":"closed"}'),
        ({"root_cause": [7]}, "400: {"),
    ],
)
async def test_a_refusal_names_what_it_came_from(server: StandIn, error: Any, says: str) -> None:
    memory = memory_at(server)
    server.fails_with.append(web.Response(status=400, body=orjson.dumps({"error": error})))
    with pytest.raises(ComponentError, match=says) as caught:
        await told(memory)
    assert not caught.value.retryable
    await memory.close()


@pytest.mark.parametrize("body", [b"<html>a proxy</html>", b"[]", b'{"notes": 1}', b"\xff"])
async def test_an_answer_that_cannot_be_read_is_quoted(server: StandIn, body: bytes) -> None:
    memory = memory_at(server)
    server.fails_with.append(web.Response(body=body))
    with pytest.raises(ComponentError, match=r"answered what cannot be read .* it begins with") as caught:
        await told(memory)
    assert caught.value.rpc_code is Code.INTERNAL
    await memory.close()


@pytest.mark.parametrize(
    ("key", "header"), [("bm90ZXM6a2V5", "ApiKey bm90ZXM6a2V5"), ("elastic:changeme", "Basic ZWxhc3RpYzpjaGFuZ2VtZQ==")]
)
async def test_a_key_introduces_the_memory(key: str, header: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_KEY", key)
    async with search_server("elasticsearch", authorization=header) as server:
        memory = memory_at(server, api_key_env="SEARCH_KEY")
        assert (await told(memory, remember="a"))["recent"] == ["a"]
        await memory.close()
        stranger = memory_at(server)
        with pytest.raises(ComponentError, match=r"missing authentication credentials.*api_key_env"):
            await told(stranger)
        await stranger.close()


def _answer(status: int, kind: str) -> web.Response:
    body = {"error": {"type": kind, "reason": "it will not"}, "status": status}
    return web.Response(status=status, body=orjson.dumps(body), content_type="application/json")


@asynccontextmanager
async def _served(server: StandIn) -> AsyncIterator[str]:
    """Serve what the stand-in answers now, at another port."""
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}"
    await runner.cleanup()
