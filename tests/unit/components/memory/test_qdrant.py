"""A memory in Qdrant: a folder that outlives the process, and a server that may be away, closed or somebody else's."""

import asyncio
import gc
import warnings
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from qdrant_client import models

from stretto.components.memory import MemorySearch, RecencyMemory, places
from stretto.testing.request import request_for
from stretto.types.errors import Code, ComponentError, MissingExtraError, UsageError
from tests.unit.components.memory.qdrant_stand_in import qdrant_server


def memory_at(**options: Any) -> RecencyMemory:
    return RecencyMemory("notes", backend="qdrant", **options)


async def told(memory: RecencyMemory, **fields: Any) -> Any:
    return (await memory(request_for(**fields))).output


async def test_a_folder_outlives_the_memory(tmp_path: Path) -> None:
    first = memory_at(path=tmp_path / "q")
    await told(first, remember="the parcel", _path="one")
    await told(first, remember={"no": None}, _path="two")
    await first.close()
    again = memory_at(path=tmp_path / "q")
    answer = await told(again, query="parcel")
    assert answer["recent"] == ["the parcel", {"no": None}]
    assert [each["value"] for each in answer["found"]] == ["the parcel"]
    await again.close()


async def test_a_folder_that_another_has_may_be_tried_again(tmp_path: Path) -> None:
    first, second = memory_at(path=tmp_path / "q"), memory_at(path=tmp_path / "q")
    await told(first, remember="a")
    with pytest.raises(ComponentError, match="one process at a time may have a folder") as caught:
        await told(second, remember="b")
    assert (caught.value.rpc_code, caught.value.retryable, caught.value.sent) == (Code.UNAVAILABLE, True, False)
    await first.close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the client leaves its lock file open when it is refused
        del caught
        gc.collect()
    assert (await told(second, _path="x"))["recent"] == ["a"]
    await second.close()


async def test_a_collection_with_vectors_of_another_embedding_is_refused(tmp_path: Path) -> None:
    first = memory_at(path=tmp_path / "q")
    await told(first, remember="a")
    await first.close()
    other = memory_at(path=tmp_path / "q", search=MemorySearch(dimensions=64))
    says = "the collection 'notes' holds vectors of 'hashed-1-512'.*'hashed-1-64'.*another `collection`"
    with pytest.raises(ComponentError, match=says) as caught:
        await told(other, remember="b")
    assert (caught.value.rpc_code, caught.value.sent) == (Code.FAILED_PRECONDITION, False)
    await other.close()
    beside = memory_at(path=tmp_path / "q", search=MemorySearch(dimensions=64), collection="others")
    assert (await told(beside, remember="b"))["recent"] == ["b"]
    await beside.close()


def test_in_the_process_it_outlives_an_event_loop() -> None:
    memory = memory_at()
    asyncio.run(told(memory, remember="a"))

    async def later() -> Any:
        await memory.close()
        return await told(memory, _path="x")

    assert asyncio.run(later()) == {"recent": ["a"]}


async def test_a_server_is_asked_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QDRANT_KEY", "secret")
    async with qdrant_server("secret") as server:
        memory = memory_at(url=server.url, api_key_env="QDRANT_KEY", limit=2, keep=2)
        await memory.open()
        with pytest.warns(UserWarning, match="insecure connection"):  # the client's own: no TLS
            await told(memory)
        for number, text in enumerate(("the parcel is late", "some tea", "the parcel came")):
            await told(memory, remember=text, _path=str(number))
            await told(memory, remember=text, _path=str(number))
        answer = await told(memory, query="parcel", top=1)
        assert (answer["recent"], answer["found"][0]["source"]) == (["some tea", "the parcel came"], "run-1/2")
        assert (await told(memory, forget=True, _path="f"))["recent"] == []
        assert server.indexed == {**dict.fromkeys(("tenant", "scope", "kind", "key"), "keyword"), "place": "integer"}
        await memory.close()
        with pytest.warns(UserWarning, match="insecure connection"):
            assert (await told(memory, remember="again", _path="g"))["recent"] == ["again"]
        await memory.close()


async def test_a_server_that_is_away_may_be_asked_again() -> None:
    async with qdrant_server() as server:
        url = server.url
    memory = memory_at(url=url)
    with pytest.raises(ComponentError, match=f"Qdrant \\({url}\\) cannot be reached: .*is it running") as caught:
        await told(memory, remember="a")
    assert (caught.value.rpc_code, caught.value.retryable, caught.value.sent) == (Code.UNAVAILABLE, True, False)
    await memory.close()


@pytest.mark.parametrize(
    ("status", "code", "says"),
    [
        (401, Code.UNAUTHENTICATED, "answered 401: .*api_key_env"),
        (403, Code.PERMISSION_DENIED, "answered 403"),
        (429, Code.RESOURCE_EXHAUSTED, "answered 429"),
        (503, Code.UNAVAILABLE, "answered 503: not now"),
    ],
)
async def test_a_refusal_says_what_the_server_said(status: int, code: Code, says: str) -> None:
    async with qdrant_server() as server:
        server.fails_with.append(web.Response(status=status, text="not\nnow"))
        memory = memory_at(url=server.url)
        with pytest.raises(ComponentError, match=says) as caught:
            await told(memory)
        assert caught.value.rpc_code is code
        assert (await told(memory))["recent"] == []
        await memory.close()


async def test_what_fails_after_the_value_was_kept_does_not_say_that_nothing_was_sent() -> None:
    async with qdrant_server() as server:
        memory = memory_at(url=server.url)
        await told(memory, remember="a", _path="1")
        put = server.local.upsert

        async def then_away(*given: Any) -> Any:
            answer = await put(*given)
            server.fails_with.append(web.Response(status=503))
            return answer

        server.local.upsert = then_away  # type: ignore[method-assign,assignment]
        with pytest.raises(ComponentError, match="answered 503") as caught:
            await told(memory, remember="b", _path="2")
        assert caught.value.sent
        assert (await told(memory, remember="b", _path="2"))["recent"] == ["a", "b"]
        await memory.close()


async def test_somebody_else_s_collection_is_refused() -> None:
    async with qdrant_server() as server:
        params = models.VectorParams(size=3, distance=models.Distance.DOT)
        await server.local.create_collection("notes", vectors_config=params)
        memory = memory_at(url=server.url)
        with pytest.raises(ComponentError, match="holds vectors of 'one without a name'"):
            await told(memory)
        await memory.close()


async def test_a_key_that_is_not_set_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QDRANT_KEY", raising=False)
    memory = memory_at(url="http://127.0.0.1:9", api_key_env="QDRANT_KEY")
    with pytest.raises(ComponentError, match=r"takes its key from \$QDRANT_KEY, which is not set") as caught:
        await told(memory)
    assert (caught.value.rpc_code, caught.value.sent) == (Code.UNAUTHENTICATED, False)


async def test_connections_of_a_loop_that_lives_are_not_taken(tmp_path: Path) -> None:
    async with qdrant_server() as server:
        memory = memory_at(url=server.url)
        await told(memory)
        with pytest.raises(UsageError, match="memory 'notes' is open in another event loop"):
            await asyncio.to_thread(lambda: asyncio.run(told(memory)))
        await memory.close()


def test_without_the_client_the_extra_is_named_when_it_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"a memory in Qdrant .*\[qdrant\]"):
        memory_at()
