"""One collection of a Qdrant: on a server, or in this process or a folder by its client's local mode."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from stretto.components.loop_lock import open_elsewhere
from stretto.components.memory.embedding import made_with_another
from stretto.components.memory.secrets import key_of
from stretto.components.memory.settings import MemorySettings
from stretto.types.errors import Code, ComponentError
from stretto.types.http_status import code_of

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

_PAYLOAD_INDEXES: Final = {
    "tenant": "keyword",
    "scope": "keyword",
    "kind": "keyword",
    "key": "keyword",
    "place": "integer",
}
"""What a server needs to filter and to order by."""


class QdrantCollection:
    """Made when it is first asked. Its points carry one named vector: the name says what made it.

    Local mode is for tests and for some thousand values; a folder is held by one process at a time.
    """

    def __init__(self, settings: MemorySettings, embedding: str) -> None:
        self.name = settings.kept_in
        self.vector = embedding.replace("/", "-")
        """Name of the vector."""
        self._settings = settings
        self._dimensions = int(embedding.rpartition("/")[2])
        self._client: AsyncQdrantClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        """The one in which a server's connections are; local mode belongs to none."""
        self._is_ready = False

    async def open(self) -> None:
        """Import the client, which takes a second."""
        await asyncio.to_thread(_load)

    async def close(self) -> None:
        """Drop the connections, or let go of the folder; what is kept in this process stays."""
        if self._client is not None and (self._settings.url or self._settings.path):
            self._hold_to_loop()
            client, self._client = self._client, None
            await client.close()

    @asynccontextmanager
    async def asking(self) -> "AsyncIterator[AsyncQdrantClient]":
        """The client, with its collection there; what it raises is told as ComponentError."""
        client_errors = _load()
        try:
            client = self._connected()
            if not self._is_ready:
                await self._prepare(client)
                self._is_ready = True
            yield client
        except client_errors as error:
            raise self._trouble(error) from error

    def _connected(self) -> "AsyncQdrantClient":
        if self._client is not None and self._loop in (None, asyncio.get_running_loop()):
            return self._client
        from qdrant_client import AsyncQdrantClient

        self._hold_to_loop()
        settings = self._settings
        if settings.url:
            self._loop = asyncio.get_running_loop()
            self._client = AsyncQdrantClient(
                url=settings.url,
                port=None,  # the address says it
                api_key=key_of(settings) or None,
                timeout=math.ceil(settings.timeout.total_seconds()),
                check_compatibility=False,  # it would ask the server before there is anybody to tell
            )
        elif settings.path is not None:
            self._client = AsyncQdrantClient(path=str(settings.path), force_disable_check_same_thread=True)
        else:
            self._client = AsyncQdrantClient(location=":memory:")
        self._is_ready = False
        return self._client

    def _hold_to_loop(self) -> None:
        """Raise UsageError while another event loop that has not ended has the connections."""
        loop = self._loop
        if loop is not None and loop is not asyncio.get_running_loop() and not loop.is_closed():
            raise open_elsewhere(f"memory '{self._settings.name}'", loop)

    async def _prepare(self, client: "AsyncQdrantClient") -> None:
        """Make the collection unless it is there; refuse one whose vectors something else made."""
        from qdrant_client import models
        from qdrant_client.http.exceptions import UnexpectedResponse

        if not await client.collection_exists(self.name):
            params = models.VectorParams(size=self._dimensions, distance=models.Distance.COSINE)
            try:
                await client.create_collection(self.name, vectors_config={self.vector: params})
            except UnexpectedResponse:
                if not await client.collection_exists(self.name):  # else another process made it meanwhile
                    raise
        if self._settings.url:  # local mode needs none, and warns
            for field, kind in _PAYLOAD_INDEXES.items():
                await client.create_payload_index(self.name, field, models.PayloadSchemaType(kind))
        found = (await client.get_collection(self.name)).config.params.vectors
        names = sorted(found) if isinstance(found, dict) else ["one without a name"]
        if self.vector not in names:
            place = f"the collection '{self.name}'"
            told = ", ".join(names) or "none"
            raise made_with_another(self._settings.name, place, told, self.vector, "another `collection`")

    def _trouble(self, error: Exception) -> ComponentError:
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        settings = self._settings
        where = settings.url or settings.path or "local mode"
        what = f"memory '{settings.name}': Qdrant ({where})"
        if isinstance(error, UnexpectedResponse):
            said = " ".join(error.content.decode(errors="replace").split())[:300]
            code = code_of(error.status_code or 500)
            key = "; name the variable that holds its key: api_key_env" if code is Code.UNAUTHENTICATED else ""
            return ComponentError(f"{what} answered {error.status_code}: {said}{key}", code)
        if isinstance(error, ResponseHandlingException):
            why = str(error.source) or type(error.source).__name__
            sent = not _never_left(error.source)
            return ComponentError(f"{what} cannot be reached: {why}; is it running?", Code.UNAVAILABLE, sent=sent)
        busy = "already accessed" in str(error)
        remedy = "one process at a time may have a folder; use a server, `url`" if busy else "see that it is whole"
        code = Code.UNAVAILABLE if busy else Code.FAILED_PRECONDITION
        return ComponentError(f"{what}: {' '.join(str(error).split())[:300]}; {remedy}", code, sent=False)


def _load() -> tuple[type[Exception], ...]:
    """What the client may raise."""
    import sqlite3

    from qdrant_client.http.exceptions import ApiException

    return (ApiException, RuntimeError, OSError, sqlite3.Error)


def _never_left(error: Exception) -> bool:
    import httpx

    return isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
