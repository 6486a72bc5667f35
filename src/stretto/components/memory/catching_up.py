"""Vectors for what was told before a memory was searched."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeVar

from stretto.components.memory.backend import KeptUnsearched, Shelf, without_waiting
from stretto.components.memory.embedding import Embedding, embedded
from stretto.components.memory.settings import MemorySearch
from stretto.components.memory.texts import text_of
from stretto.components.threads import THREADS
from stretto.types.json import Json
from stretto.types.messages import Call

T = TypeVar("T")

BATCH: Final = 100
"""Texts that are embedded at once: what a component is asked in one call."""

MOST_SHELVES: Final = 10_000
"""Known to lack none; beyond that all are looked at again."""


class CatchingUp:
    """Embeds what a file already held, a shelf at a time, when that is first searched in this process."""

    def __init__(self, memory: str, backend: KeptUnsearched, search: MemorySearch, embedding: Embedding) -> None:
        self._memory = memory
        self._backend = backend
        self._search = search
        self._embedding = embedding
        self._done: set[Shelf] = set()

    async def on(self, shelf: Shelf, call: Call) -> None:
        """Embed what the shelf lacks. Raises ComponentError; what was embedded by then stays."""
        if shelf in self._done:
            return
        while lacking := await self._in_thread(lambda: self._backend.without_vectors(shelf, BATCH)):
            vectors = await embedded(self._embedding, [self._text(value) for _, value in lacking], call)
            found = [(number, vector) for (number, _), vector in zip(lacking, vectors, strict=True)]
            await self._in_thread(partial(self._backend.add_vectors, found))
        if len(self._done) == MOST_SHELVES:
            self._done.clear()
        self._done.add(shelf)

    async def _in_thread(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        done = await THREADS.run(self._memory, lambda: without_waiting(work()))
        value: T = done.result()
        return value

    def _text(self, value: Json) -> str:
        """What a longer text begins with: it was kept before there was a limit."""
        return text_of(value, self._search.text)[: self._search.max_chars]
