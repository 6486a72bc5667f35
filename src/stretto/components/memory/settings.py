"""What is declared about a memory, and checked."""

import re
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from stretto.components.declared import declared
from stretto.components.names import NAME_RULE, is_component_name
from stretto.components.web_address import split_address
from stretto.types.arguments import check_fields, check_text, check_whole, wrong
from stretto.types.errors import UsageError
from stretto.types.ids import Digest, digest_of

DEFAULT_LIMIT: Final = 20
"""Values told when a request does not say how many: about what a prompt has room for."""

DEFAULT_KEEP: Final = 1000
"""Values kept of one tenant and scope; older ones are forgotten."""

DEFAULT_TOP: Final = 5
"""Values found when a request does not say how many."""

DEFAULT_MAX_CHARS: Final = 8000
"""Of a text that is embedded: some pages. A mean over more than that says little of any of it."""

DEFAULT_TIMEOUT: Final = timedelta(seconds=5)
"""For one request to a server; a step makes up to five."""

MAX_SERVED_KEEP: Final = 10_000
"""Elasticsearch and OpenSearch tell no more at once (`index.max_result_window`), Qdrant is asked for no more."""

HASHED: Final = "hashed"

MINILM: Final = "minilm"

HASHED_DIMENSIONS: Final = 512

MINILM_DIMENSIONS: Final = 384

MAX_DIMENSIONS: Final = 4096
"""What Elasticsearch takes (`dense_vector`, `dims`); Qdrant and OpenSearch take more."""


_NOT_MORE: Final = frozenset(
    {
        *("name", "limit", "keep", "by"),
        *("path", "url", "collection", "api_key_env", "timeout", "version", "description"),
    }
)
"""Of a digest: what stands before the rest, and what says where and how fast."""

_INDEX: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,254}")
"""What an index may be called (Elasticsearch reference, "Create index", path parameters), in ASCII."""


class BackendKind(StrEnum):
    """Where a memory is kept."""

    EMBEDDED = "embedded"
    """In the process, or in an SQLite file."""
    QDRANT = "qdrant"
    """In the process or a folder by its client's local mode, or on a server."""
    ELASTICSEARCH = "elasticsearch"
    OPENSEARCH = "opensearch"


class MemorySearch(msgspec.Struct, frozen=True, kw_only=True):
    """How a memory is searched by what its values say."""

    embed: str = HASHED
    """``hashed``, ``minilm``, or the name of a component that takes ``{texts}`` and answers ``{vectors}``."""
    dimensions: int | None = None
    """Of the vectors; None is 512 for ``hashed``. A component's must be given."""
    text: tuple[str, ...] = ()
    """Fields of a value in which its text stands; all texts and numbers in it when empty."""
    limit: int = DEFAULT_TOP
    """Values found when a request does not say."""
    min_score: float = 0.0
    """What is found is nearer than this cosine."""
    max_chars: int = DEFAULT_MAX_CHARS
    """Longest text that is embedded; a longer one is refused."""

    @property
    def dimensions_of_vectors(self) -> int:
        """Those declared, or those of what is built in."""
        built_in = MINILM_DIMENSIONS if self.embed == MINILM else HASHED_DIMENSIONS
        return self.dimensions or built_in

    @property
    def component(self) -> str:
        """Name of the component that makes the vectors; empty when none does."""
        return "" if self.embed in (HASHED, MINILM) else self.embed


class MemorySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything declared about a memory."""

    name: str
    limit: int = DEFAULT_LIMIT
    keep: int = DEFAULT_KEEP
    by: str = ""
    backend: BackendKind = BackendKind.EMBEDDED
    path: Path | None = None
    url: str = ""
    collection: str = ""
    api_key_env: str = ""
    timeout: timedelta = DEFAULT_TIMEOUT
    search: MemorySearch | None = None
    version: str = "0.0.0"
    description: str = ""

    @property
    def searches(self) -> MemorySearch | None:
        """How it is searched; what was made to be searched always is."""
        return MemorySearch() if self.search is None and self.backend is not BackendKind.EMBEDDED else self.search

    @property
    def top(self) -> int:
        """Values found when a request does not say; there may be room for fewer."""
        return min(DEFAULT_TOP if self.search is None else self.search.limit, self.keep)

    @property
    def kept_in(self) -> str:
        """The collection, or index, that holds it."""
        return self.collection or self.name

    def digest(self) -> Digest:
        """Of what decides what it tells, not of where it is kept; of a plain memory the same as in every release."""
        plain: list[object] = ["recency", self.name, self.limit, self.keep, self.by]
        more = declared(self, but=_NOT_MORE)
        return digest_of(msgspec.json.encode(plain if more == b"{}" else [*plain, msgspec.Raw(more)]))

    def in_process(self) -> "MemorySettings":
        """The same, kept in the process alone."""
        kept = {"backend": BackendKind.EMBEDDED, "path": None, "url": "", "collection": "", "api_key_env": ""}
        return msgspec.structs.replace(self, **kept, timeout=DEFAULT_TIMEOUT, search=self.searches)

    def checked(self) -> "MemorySettings":
        """The same, with its backend as one of `BackendKind`. Raises UsageError for options that cannot work."""
        try:
            found = msgspec.structs.replace(self, backend=BackendKind(self.backend))
        except ValueError:
            raise self._wrong(f"backend is {self.backend!r}; expected one of {', '.join(BackendKind)}") from None
        found._check()  # noqa: SLF001  # of its own class
        return found

    def _check(self) -> None:
        if not is_component_name(self.name):
            raise UsageError(f"'{self.name}' cannot be the name of a component; expected {NAME_RULE}")
        for option in ("limit", "keep"):
            check_whole(f"memory '{self.name}': {option}", getattr(self, option), least=1)
        for option in ("by", "url", "collection", "api_key_env", "version", "description"):
            check_text(f"memory '{self.name}': {option}", getattr(self, option))
        if self.search is not None and not isinstance(self.search, MemorySearch):
            raise wrong(f"memory '{self.name}': search", self.search, "a MemorySearch, or None")
        check_fields(f"memory '{self.name}'", self)
        if self.limit > self.keep:
            raise self._wrong(f"limit is {self.limit} and keep is {self.keep}; expected 1 <= limit <= keep")
        self._check_place()
        if self.search is not None:
            self._check_search(self.search)

    def _check_place(self) -> None:
        kind = self.backend
        if kind is BackendKind.EMBEDDED:
            self._refuse_idle("url", "collection", "api_key_env", why="for a server, and the backend is 'embedded'")
        elif kind is BackendKind.QDRANT and self.path is not None and self.url:
            raise self._wrong("has both `path` and `url`; a memory is kept in one place")
        elif kind is not BackendKind.QDRANT:
            if not self.url:
                raise self._wrong(f"has no `url`; expected the address of {kind}, such as http://127.0.0.1:9200")
            if self.path is not None:
                raise self._wrong(f"has a `path`, and '{kind}' is behind an address")
        if not self.url:
            self._refuse_idle("api_key_env", "timeout", why="for a server, and there is no `url`")
        elif self.timeout <= timedelta(0):
            raise self._wrong(f"timeout is {self.timeout}; expected more than 0")
        if self.url:
            self._check_url()
        if kind is not BackendKind.EMBEDDED and self.keep > MAX_SERVED_KEEP:
            raise self._wrong(
                f"keep is {self.keep:,}; '{kind}' keeps at most {MAX_SERVED_KEEP:,} of a tenant and scope"
            )
        self._check_collection()

    def _check_url(self) -> None:
        parts = split_address(self.url, f"memory '{self.name}': url")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise self._wrong(f"url is '{self.url}'; expected an address such as http://127.0.0.1:6333")
        if parts.username is not None or parts.password is not None:
            raise self._wrong("url holds a user or password; keep them in the environment and name it: api_key_env")
        if parts.query or parts.fragment:
            raise self._wrong(f"url is '{self.url}'; expected an address without ? and #")

    def _check_collection(self) -> None:
        if self.backend in (BackendKind.ELASTICSEARCH, BackendKind.OPENSEARCH):
            if not _INDEX.fullmatch(self.kept_in):
                raise self._wrong(
                    f"would be kept in the index '{self.kept_in}'; name one in `collection`: small letters, digits, "
                    "'_', '.' and '-', beginning with a letter or digit"
                )
        elif self.collection and not is_component_name(self.collection):
            raise self._wrong(f"collection is '{self.collection}'; expected {NAME_RULE}")

    def _check_search(self, search: MemorySearch) -> None:
        check_fields(f"memory '{self.name}': search", search)
        for option in ("limit", "max_chars"):
            check_whole(f"memory '{self.name}': search.{option}", getattr(search, option), least=1)
        if not -1 <= search.min_score < 1:
            raise self._wrong(f"search.min_score is {search.min_score}; expected a cosine, from -1 to below 1")
        if any(not field for field in search.text):
            raise self._wrong("search.text names an empty field; expected names of fields")
        if search.component and not is_component_name(search.component):
            raise self._wrong(f"search.embed is '{search.embed}'; expected {HASHED}, {MINILM} or a component's name")
        if search.embed == self.name:
            raise self._wrong(f"search.embed is '{search.embed}', the memory itself; expected what makes vectors")
        if search.embed == MINILM and search.dimensions is not None:
            raise self._wrong(f"search.dimensions has no effect: vectors of '{MINILM}' have {MINILM_DIMENSIONS}")
        if search.component and search.dimensions is None:
            raise self._wrong(f"search.dimensions is not given; say how many numbers a vector of '{search.embed}' has")
        if search.dimensions is not None:
            what = f"memory '{self.name}': search.dimensions"
            check_whole(what, search.dimensions, least=2, most=MAX_DIMENSIONS)

    def _refuse_idle(self, *options: str, why: str) -> None:
        defaults = {"timeout": DEFAULT_TIMEOUT}
        for option in options:
            if getattr(self, option) != defaults.get(option, ""):
                raise self._wrong(f"`{option}` is {why}; it has no effect")

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"memory '{self.name}': {what}")
