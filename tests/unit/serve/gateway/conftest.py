"""A gateway on loopback before a model server that answers as told."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from openai import AsyncOpenAI

from stretto.record.model import Run, StepRecord
from stretto.serve.gateway.app import Gateway
from stretto.serve.gateway.settings import GatewaySettings
from stretto.store.sqlite import Store
from tests.unit.components.rules.conftest import Serving
from tests.unit.serve.gateway.model_server import ModelServer

HELLO: list[Any] = [{"role": "user", "content": "Say only: hi"}]


class Standing:
    """A gateway that answers, and what is asked of it. Any: JSON of answers."""

    def __init__(self, store: Path, settings: GatewaySettings) -> None:
        self.store = store
        self.gateway = Gateway(Store(store), settings)
        self._stack = AsyncExitStack()
        self._http = aiohttp.ClientSession(auto_decompress=True)
        self.url = ""

    async def start(self) -> None:
        await self._stack.enter_async_context(self.gateway.living())
        serving = Serving(self.gateway)
        self._stack.push_async_callback(serving.stop)
        await serving.is_ready.wait()
        self.url = serving.url

    async def stop(self) -> None:
        await self._http.close()
        await self._stack.aclose()

    def client(self, key: str = "", **options: Any) -> AsyncOpenAI:
        """OpenAI's own client, the key in its path; a machine that is busy may let it wait: its own limit is 5 s."""
        base_url = f"{self.url}/run/{key}/v1" if key else f"{self.url}/v1"
        client = AsyncOpenAI(**{"base_url": base_url, "api_key": "none", "max_retries": 0, "timeout": 60, **options})
        self._stack.push_async_callback(client.close)
        return client

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any, Mapping[str, str]]:
        """Status, body and headers; a body that is bytes goes as it is."""
        if body is not None:
            more["data"] = body if isinstance(body, bytes) else orjson.dumps(body)
            more.setdefault("headers", {}).setdefault("Content-Type", "application/json")
        async with self._http.request(method, self.url + path, **more) as response:
            content = await response.read()
            is_json = "json" in response.content_type
            return (
                response.status,
                orjson.loads(content) if is_json else content.decode(errors="replace"),
                response.headers,
            )

    async def end(self, key: str, **ending: Any) -> Run:
        """End a run and read it back."""
        status, told, _ = await self.ask("POST", f"/runs/{key}/end", ending)
        assert status == 200, told
        return self.run(told["run"])

    def run(self, run_id: str) -> Run:
        with Store(self.store) as store:
            return store.get(run_id)

    def runs(self) -> list[Run]:
        """Every run that was sealed, oldest first."""
        with Store(self.store) as store:
            return list(store.runs())

    async def ended(self, count: int) -> list[Run]:
        """The runs, once so many are sealed."""
        while len(found := await asyncio.to_thread(self.runs)) < count:
            pass
        return found


def calls(run: Run) -> dict[str, StepRecord]:
    """The calls of a run by path."""
    return {step.path: step for step in run.steps if step.component}


Begin = Callable[..., Awaitable[Standing]]


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    standing = ModelServer()
    await standing.start()
    yield standing
    await standing.stop()


@pytest.fixture
async def begin(server: ModelServer, tmp_path: Path) -> AsyncIterator[Begin]:
    """`await begin(**settings)`: a gateway before the server; stopped at the end unless the test did."""
    begun: list[Standing] = []

    async def start(**options: Any) -> Standing:
        for name in ("idle", "timeout"):
            if isinstance(options.get(name), float):
                options[name] = timedelta(seconds=options[name])
        settings = GatewaySettings(**{"upstream": server.base_url, **options})
        begun.append(Standing(tmp_path / "runs.db", settings))
        await begun[-1].start()
        return begun[-1]

    yield start
    for each in begun:
        await each.stop()


@pytest.fixture
async def gateway(begin: Begin) -> Standing:
    return await begin()
