"""Runs the data cases of `memory/` against every backend: what a memory is asked, and what it answers."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from ruamel.yaml import YAML

from stretto.components.memory import MemorySearch, RecencyMemory
from stretto.testing.request import request_for
from stretto.types.errors import ComponentError
from stretto.types.json import Json, JsonObject
from stretto.types.messages import Request
from tests.unit.components.memory.search_stand_in import search_server

CASES_DIR = Path(__file__).parent / "memory"
KEYS = {"name", "memory", "vectors", "steps"}
STEP_KEYS = {"run", "path", "tenant", "labels", "ask", "recent", "found", "scores", "sources", "fails", "refused"}

BACKENDS = ("process", "file", "qdrant", "qdrant folder", "elasticsearch", "opensearch")


def _all_cases() -> list[dict[str, Any]]:
    yaml = YAML(typ="safe", pure=True)
    return [case for file in sorted(CASES_DIR.glob("*.yaml")) for case in yaml.load(file)]


CASES = _all_cases()


class Embedder:
    """Answers with the vectors of a case."""

    def __init__(self, vectors: Mapping[str, Json]) -> None:
        self._vectors = vectors

    async def call(self, component: str, request_input: JsonObject) -> JsonObject:
        assert component == "embedder"
        texts: Any = request_input["texts"]
        if "*" in self._vectors:  # whatever it is asked
            return {"vectors": self._vectors["*"]}
        return {"vectors": [self._vectors[text] for text in texts]}


def taken_from(options: dict[str, Any]) -> dict[str, Any]:
    """A case's options as a memory takes them in Python."""
    search = options.get("search")
    if search is None:
        return options
    return {**options, "search": MemorySearch(**{**search, "text": tuple(search.get("text", ()))})}


@asynccontextmanager
async def memory_of(backend: str, options: dict[str, Any], folder: Path) -> AsyncIterator[RecencyMemory]:
    """The case's memory in one backend."""
    taken = taken_from(options)
    if backend in ("elasticsearch", "opensearch"):
        async with search_server(backend) as server, opened(taken, backend=backend, url=server.url) as memory:
            yield memory
        return
    places: dict[str, dict[str, Any]] = {
        "process": {},
        "file": {"path": folder / "memory.sqlite"},
        "qdrant": {"backend": "qdrant"},
        "qdrant folder": {"backend": "qdrant", "path": folder / "qdrant"},
    }
    async with opened(taken, **places[backend]) as memory:
        yield memory


@asynccontextmanager
async def opened(options: dict[str, Any], **place: Any) -> AsyncIterator[RecencyMemory]:
    memory = RecencyMemory("notes", **options, **place)
    await memory.open()
    try:
        yield memory
    finally:
        await memory.close()


def test_cases_are_well_formed_and_many() -> None:
    assert [case["name"] for case in CASES if set(case) - KEYS] == []
    steps = [step for case in CASES for step in case["steps"]]
    assert [step for step in steps if set(step) - STEP_KEYS or "ask" not in step] == []
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names) >= 30


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
async def test_a_memory_answers_as_the_case_expects(case: dict[str, Any], backend: str, tmp_path: Path) -> None:
    async with memory_of(backend, case.get("memory", {}), tmp_path) as memory:
        for number, step in enumerate(case["steps"]):
            await hold(memory, step, request_of(step, number, case.get("vectors", {})))


def request_of(step: dict[str, Any], number: int, vectors: Mapping[str, Json]) -> Request:
    return request_for(
        _run=step.get("run", "r"),
        _path=step.get("path", f"step{number}"),
        _tenant=step.get("tenant", "default"),
        _labels=step.get("labels", {}),
        _caller=Embedder(vectors),
        **step["ask"],
    )


async def hold(memory: RecencyMemory, step: dict[str, Any], request: Request) -> None:
    """Send one request of a case, and hold the answer to what it expects."""
    fits = jsonschema_rs.is_valid(dict(memory.card.input), step["ask"])
    assert fits is not step.get("refused", False)
    if not fits:
        return
    if "fails" in step:
        with pytest.raises(ComponentError) as caught:
            await memory(request)
        assert caught.value.rpc_code == step["fails"]["code"]
        assert [text for text in step["fails"]["says"] if text not in str(caught.value)] == []
        return
    output: Any = (await memory(request)).output
    assert jsonschema_rs.is_valid(dict(memory.card.output), output)
    if "recent" in step:
        assert output["recent"] == step["recent"]
    found = output.get("found")
    if "found" in step:
        assert (None if found is None else [each["value"] for each in found]) == step["found"]
    if "scores" in step:
        assert [each["score"] for each in found] == pytest.approx(step["scores"], abs=2e-6)
    if "sources" in step:
        assert [each["source"] for each in found] == step["sources"]
