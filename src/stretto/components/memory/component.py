"""A memory as a component: as a step it remembers, forgets, recalls and searches.

Named by a workflow's `memory`, it gives the root ``memory.recent`` at the start of every run.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import msgspec

from stretto.components.memory.backend import (
    Asked,
    KeptUnsearched,
    Memory,
    MemoryBackend,
    Query,
    Shelf,
    carry_out,
    without_waiting,
)
from stretto.components.memory.catching_up import CatchingUp
from stretto.components.memory.embedding import Embedding, embedded, embedding_of
from stretto.components.memory.places import backend_of
from stretto.components.memory.schemas import FORGET, QUERY, REMEMBER, TOP, input_schema, output_schema
from stretto.components.memory.settings import (
    DEFAULT_KEEP,
    DEFAULT_LIMIT,
    DEFAULT_TIMEOUT,
    BackendKind,
    MemorySearch,
    MemorySettings,
)
from stretto.components.memory.texts import held_to_length, text_of
from stretto.components.threads import THREADS
from stretto.types.arguments import as_path
from stretto.types.card import Card
from stretto.types.enums import Effect, Scope
from stretto.types.json import Json, JsonObject
from stretto.types.messages import Request, Response, RunInfo

if TYPE_CHECKING:
    from stretto.components.memory.backend import Told, Vector

RECALL: Final = "recall"

CALLS: Final = "call"
"""Capability of a memory whose vectors another component makes."""


class MemoryCard(Card, frozen=True, kw_only=True):
    """A card whose action follows from the request: with something to remember or to forget it writes."""

    def action_of(self, request_input: JsonObject) -> str:
        """``remember``, ``forget`` or ``recall``; a null is nothing to remember, since a skipped step's output reads
        as null."""
        if request_input.get(REMEMBER) is not None:
            return REMEMBER
        return FORGET if request_input.get(FORGET) else RECALL


class RecencyMemory:
    """Keeps values, tells the latest, oldest first, and those that say what is searched for, nearest first.

    Input ``{remember?, forget?, limit?}``, with `search` also ``{query?, top?}``; output ``{recent}``, with a query
    also ``{found}``. Tenants never see each other's values. `by` names a label of the run (``session``, ``customer``)
    that keeps them apart further. A value is kept once for each step of a run, however often it is sent; beyond `keep`
    the oldest are forgotten. With `path` it is a file that outlives the process; `backend` keeps it elsewhere. Raises
    UsageError for options that cannot work, MissingExtraError when a package for them is not there.
    """

    def __init__(
        self,
        name: str,
        *,
        limit: int = DEFAULT_LIMIT,
        keep: int = DEFAULT_KEEP,
        by: str = "",
        backend: BackendKind | str = BackendKind.EMBEDDED,
        path: str | Path | None = None,
        url: str = "",
        collection: str = "",
        api_key_env: str = "",
        timeout: timedelta = DEFAULT_TIMEOUT,
        search: MemorySearch | None = None,
        version: str = "0.0.0",
        description: str = "",
    ) -> None:
        settings = MemorySettings(
            name=name,
            limit=limit,
            keep=keep,
            by=by,
            backend=cast("BackendKind", backend),  # what is none, the check refuses
            path=None if path is None else as_path(f"memory '{name}': path", path),
            url=url,
            collection=collection,
            api_key_env=api_key_env,
            timeout=timeout,
            search=search,
            version=version,
            description=description,
        )
        checked = settings.checked()
        search = checked.searches
        self._keeping(checked, None if search is None else embedding_of(name, search))

    def _keeping(self, settings: MemorySettings, embedding: Embedding | None) -> None:
        self._settings = settings
        search = settings.searches
        self._search = search
        self._embedding = embedding
        self._backend: MemoryBackend = backend_of(settings, "" if self._embedding is None else self._embedding.name)
        self._catching_up = None
        if search is not None and self._embedding is not None and isinstance(self._backend, KeptUnsearched):
            self._catching_up = CatchingUp(settings.name, self._backend, search, self._embedding)
        self.card = _card(settings)

    async def open(self) -> None:
        """Load what takes long to load; files and servers are asked when they are first needed."""
        if self._embedding is not None:
            await self._embedding.open()
        await self._backend.open()

    async def close(self) -> None:
        """Close the file, or drop the connections."""
        await self._backend.close()

    async def __call__(self, request: Request) -> Response:
        """Forget, remember, tell what is recent, search. Raises ComponentError when it cannot, and says why."""
        run = request.call.run
        shelf = Shelf(run.tenant, run.labels.get(self._settings.by, "") if self._settings.by else "")
        asked = await self._asked(request)
        if asked.query is not None and self._catching_up is not None:
            await self._catching_up.on(shelf, request.call)
        if not self._backend.blocks:
            return Response(output=_output(request.input, await carry_out(self._backend, shelf, asked)))
        done = await THREADS.run(self.card.name, lambda: without_waiting(carry_out(self._backend, shelf, asked)))
        return Response(output=_output(request.input, done.result()), queue_ms=done.queue_ms)

    def per_run(self) -> "PerRunMemory":
        """The same memory, except that it is empty when a run begins and gone when it ends."""
        return PerRunMemory(self.card, partial(self._empty, self._settings.in_process()))

    def _empty(self, settings: MemorySettings) -> "RecencyMemory":
        """One that searches alike, in the process."""
        memory = RecencyMemory.__new__(RecencyMemory)
        memory._keeping(settings, self._embedding)  # noqa: SLF001  # of its own class
        return memory

    # what is asked

    async def _asked(self, request: Request) -> Asked:
        given = request.input
        value, query = given.get(REMEMBER), given.get(QUERY)
        ours = theirs = None
        if self._embedding is not None:
            texts = [self._text(value), self._query(query)]
            ours, theirs = await embedded(self._embedding, texts, request.call)
        key = request.call.effect_key
        return Asked(
            effect_key=key,
            forget=bool(given.get(FORGET)),
            memory=None if value is None else Memory(effect_key=key, value=value, vector=ours),
            limit=cast("int", given.get("limit", self._settings.limit)),
            query=self._sought(given, theirs),
        )

    def _text(self, value: Json) -> str:
        """What can be found of a value."""
        if self._search is None or value is None:
            return ""
        text = text_of(value, self._search.text)
        return held_to_length(self._settings.name, "what is to be remembered", text, self._search.max_chars)

    def _query(self, query: Json) -> str:
        if self._search is None or not isinstance(query, str):
            return ""
        return held_to_length(self._settings.name, "the query", query.strip(), self._search.max_chars)

    def _sought(self, given: JsonObject, vector: "Vector | None") -> Query | None:
        if self._search is None or vector is None:
            return None
        return Query(vector=vector, top=cast("int", given.get(TOP, self._settings.top)), above=self._search.min_score)


class PerRunMemory:
    """A memory of its own for every run. What a run remembers depends on nothing but that run, and stays with it."""

    def __init__(self, card: Card, empty: Callable[[], RecencyMemory]) -> None:
        self.card = msgspec.structs.replace(card, scope=Scope.RUN)
        self._empty = empty

    async def open_run(self, _run: RunInfo) -> RecencyMemory:
        """An empty memory."""
        memory = self._empty()
        await memory.open()
        return memory

    async def __call__(self, request: Request) -> Response:
        """Answer outside a run's session: from an empty memory."""
        return await self._empty()(request)


def _output(given: JsonObject, told: "Told") -> JsonObject:
    output: JsonObject = {"recent": [*told.recent]}
    if given.get(QUERY) is not None:
        output["found"] = [{"value": each.value, "score": each.score, "source": each.source} for each in told.found]
    return output


def _card(settings: MemorySettings) -> MemoryCard:
    search = settings.searches
    component = "" if search is None else search.component
    return MemoryCard(
        name=settings.name,
        version=settings.version,
        kind="memory",
        digest=settings.digest(),
        input=input_schema(settings),
        output=output_schema(settings),
        effects={REMEMBER: Effect.WRITE, FORGET: Effect.WRITE, RECALL: Effect.READ},
        action_field=REMEMBER,
        idempotent=True,
        capabilities=(CALLS,) if component else (),
        calls=(component,) if component else (),
        description=settings.description,
    )
