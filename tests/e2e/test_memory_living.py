"""The cases of a memory against living servers: what the stand-ins answer is asked again.

`STRETTO_TEST_QDRANT`, `STRETTO_TEST_ELASTICSEARCH` and `STRETTO_TEST_OPENSEARCH` name the address of a server each,
where every case makes a collection of its own and drops it. `STRETTO_TEST_OSMEM` names the program osmem-server, an
in-memory server of OpenSearch's API by other hands, which `make living` installs: it knows no vectors.
"""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import uuid4

import aiohttp
import orjson
import pytest

from stretto.components.memory import RecencyMemory
from tests.conformance.test_memory_cases import CASES, hold, request_of, taken_from

pytestmark = pytest.mark.slow

PATHS: Final = {"qdrant": "/collections/{}", "elasticsearch": "/{}", "opensearch": "/{}"}
"""Of a collection, at each server."""


OSMEM: Final = os.environ.get("STRETTO_TEST_OSMEM", "")

URLS: Final = {backend: url for backend in PATHS if (url := os.environ.get(f"STRETTO_TEST_{backend.upper()}"))}


def given(values: list[Any], reason: str) -> list[Any]:
    """What to test with; one that is skipped where there is nothing."""
    return values or [pytest.param(None, marks=pytest.mark.skip(reason=reason))]


def is_searched(case: dict[str, Any]) -> bool:
    """Whether it needs a server that knows vectors."""
    return any(step["ask"].get("query") for step in case["steps"]) or "vectors" in case


PLAIN: Final = [pytest.param(case, id=case["name"]) for case in CASES if OSMEM and not is_searched(case)]

ALL: Final = [pytest.param((each, case), id=f"{each}-{case['name']}") for each in URLS for case in CASES]


@pytest.fixture(scope="module")
def osmem() -> Iterator[str]:
    process = subprocess.Popen([OSMEM, "--no-ja"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield orjson.loads(process.stdout.readline())["url"]
    finally:
        process.stdin.close()  # it ends with that
        process.wait(timeout=10)
        process.stdout.close()


@asynccontextmanager
async def memory_at(backend: str, url: str, options: dict[str, Any]) -> AsyncIterator[RecencyMemory]:
    """A memory in a collection of its own, which is dropped in the end."""
    name = f"stretto-test-{uuid4().hex}"
    memory = RecencyMemory("notes", backend=backend, url=url, collection=name, **taken_from(options))
    await memory.open()
    try:
        yield memory
    finally:
        await memory.close()
        async with aiohttp.ClientSession() as session, session.delete(url + PATHS[backend].format(name)):
            pass


@pytest.mark.parametrize("case", given(PLAIN, "no osmem-server here: `make living` installs one"))
async def test_an_opensearch_of_another_hand_answers_alike(case: dict[str, Any], osmem: str) -> None:
    await _play(case, "opensearch", osmem)


@pytest.mark.parametrize(
    "asked",
    given(ALL, "no server is named in STRETTO_TEST_QDRANT, STRETTO_TEST_ELASTICSEARCH, STRETTO_TEST_OPENSEARCH"),
)
async def test_a_living_server_answers_as_the_case_expects(asked: tuple[str, dict[str, Any]]) -> None:
    backend, case = asked
    await _play(case, backend, URLS[backend])


async def _play(case: dict[str, Any], backend: str, url: str) -> None:
    async with memory_at(backend, url, case.get("memory", {})) as memory:
        for number, step in enumerate(case["steps"]):
            await hold(memory, step, request_of(step, number, case.get("vectors", {})))
