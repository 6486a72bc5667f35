"""A memory's file that was there before it was searched is searched as well."""

from pathlib import Path
from typing import Any

import pytest

from stretto.components.memory import MemorySearch, RecencyMemory, catching_up
from stretto.testing.request import request_for
from stretto.types.errors import Code, ComponentError
from stretto.types.json import JsonObject


class Embedder:
    """Counts what it is asked, and may fail."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.fails_at = 0

    async def call(self, component: str, request_input: JsonObject) -> JsonObject:
        texts: Any = request_input["texts"]
        self.asked.append(texts)
        if len(self.asked) == self.fails_at:
            raise ComponentError("no model now", Code.UNAVAILABLE)
        return {"vectors": [[1.0, float(len(text))] for text in texts]}


SEARCH = MemorySearch(embed="embedder", dimensions=2, limit=50, max_chars=6)


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A file that a memory without a search wrote."""
    plain = RecencyMemory("notes", path=tmp_path / "m.sqlite")
    for number, value in enumerate(("a", {"b": 1}, True, "longer than that")):
        await plain(request_for(remember=value, _path=str(number)))
    await plain(request_for(remember="of another", _tenant="other", _path="other"))
    await plain.close()
    return tmp_path / "m.sqlite"


async def found(memory: RecencyMemory, embedder: Embedder, **fields: Any) -> list[Any]:
    output: Any = (await memory(request_for(query="q", _caller=embedder, **fields))).output
    return [each["value"] for each in output["found"]]


async def test_what_was_told_before_is_found_and_embedded_once(path: Path) -> None:
    embedder, memory = Embedder(), RecencyMemory("notes", path=path, search=SEARCH)
    everything = ["longer than that", {"b": 1}, "a"]
    assert set(map(str, await found(memory, embedder))) == set(map(str, everything))
    assert embedder.asked == [["q"], ["a", "1", "longer"]]
    await found(memory, embedder)
    await memory.close()
    again = RecencyMemory("notes", path=path, search=SEARCH)
    assert len(await found(again, embedder)) == len(everything)
    assert embedder.asked[2:] == [["q"], ["q"]]
    assert await found(again, embedder, _tenant="other") == ["of another"]
    await again.close()


async def test_many_are_embedded_some_at_a_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catching_up, "BATCH", 2)
    embedder, memory = Embedder(), RecencyMemory("notes", path=path, search=SEARCH)
    assert len(await found(memory, embedder)) == 3
    assert embedder.asked == [["q"], ["a", "1"], ["longer"]]
    await memory.close()


async def test_where_it_fails_it_goes_on_the_next_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catching_up, "BATCH", 2)
    embedder, memory = Embedder(), RecencyMemory("notes", path=path, search=SEARCH)
    embedder.fails_at = 3
    with pytest.raises(ComponentError, match="no model now") as caught:
        await found(memory, embedder, remember="new")
    assert (caught.value.sent, caught.value.retryable) == (False, True)
    assert len(await found(memory, embedder)) == 3
    assert embedder.asked[3:] == [["q"], ["longer"]]
    await memory.close()


async def test_shelves_known_to_lack_nothing_are_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catching_up, "MOST_SHELVES", 1)
    embedder, memory = Embedder(), RecencyMemory("notes", path=path, search=SEARCH)
    for tenant in ("default", "other", "default"):
        assert await found(memory, embedder, _tenant=tenant)
    assert memory._catching_up is not None
    assert len(memory._catching_up._done) == 1
    await memory.close()
