"""Kind ``memory``: what was learnt from earlier runs, by how recent it is.

As a step it remembers and recalls; named by a workflow's `memory`, it gives the root ``memory.recent`` at the start of
every run.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, cast

import msgspec
import orjson

from stretto.components.memory_store import MemoryStore, ProcessStore, Shelf, SqliteStore
from stretto.components.names import NAME_RULE, is_component_name
from stretto.components.threads import THREADS
from stretto.types.arguments import as_path, check_text, check_whole
from stretto.types.card import Card
from stretto.types.enums import Effect, Scope
from stretto.types.errors import UsageError
from stretto.types.ids import digest_of
from stretto.types.json import JsonObject, Schema
from stretto.types.messages import Request, Response, RunInfo

REMEMBER: Final = "remember"
"""Input field with the value to keep, and the action of keeping it."""

RECALL: Final = "recall"

DEFAULT_LIMIT: Final = 20
"""Values told when a request does not say how many: about what a prompt has room for."""

DEFAULT_KEEP: Final = 1000
"""Values kept of one tenant and scope; older ones are forgotten."""


class MemoryCard(Card, frozen=True, kw_only=True):
    """A card whose action follows from the request: with something to remember it writes, otherwise it reads."""

    def action_of(self, request_input: JsonObject) -> str:
        """``remember`` or ``recall``; a null is nothing to remember, since a skipped step's output reads as null."""
        return RECALL if request_input.get(REMEMBER) is None else REMEMBER


class RecencyMemory:
    """Keeps values and tells the latest, oldest first: input ``{remember?, limit?}``, output ``{recent}``.

    Tenants never see each other's values. `by` names a label of the run (``session``, ``customer``) that keeps them
    apart further. With `path` it is a file that outlives the process. A value is kept once for each step of a run,
    however often it is sent. Raises UsageError for limits that cannot work.
    """

    def __init__(
        self,
        name: str,
        *,
        limit: int = DEFAULT_LIMIT,
        keep: int = DEFAULT_KEEP,
        by: str = "",
        path: str | Path | None = None,
        version: str = "0.0.0",
        description: str = "",
    ) -> None:
        _check(name, limit, keep, {"by": by, "version": version, "description": description})
        self._limit = limit
        self._by = by
        self._store: MemoryStore = (
            ProcessStore(keep) if path is None else SqliteStore(as_path(f"memory '{name}': path", path), name, keep)
        )
        self._blocks = path is not None
        self._empty: Callable[[], RecencyMemory] = partial(
            RecencyMemory, name, limit=limit, keep=keep, by=by, version=version, description=description
        )
        self.card = MemoryCard(
            name=name,
            version=version,
            kind="memory",
            digest=digest_of(orjson.dumps(["recency", name, limit, keep, by])),
            input=_input_schema(limit, keep),
            output=_OUTPUT,
            effects={REMEMBER: Effect.WRITE, RECALL: Effect.READ},
            action_field=REMEMBER,
            idempotent=True,
            description=description,
        )

    async def __call__(self, request: Request) -> Response:
        if not self._blocks:
            return Response(output=self._answer(request))
        done = await THREADS.run(self.card.name, lambda: self._answer(request))
        return Response(output=done.result(), queue_ms=done.queue_ms)

    def per_run(self) -> "PerRunMemory":
        """The same memory, except that it is empty when a run begins and gone when it ends."""
        return PerRunMemory(self.card, self._empty)

    async def open(self) -> None:
        """Nothing to do: the file is opened when it is first needed."""

    async def close(self) -> None:
        """Close the file."""
        self._store.close()

    def _answer(self, request: Request) -> JsonObject:
        run = request.call.run
        shelf = Shelf(run.tenant, run.labels.get(self._by, "") if self._by else "")
        value = request.input.get(REMEMBER)
        if value is not None:
            self._store.add(shelf, request.call.effect_key, value)
        limit = cast("int", request.input.get("limit", self._limit))
        return {"recent": list(self._store.recent(shelf, limit))}


class PerRunMemory:
    """A memory of its own for every run. What a run remembers depends on nothing but that run, and stays with it."""

    def __init__(self, card: Card, empty: Callable[[], RecencyMemory]) -> None:
        self.card = msgspec.structs.replace(card, scope=Scope.RUN)
        self._empty = empty

    async def open_run(self, _run: RunInfo) -> RecencyMemory:
        """An empty memory."""
        return self._empty()

    async def __call__(self, request: Request) -> Response:
        """Answer outside a run's session: from an empty memory."""
        return await self._empty()(request)


_OUTPUT: Final[Schema] = {
    "type": "object",
    "properties": {"recent": {"type": "array"}},
    "required": ["recent"],
    "additionalProperties": False,
}


def _check(name: str, limit: int, keep: int, texts: Mapping[str, str]) -> None:
    """Raise UsageError for options that cannot work."""
    if not is_component_name(name):
        raise UsageError(f"'{name}' cannot be the name of a component; expected {NAME_RULE}")
    for option, value in (("limit", limit), ("keep", keep)):
        check_whole(f"memory '{name}': {option}", value, least=1)
    for option, text in texts.items():
        check_text(f"memory '{name}': {option}", text)
    if limit > keep:
        raise UsageError(f"memory '{name}': limit is {limit} and keep is {keep}; expected 1 <= limit <= keep")


def _input_schema(limit: int, keep: int) -> Schema:
    return {
        "type": "object",
        "properties": {
            REMEMBER: {"description": "what to keep; null keeps nothing"},
            "limit": {"type": "integer", "minimum": 0, "maximum": keep, "default": limit},
        },
        "required": [],
        "additionalProperties": False,
    }
