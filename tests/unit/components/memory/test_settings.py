"""Options of a memory that cannot work are refused where it is made, and the digest says what decides its answers."""

from datetime import timedelta
from typing import Any

import orjson
import pytest

from stretto.components.memory import MemorySearch, RecencyMemory, embedding
from stretto.types.enums import Effect
from stretto.types.errors import UsageError
from stretto.types.ids import digest_of

ES: dict[str, Any] = {"backend": "elasticsearch", "url": "http://127.0.0.1:9200"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"backend": "redis"}, "backend is 'redis'; expected one of embedded, qdrant, elasticsearch, opensearch"),
        ({"url": "http://x"}, "`url` is for a server, and the backend is 'embedded'"),
        ({"collection": "x"}, "`collection` is for a server"),
        ({"timeout": timedelta(seconds=1)}, "`timeout` is for a server, and there is no `url`"),
        ({"backend": "qdrant", "path": "p", "url": "http://x"}, "both `path` and `url`"),
        ({"backend": "qdrant", "api_key_env": "K"}, "`api_key_env` is for a server, and there is no `url`"),
        ({"backend": "qdrant", "collection": "a b"}, "collection is 'a b'"),
        ({"backend": "qdrant", "keep": 10_001}, "keep is 10,001; 'qdrant' keeps at most 10,000"),
        ({"backend": "opensearch"}, "has no `url`; expected the address of opensearch"),
        ({**ES, "path": "p"}, "has a `path`, and 'elasticsearch' is behind an address"),
        ({**ES, "url": "ftp://x"}, "url is 'ftp://x'; expected an address"),
        ({**ES, "url": "http://u:p@x"}, "keep them in the environment"),
        ({**ES, "url": "http://x/?a=1"}, r"without \? and #"),
        ({**ES, "url": "http://x:99999"}, "no address"),
        ({**ES, "timeout": timedelta(0)}, "timeout is 0:00:00; expected more than 0"),
        ({**ES, "name": "Notes"}, "in the index 'Notes'; name one in `collection`: small letters"),
        ({**ES, "collection": "_notes"}, "in the index '_notes'"),
        ({"search": MemorySearch(limit=0)}, "search.limit is 0"),
        ({"search": MemorySearch(max_chars=0)}, "search.max_chars is 0"),
        ({"search": MemorySearch(min_score=1.0)}, "search.min_score is 1.0; expected a cosine, from -1 to below 1"),
        ({"search": MemorySearch(min_score=float("nan"))}, "search.min_score is nan"),
        ({"search": MemorySearch(text=("",))}, "search.text names an empty field"),
        ({"search": MemorySearch(embed="a b")}, "search.embed is 'a b'; expected hashed, minilm or a component's name"),
        ({"search": MemorySearch(embed="memory", dimensions=2)}, "the memory itself"),
        ({"search": MemorySearch(embed="embedder")}, "search.dimensions is not given; say how many numbers"),
        ({"search": MemorySearch(embed="minilm", dimensions=384)}, "search.dimensions has no effect"),
        ({"search": MemorySearch(dimensions=1)}, "search.dimensions is 1"),
        ({"search": MemorySearch(dimensions=5000)}, "search.dimensions is 5000"),
        ({"search": MemorySearch(limit="5")}, "search: Expected `int`"),  # type: ignore[arg-type]
        ({"search": {"embed": "hashed"}}, "expected a MemorySearch, or None"),
    ],
)
def test_what_cannot_work_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        RecencyMemory(**{"name": "memory", **options})


def test_a_plain_memory_has_the_digest_that_the_first_release_gave_it() -> None:
    for options, parts in (({}, ["memory", 20, 1000, ""]), ({"limit": 2, "keep": 3, "by": "é"}, ["memory", 2, 3, "é"])):
        digest = RecencyMemory("memory", **options).card.digest  # type: ignore[arg-type]
        assert digest == digest_of(orjson.dumps(["recency", *parts]))


def test_what_decides_an_answer_is_in_the_digest_and_where_it_is_kept_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "hold_to_packages", lambda: None)  # the model need not be there

    def digest(**options: Any) -> str:
        return RecencyMemory("memory", **options).card.digest

    searched = [
        MemorySearch(),
        MemorySearch(dimensions=256),
        MemorySearch(embed="minilm"),
        MemorySearch(limit=9),
        MemorySearch(min_score=0.1),
        MemorySearch(text=("a",)),
    ]
    assert len({digest(), *(digest(search=each) for each in searched)}) == len(searched) + 1
    assert digest(backend="qdrant") == digest(backend="qdrant", url="http://x", collection="y", api_key_env="K")
    assert digest(backend="qdrant") != digest()
    assert digest(path="a.sqlite") == digest()


def test_the_card_says_what_it_takes_and_whom_it_calls() -> None:
    plain = RecencyMemory("memory").card
    assert set(plain.input["properties"]) == {"remember", "forget", "limit"}  # type: ignore[arg-type]
    assert (plain.calls, plain.capabilities) == ((), ())
    searched = RecencyMemory("memory", search=MemorySearch(embed="embedder", dimensions=2)).card
    assert set(searched.input["properties"]) == {"remember", "forget", "limit", "query", "top"}  # type: ignore[arg-type]
    assert (searched.calls, searched.capabilities) == (("embedder",), ("call",))
    asked: list[dict[str, Any]] = [{"query": "x"}, {"forget": True}, {"forget": False}, {"forget": True, "remember": 1}]
    assert [searched.action_of(each) for each in asked] == ["recall", "forget", "recall", "remember"]
    assert [searched.effect_of(searched.action_of(each)) for each in asked] == [
        Effect.READ,
        Effect.WRITE,
        Effect.READ,
        Effect.WRITE,
    ]


def test_where_there_is_room_for_fewer_fewer_are_found() -> None:
    card = RecencyMemory("memory", limit=2, keep=3, search=MemorySearch()).card
    assert card.input["properties"]["top"]["default"] == 3  # type: ignore[index,call-overload]
