"""A memory in the process: it lasts as long as that does."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import orjson

from stretto.components.memory.backend import Found, Memory, Query, Shelf
from stretto.types.json import Json

if TYPE_CHECKING:
    from stretto.components.memory.vectors import VectorIndex


@dataclass(slots=True)
class _Kept:
    """What one shelf holds."""

    values: OrderedDict[str, tuple[int, bytes]] = field(default_factory=OrderedDict)
    """By effect key, oldest first: its number, and the value as JSON."""
    keys: dict[int, str] = field(default_factory=dict)
    """Effect keys by number, of values that can be found."""
    index: "VectorIndex | None" = None
    """Their vectors; made with the first."""
    forgotten: OrderedDict[str, None] = field(default_factory=OrderedDict)
    """Effect keys of values that were forgotten: whoever sends one again brings it back for nobody."""


class ProcessBackend:
    """Keeps values while the process lives, `keep` of a shelf. Implements `MemoryBackend`."""

    blocks = False

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._shelves: dict[Shelf, _Kept] = {}
        self._forgets: dict[Shelf, OrderedDict[str, int]] = {}
        self._last = 0

    async def open(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Nothing to do: what is kept stays, for the next event loop."""

    async def remember(self, shelf: Shelf, memory: Memory) -> None:
        """As `MemoryBackend.remember`."""
        kept = self._shelves.setdefault(shelf, _Kept())
        if memory.effect_key not in kept.values and memory.effect_key not in kept.forgotten:
            self._last += 1
            kept.values[memory.effect_key] = (self._last, orjson.dumps(memory.value))
            _add_vector(kept, self._last, memory)
            _drop_first(kept, len(kept.values) - self._keep)

    async def recall(self, shelf: Shelf, limit: int) -> Sequence[Json]:
        """As `MemoryBackend.recall`."""
        kept = self._shelves.get(shelf)
        last = () if kept is None else islice(reversed(kept.values.values()), limit)
        return [orjson.loads(value) for _, value in last][::-1]

    async def search(self, shelf: Shelf, query: Query) -> Sequence[Found]:
        """As `MemoryBackend.search`."""
        kept = self._shelves.get(shelf)
        if kept is None or kept.index is None:
            return []
        near = [(kept.keys[number], score) for number, score in kept.index.nearest(query)]
        return [Found(value=orjson.loads(kept.values[key][1]), score=score, source=key) for key, score in near]

    async def forget(self, shelf: Shelf, effect_key: str) -> None:
        """As `MemoryBackend.forget`."""
        forgets = self._forgets.setdefault(shelf, OrderedDict())
        if effect_key not in forgets:
            self._last += 1
            forgets[effect_key] = self._last
            if len(forgets) > self._keep:
                forgets.popitem(last=False)
        kept = self._shelves.get(shelf, _Kept())
        before = forgets[effect_key]
        gone = [key for key, (number, _) in kept.values.items() if number < before]
        kept.forgotten.update(dict.fromkeys(gone))
        while len(kept.forgotten) > self._keep:
            kept.forgotten.popitem(last=False)
        _drop_first(kept, len(gone))


def _add_vector(kept: _Kept, number: int, memory: Memory) -> None:
    if memory.vector is None:
        return
    if kept.index is None:
        from stretto.components.memory.vectors import VectorIndex

        kept.index = VectorIndex(len(memory.vector))
    kept.index.append(number, memory.vector)
    kept.keys[number] = memory.effect_key


def _drop_first(kept: _Kept, count: int) -> None:
    """Drop that many of the oldest."""
    number = -1
    for _ in range(count):
        _, (number, _) = kept.values.popitem(last=False)
        kept.keys.pop(number, None)
    if kept.index is not None and number >= 0:
        kept.index.drop_before(number + 1)
