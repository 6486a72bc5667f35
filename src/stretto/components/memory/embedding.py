"""What turns texts into vectors: the hashed n-grams of a text, a small model, or a component of the workflow."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

import orjson

from stretto.components.memory.minilm_package import hold_to_packages
from stretto.components.memory.settings import HASHED, MINILM, MINILM_DIMENSIONS, MemorySearch
from stretto.components.threads import THREADS
from stretto.types.errors import Code, ComponentError, InDoubtError
from stretto.types.messages import Call

if TYPE_CHECKING:
    from stretto.components.memory.backend import Vector

INLINE_CHARS: Final = 500
"""Text that is hashed in the event loop, in 1 ms; longer ones in a thread."""

HASHED_VERSION: Final = 1
"""Of the way in which texts are hashed. Vectors of two ways cannot be compared."""


class Embedding(Protocol):
    """Turns texts into vectors of one space."""

    @property
    def name(self) -> str:
        """What vectors have to have in common to be compared: kept beside them."""
        ...

    @property
    def dimensions(self) -> int: ...

    async def open(self) -> None:
        """Load what takes long to load."""
        ...

    async def vectors(self, texts: Sequence[str], call: Call) -> "list[Vector | None]":
        """One of length 1 for each text; None where a text says nothing."""
        ...


class HashedEmbedding:
    """N-grams of characters and words, hashed: no model, any script, the same on every machine."""

    def __init__(self, memory: str, dimensions: int) -> None:
        self._memory = memory
        self.dimensions = dimensions
        self.name = f"{HASHED}-{HASHED_VERSION}/{dimensions}"

    async def open(self) -> None:
        """Import numpy."""
        from stretto.components.memory import hashed  # noqa: F401  # so that the first call need not wait for it

    async def vectors(self, texts: Sequence[str], _call: Call) -> "list[Vector | None]":
        """As `Embedding.vectors`."""
        from stretto.components.memory.hashed import hashed_vector

        def all_of_them() -> "list[Vector | None]":
            return [hashed_vector(text, self.dimensions) for text in texts]

        if sum(map(len, texts)) <= INLINE_CHARS:
            return all_of_them()
        return [*(await THREADS.run(self._memory, all_of_them)).result()]


class MiniLmEmbedding:
    """The sentence model all-MiniLM-L6-v2, in numpy, from the package that carries it."""

    dimensions = MINILM_DIMENSIONS
    name = f"all-MiniLM-L6-v2/{MINILM_DIMENSIONS}"

    def __init__(self, memory: str) -> None:
        self._memory = memory

    async def open(self) -> None:
        """Read the model: 90 MB, once for the process."""
        from stretto.components.memory.minilm import minilm

        (await THREADS.run(self._memory, minilm)).result()

    async def vectors(self, texts: Sequence[str], _call: Call) -> "list[Vector | None]":
        """As `Embedding.vectors`."""
        from stretto.components.memory.minilm import minilm

        return [*(await THREADS.run(self._memory, lambda: minilm().vectors(texts))).result()]


class ComponentEmbedding:
    """A component of the workflow, asked ``{texts}``, that answers ``{vectors}``: a step of its own in the record."""

    def __init__(self, memory: str, component: str, dimensions: int) -> None:
        self._memory = memory
        self._component = component
        self.dimensions = dimensions
        self.name = f"{component}/{dimensions}"

    async def open(self) -> None:
        """Import numpy."""
        from stretto.components.memory import vectors  # noqa: F401  # so that the first call need not wait for it

    async def vectors(self, texts: Sequence[str], call: Call) -> "list[Vector | None]":
        """As `Embedding.vectors`. Raises ComponentError for what are no such vectors, and what the component raised."""
        if call.caller is None:
            raise ComponentError(
                f"memory '{self._memory}' cannot ask '{self._component}' for vectors: a component calls others only "
                "while a run calls it",
                Code.FAILED_PRECONDITION,
                sent=False,
            )
        answer = await call.caller.call(self._component, {"texts": [*texts]})
        return [*self._read(answer.get("vectors"), len(texts))]

    def _read(self, vectors: object, texts: int) -> "list[Vector]":
        from stretto.components.memory.vectors import unit

        if not isinstance(vectors, list) or len(vectors) != texts:
            got = f"{len(vectors)} vectors" if isinstance(vectors, list) else f"`vectors` {vectors!r:.40}"
            raise self._wrong(f"answered {got} to {texts} texts; expected {{vectors: [[0.1, ...], ...]}}, one for each")
        read = []
        for number, vector in enumerate(vectors):
            self._check(number, vector)
            direction = unit(vector)
            if direction is None:
                raise self._wrong(f"answered zeros as vector {number}, which point nowhere; expected a direction")
            read.append(direction)
        return read

    def _check(self, number: int, vector: object) -> None:
        if not isinstance(vector, list) or len(vector) != self.dimensions:
            got = f"{len(vector)} numbers" if isinstance(vector, list) else orjson.dumps(vector).decode()[:40]
            raise self._wrong(
                f"answered {got} as vector {number}; expected {self.dimensions}, the `dimensions` of its `search`"
            )
        for value in vector:
            if isinstance(value, bool) or not isinstance(value, int | float) or value - value != 0:
                raise self._wrong(f"answered {value!r:.40} in vector {number}; expected finite numbers")

    def _wrong(self, what: str) -> ComponentError:
        text = f"memory '{self._memory}': its embedding '{self._component}' {what}"
        return ComponentError(text, Code.FAILED_PRECONDITION, sent=False)


async def embedded(embedding: Embedding, texts: Sequence[str], call: Call) -> "list[Vector | None]":
    """The vectors of some texts; None for an empty one, which nobody is asked for.

    An error says that nothing was sent, since of the memory itself nothing has begun; not what is itself in doubt.
    """
    told = [text for text in texts if text]
    try:
        vectors = iter(await embedding.vectors(told, call) if told else ())
    except ComponentError as error:
        error.sent = isinstance(error, InDoubtError)
        error.is_of_another = False  # it is the memory's own word: what is not embedded is not kept
        raise
    return [next(vectors) if text else None for text in texts]


def embedding_of(memory: str, search: MemorySearch) -> Embedding:
    """The one that is declared. Raises MissingExtraError, or UsageError, when a package for it is not there."""
    if search.embed == HASHED:
        return HashedEmbedding(memory, search.dimensions_of_vectors)
    if search.embed == MINILM:
        hold_to_packages()
        return MiniLmEmbedding(memory)
    return ComponentEmbedding(memory, search.embed, search.dimensions_of_vectors)


def made_with_another(memory: str, place: str, found: str, embedding: str, instead: str) -> ComponentError:
    """The refusal of vectors that cannot be compared with a memory's own."""
    return ComponentError(
        f"memory '{memory}': {place} holds vectors of '{found}', and this memory makes those of '{embedding}', which "
        f"cannot be compared; name {instead}, or set `search` back to what it was",
        Code.FAILED_PRECONDITION,
        sent=False,
    )
