"""Where a memory keeps what it is told, and what may be asked of that place: the one interface of all backends."""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, runtime_checkable

import msgspec

from stretto.types.errors import ComponentError
from stretto.types.json import Json
from stretto.types.waited import NeverBegun, Waited

if TYPE_CHECKING:  # numpy takes 0.1 s to import, and a memory that is not searched never needs it
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]
    """One text in the space of an embedding, of length 1."""

T = TypeVar("T")

SCORE_DIGITS: Final = 6
"""Decimals of a score: two texts that differ by less are equally near, and the later one comes first."""


class Shelf(msgspec.Struct, frozen=True):
    """Whose memories are meant: those of one tenant and scope never meet another's."""

    tenant: str
    scope: str


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """One value to keep."""

    effect_key: str
    """Of the call that told it; a second time with the same key nothing is kept."""
    value: Json
    vector: "Vector | None" = None
    """Of its text; None when it has none, and then it is never found."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What is searched for."""

    vector: "Vector"
    top: int
    """Most that are told."""
    above: float
    """Cosine that what is told exceeds."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A value that is near to what was searched for."""

    value: Json
    score: float
    """Cosine of the two texts' vectors, to `SCORE_DIGITS` decimals."""
    source: str
    """Effect key under which it was told: the run, and the step in it."""


class MemoryBackend(Protocol):
    """Keeps values in the order in which they came, at most so many of a shelf: the oldest are forgotten first.

    What one call was told, the next one sees. Methods raise ComponentError, and then say whether anything was kept.
    """

    @property
    def blocks(self) -> bool:
        """Whether calls hold up the thread that they are made in; such a backend never waits for the event loop."""
        ...

    async def open(self) -> None:
        """Make ready; nothing has to be reachable yet."""
        ...

    async def close(self) -> None:
        """Let go of files and connections; the next call opens them again."""
        ...

    async def remember(self, shelf: Shelf, memory: Memory) -> None:
        """Keep a value; a second time with the same effect key does nothing, also where it was forgotten meanwhile."""
        ...

    async def recall(self, shelf: Shelf, limit: int) -> Sequence[Json]:
        """The last values, oldest first."""
        ...

    async def search(self, shelf: Shelf, query: Query) -> Sequence[Found]:
        """The nearest values, nearest first; of those equally near the later ones first."""
        ...

    async def forget(self, shelf: Shelf, effect_key: str) -> None:
        """Forget all that was told before; a second time with the same effect key nothing that was told since."""
        ...


@runtime_checkable
class KeptUnsearched(Protocol):
    """A backend that may hold what was told before the memory was searched."""

    async def without_vectors(self, shelf: Shelf, most: int) -> Sequence[tuple[int, Json]]:
        """The oldest of the values whose text was not yet turned into a vector, each with its number."""
        ...

    async def add_vectors(self, vectors: "Sequence[tuple[int, Vector | None]]") -> None:
        """Keep the vectors of values by number; None is that of a value without text."""
        ...


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What one request asks of a memory."""

    effect_key: str
    forget: bool
    memory: Memory | None
    limit: int
    """Values told by how recent they are."""
    query: Query | None


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What it is told."""

    recent: Sequence[Json]
    found: Sequence[Found]


async def carry_out(backend: MemoryBackend, shelf: Shelf, asked: Asked) -> Told:
    """Forget, then remember, then tell what is recent, then search: all but what the same step told."""
    if not asked.forget and asked.memory is None:
        return await _tell(backend, shelf, asked)
    if asked.forget:
        await backend.forget(shelf, asked.effect_key)
    if asked.memory is not None:
        with after_writing() if asked.forget else nullcontext():
            await backend.remember(shelf, asked.memory)
    with after_writing():
        return await _tell(backend, shelf, asked)


async def _tell(backend: MemoryBackend, shelf: Shelf, asked: Asked) -> Told:
    recent = await backend.recall(shelf, asked.limit) if asked.limit else ()
    query = asked.query
    if query is None or not query.top:
        return Told(recent=recent, found=())
    one_more = msgspec.structs.replace(query, top=query.top + 1)
    found = [each for each in await backend.search(shelf, one_more) if each.source != asked.effect_key]
    return Told(recent=recent, found=found[: query.top])


@contextmanager
def after_writing() -> Iterator[None]:
    """What ends the work inside says that a request left: one before it did, and was carried out."""
    try:
        yield
    except ComponentError as error:
        error.sent = True
        raise
    except asyncio.CancelledError as cancelled:
        if isinstance(cancelled.__cause__, NeverBegun):
            raise asyncio.CancelledError from Waited(cancelled.__cause__.queue_ms)
        raise


def without_waiting(work: Coroutine[Any, Any, T]) -> T:
    """The value of what never waits, in a thread that has no event loop: the work of a backend that `blocks`."""
    try:
        work.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    work.close()
    raise RuntimeError("a memory backend that blocks waited for the event loop")
