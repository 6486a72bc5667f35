"""What a declaration of kind ``memory`` may hold in a workflow file."""

from functools import partial
from pathlib import Path
from typing import Any, Final

from stretto.components.memory.component import RecencyMemory
from stretto.components.memory.settings import MAX_DIMENSIONS, BackendKind, MemorySearch
from stretto.components.option_shapes import ANY_TEXT, DESCRIPTION_KEY, TEXTS, VERSION_KEY, Make
from stretto.spec.records import Fields, Key, Record
from stretto.spec.shapes import Choice, Duration, Number, Text, Whole
from stretto.types.protocols import Component

EMBED: Final = Key(
    "embed",
    Text(expected="hashed, minilm or the name of a component"),
    means="what makes the vectors: `hashed`, `minilm` or a component that takes `{texts}` and answers `{vectors}`",
    example="embed: minilm",
    also=("embedding", "embedder", "model"),
)
DIMENSIONS: Final = Key(
    "dimensions",
    Whole(minimum=2, maximum=MAX_DIMENSIONS),
    means="numbers in a vector; of a component's it must be given",
    example="dimensions: 512",
    also=("dim", "dims", "size"),
)
TEXT: Final = Key(
    "text",
    TEXTS,
    means="fields of a value in which its text stands; all texts and numbers in it when absent",
    example="text: [question, answer]",
    also=("fields",),
)
TOP: Final = Key(
    "limit",
    Whole(minimum=1),
    means="values found when a request does not say",
    example="limit: 5",
    also=("top", "top_k", "k", "n"),
)
MIN_SCORE: Final = Key(
    "min_score",
    Number(minimum=-1, maximum=1),
    means="cosine that what is found exceeds",
    example="min_score: 0.2",
    also=("threshold", "min_similarity"),
)
MAX_CHARS: Final = Key(
    "max_chars",
    Whole(minimum=1),
    means="longest text that is embedded; a longer one is refused",
    example="max_chars: 8000",
)


def _search(fields: Fields) -> MemorySearch:
    plain: tuple[Key[Any], ...] = (DIMENSIONS, TOP, MIN_SCORE, MAX_CHARS)
    given: dict[str, Any] = {key.name: value for key in plain if (value := fields.get(key)) is not None}
    embed, text = fields.get(EMBED), fields.get(TEXT)
    given |= {} if embed is None else {"embed": embed.value}
    given |= {} if text is None else {"text": tuple(field.value for field in text)}
    return MemorySearch(**given)


SEARCH_RECORD: Final = Record(
    "memory-search",
    means="How a memory is searched by what its values say.",
    keys=(EMBED, DIMENSIONS, TEXT, TOP, MIN_SCORE, MAX_CHARS),
    build=_search,
    is_thing=False,
)

LIMIT: Final = Key("limit", Whole(minimum=1), means="values told when a request does not say", example="limit: 20")
KEEP: Final = Key("keep", Whole(minimum=1), means="values kept of one tenant and scope", example="keep: 1000")
BY: Final = Key(
    "by",
    Text(expected="the name of a label"),
    means="label of the run that keeps values apart, beside the tenant",
    example="by: session",
)
BACKEND: Final = Key(
    "backend",
    Choice(BackendKind),
    means="where it is kept",
    example="backend: qdrant",
    also=("store", "engine", "provider"),
)
PATH: Final = Key(
    "path",
    ANY_TEXT,
    means="SQLite file, or folder of Qdrant's local mode, that outlives the process, relative to this file",
    example="path: memory.sqlite",
    also=("file", "database", "db"),
)
URL: Final = Key(
    "url",
    ANY_TEXT,
    means="address of the server",
    example="url: http://127.0.0.1:6333",
    also=("endpoint", "address", "host", "hosts"),
)
COLLECTION: Final = Key(
    "collection",
    ANY_TEXT,
    means="collection or index that holds it; the memory's name when absent",
    example="collection: support-notes",
    also=("index", "table"),
)
API_KEY_ENV: Final = Key(
    "api_key_env",
    Text(expected="the name of an environment variable"),
    means="environment variable that holds the server's key, or user:password",
    example="api_key_env: QDRANT_API_KEY",
    akin=("api_key", "key", "token", "password"),
)
TIMEOUT: Final = Key("timeout", Duration(), means="how long one request to the server may take", example="timeout: 5s")
SEARCH: Final = Key(
    "search",
    SEARCH_RECORD,
    means="how it is searched by what its values say",
    example="search: { embed: hashed, limit: 5 }",
)

_PLAIN: Final[tuple[Key[Any], ...]] = (LIMIT, KEEP, BACKEND, TIMEOUT, SEARCH)
_TEXT: Final = (BY, PATH, URL, COLLECTION, API_KEY_ENV, VERSION_KEY, DESCRIPTION_KEY)


def _build(fields: Fields) -> Make:
    options: dict[str, Any] = {key.name: value for key in _PLAIN if (value := fields.get(key)) is not None}
    options |= {key.name: text.value for key in _TEXT if (text := fields.get(key)) is not None}
    return partial(_make, options)


def _make(options: dict[str, Any], name: str, folder: Path) -> Component:
    path = {"path": folder / options["path"]} if "path" in options else {}
    return RecencyMemory(name, **{**options, **path})


MEMORY: Final[Record[Make]] = Record(
    "memory-component",
    means="What was learnt from earlier runs, by how recent it is and by what it says.",
    keys=(*_PLAIN, *_TEXT),
    build=_build,
)
