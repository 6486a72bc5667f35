"""The backends of the embedded memory agree, and a file is shared, whole and never of another embedding."""

import sqlite3
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, strategies as st

from stretto.components.memory import sqlite, sqlite_index
from stretto.components.memory.backend import Memory, MemoryBackend, Query, Shelf, without_waiting
from stretto.components.memory.process import ProcessBackend
from stretto.components.memory.sqlite import SqliteBackend
from stretto.components.memory.vectors import unit
from stretto.types.errors import ComponentError
from stretto.types.json import Json

T = TypeVar("T")

EMBEDDING = "hand/2"


def done(work: Coroutine[Any, Any, T]) -> T:
    return without_waiting(work)


def memory(key: str, value: Json = None, vector: Sequence[float] | None = None) -> Memory:
    return Memory(
        effect_key=key, value=key if value is None else value, vector=None if vector is None else unit(vector)
    )


def query(vector: Sequence[float], top: int = 10, above: float = -2.0) -> Query:
    direction = unit(vector)
    assert direction is not None
    return Query(vector=direction, top=top, above=above)


def found(backend: MemoryBackend, shelf: Shelf, vector: Sequence[float], top: int = 10) -> list[Json]:
    return [each.value for each in done(backend.search(shelf, query(vector, top)))]


HERE = Shelf("t", "")

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("remember"), st.sampled_from("ab"), st.sampled_from("klmnop"), st.integers(0, 3)),
        st.tuples(st.just("forget"), st.sampled_from("ab"), st.sampled_from("xy"), st.just(0)),
        st.tuples(st.just("search"), st.sampled_from("ab"), st.just(""), st.integers(0, 3)),
    ),
    max_size=30,
)
"""What is done, for which tenant, under which key, and in which of four directions a text points."""


@given(STEPS, st.integers(1, 4), st.integers(0, 6))
def test_process_and_file_agree(steps: list[tuple[str, str, str, int]], keep: int, limit: int) -> None:
    backends: list[MemoryBackend] = [
        ProcessBackend(keep),
        SqliteBackend(Path(":memory:"), "m", keep, EMBEDDING),
    ]
    directions = [(1.0, 0.0), (0.8, 0.6), (0.0, 1.0), (-1.0, 0.0)]
    told: list[list[Any]] = [[], []]
    for what, tenant, key, direction in steps:
        shelf = Shelf(tenant, "")
        for backend, heard in zip(backends, told, strict=True):
            if what == "remember":
                done(backend.remember(shelf, memory(f"{tenant}{key}", direction, directions[direction])))
            elif what == "forget":
                done(backend.forget(shelf, f"{tenant}{key}"))
            else:
                heard.append(done(backend.search(shelf, query(directions[direction], limit + 1))))
            heard.append(done(backend.recall(shelf, limit)))
    assert told[0] == told[1]
    for backend in backends:
        done(backend.close())


def test_the_oldest_are_forgotten_and_found_no_more(tmp_path: Path) -> None:
    for backend in (ProcessBackend(2), SqliteBackend(tmp_path / "m.sqlite", "m", 2, EMBEDDING)):
        for number in range(40):
            done(backend.remember(HERE, memory(str(number), vector=(1.0, number / 100))))
        assert found(backend, HERE, (1.0, 0.0)) == ["38", "39"]
        done(backend.close())


def test_a_forgetting_that_is_sent_again_forgets_nothing_told_since(tmp_path: Path) -> None:
    for backend in (ProcessBackend(9), SqliteBackend(tmp_path / "m.sqlite", "m", 9, EMBEDDING)):
        done(backend.remember(HERE, memory("before", vector=(1.0, 0.0))))
        done(backend.forget(HERE, "forget"))
        done(backend.remember(HERE, memory("since", vector=(1.0, 0.0))))
        done(backend.forget(HERE, "forget"))
        assert done(backend.recall(HERE, 9)) == ["since"]
        assert found(backend, HERE, (1.0, 0.0)) == ["since"]
        done(backend.close())


def test_another_process_s_values_are_found_and_its_forgetting_is_seen(tmp_path: Path) -> None:
    first, second = [SqliteBackend(tmp_path / "m.sqlite", "m", 3, EMBEDDING) for _ in range(2)]
    done(first.remember(HERE, memory("a", vector=(1.0, 0.0))))
    assert found(second, HERE, (1.0, 0.0)) == ["a"]
    done(first.remember(HERE, memory("b", vector=(0.9, 0.1))))
    assert found(second, HERE, (1.0, 0.0)) == ["a", "b"]
    done(first.forget(HERE, "f"))
    assert found(second, HERE, (1.0, 0.0)) == []
    done(first.remember(HERE, memory("c", vector=(0.5, 0.5))))
    assert found(second, HERE, (1.0, 0.0)) == ["c"]
    for backend in (first, second):
        done(backend.close())


def test_what_has_no_text_is_told_and_never_found(tmp_path: Path) -> None:
    for backend in (ProcessBackend(9), SqliteBackend(tmp_path / "m.sqlite", "m", 9, EMBEDDING)):
        done(backend.remember(HERE, memory("silent")))
        done(backend.remember(HERE, memory("loud", vector=(1.0, 0.0))))
        assert done(backend.recall(HERE, 9)) == ["silent", "loud"]
        assert found(backend, HERE, (1.0, 0.0)) == ["loud"]
        done(backend.close())


def test_a_file_of_the_first_release_is_searched_from_then_on_and_still_read_by_it(tmp_path: Path) -> None:
    """A plain memory reads and writes as the first release did: the format did not change."""
    plain = SqliteBackend(tmp_path / "m.sqlite", "m", 3)
    done(plain.remember(HERE, memory("old")))
    searched = SqliteBackend(tmp_path / "m.sqlite", "m", 3, EMBEDDING)
    done(searched.remember(HERE, memory("new", vector=(1.0, 0.0))))
    assert (done(searched.recall(HERE, 9)), found(searched, HERE, (1.0, 0.0))) == (["old", "new"], ["new"])
    for number in range(3):
        done(plain.remember(HERE, memory(str(number))))
    assert found(searched, HERE, (1.0, 0.0)) == []
    (left,) = sqlite3.connect(tmp_path / "m.sqlite").execute("SELECT count(*) FROM memory_vector").fetchone()
    assert left == 0
    for backend in (plain, searched):
        done(backend.close())


def test_a_file_with_vectors_of_another_embedding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.sqlite"
    first = SqliteBackend(path, "m", 3, "hashed-1/512")
    done(first.remember(HERE, memory("a")))
    done(first.close())
    other = SqliteBackend(path, "m", 3, "all-MiniLM-L6-v2/384")
    says = r"memory 'm': .*m\.sqlite holds vectors of 'hashed-1/512'.*'all-MiniLM-L6-v2/384'.*another `path`"
    for work in (other.remember(HERE, memory("b")), other.recall(HERE, 1), other.search(HERE, query((1.0, 0.0)))):
        with pytest.raises(ComponentError, match=says) as caught:
            done(work)
        assert not caught.value.retryable
        assert not caught.value.sent
    beside = SqliteBackend(path, "another-memory", 3, "all-MiniLM-L6-v2/384")
    done(beside.remember(HERE, memory("b")))
    done(beside.close())


def test_the_vector_of_what_was_forgotten_meanwhile_is_not_kept(tmp_path: Path) -> None:
    backend = SqliteBackend(tmp_path / "m.sqlite", "m", 3, EMBEDDING)
    done(backend.add_vectors([(7, unit((1.0, 0.0)))]))
    with sqlite3.connect(tmp_path / "m.sqlite") as other:
        assert other.execute("SELECT count(*) FROM memory_vector").fetchone() == (0,)
    other.close()
    done(backend.close())


def test_a_vector_that_was_damaged_is_told_and_not_compared(tmp_path: Path) -> None:
    backend = SqliteBackend(tmp_path / "m.sqlite", "m", 3, EMBEDDING)
    done(backend.remember(HERE, memory("a", vector=(1.0, 0.0))))
    with sqlite3.connect(tmp_path / "m.sqlite") as other:
        other.execute("UPDATE memory_vector SET vector = x'00'")
    other.close()
    with pytest.raises(ComponentError, match="the vector of row 1 has 1 bytes, not 8"):
        found(backend, HERE, (1.0, 0.0))
    done(backend.close())


def test_vectors_held_for_searches_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_index, "MAX_INDEX_BYTES", 1)
    backend = SqliteBackend(tmp_path / "m.sqlite", "m", 3, EMBEDDING)
    for tenant in "abc":
        done(backend.remember(Shelf(tenant, ""), memory(tenant, vector=(1.0, 0.0))))
    for tenant in "abca":
        assert found(backend, Shelf(tenant, ""), (1.0, 0.0)) == [tenant]
        assert [each for each in "abc" if Shelf(each, "") in backend._indexes] == [tenant]
    done(backend.close())


def test_a_locked_file_may_be_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_S", 0.01)
    backend = SqliteBackend(tmp_path / "m.sqlite", "notes", 10)
    done(backend.remember(HERE, memory("k1", 1)))
    other = sqlite3.connect(tmp_path / "m.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(ComponentError, match="locked") as caught:
        done(backend.remember(HERE, memory("k2", 2)))
    assert caught.value.retryable
    other.close()
    done(backend.remember(HERE, memory("k2", 2)))
    assert done(backend.recall(HERE, 5)) == [1, 2]
    done(backend.close())


def test_what_blocks_must_never_wait_for_the_event_loop() -> None:
    async def waits() -> None:
        await Waits()

    class Waits:
        def __await__(self) -> Any:
            yield

    with pytest.raises(RuntimeError, match="waited for the event loop"):
        without_waiting(waits())


def test_a_vector_survives_the_file(tmp_path: Path) -> None:
    first = SqliteBackend(tmp_path / "m.sqlite", "m", 3, "hand/3")
    vector = np.array([0.1, -0.7, 0.3])
    done(first.remember(HERE, memory("a", vector=vector.tolist())))
    done(first.close())
    again = SqliteBackend(tmp_path / "m.sqlite", "m", 3, "hand/3")
    (told,) = done(again.search(HERE, query(vector.tolist())))
    assert (told.value, told.score, told.source) == ("a", 1.0, "a")
    done(again.close())
