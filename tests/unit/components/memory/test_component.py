"""A memory keeps what it is told: apart by tenant, once for each step, and for good if it has a file."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from stretto.components.memory import RecencyMemory
from stretto.types.enums import Effect, Scope
from stretto.types.errors import Code, ComponentError, UsageError
from stretto.types.protocols import KeepsBetweenRuns, OpensPerRun


@pytest.fixture(params=["process", "file"])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    return {} if request.param == "process" else {"path": tmp_path / "memory.sqlite"}


async def test_the_latest_values_are_told_oldest_first(options: dict[str, Any], make_request: Any) -> None:
    memory = RecencyMemory("memory", limit=2, **options)
    for number in range(4):
        response = await memory(make_request(remember={"n": number}, _run=f"r{number}"))
    assert response.output == {"recent": [{"n": 2}, {"n": 3}]}
    assert (await memory(make_request())).output == {"recent": [{"n": 2}, {"n": 3}]}
    assert (await memory(make_request(limit=3))).output == {"recent": [{"n": 1}, {"n": 2}, {"n": 3}]}
    assert (await memory(make_request(limit=0))).output == {"recent": []}
    await memory.close()


async def test_tenants_and_labels_keep_values_apart(options: dict[str, Any], make_request: Any) -> None:
    memory = RecencyMemory("memory", by="session", **options)

    async def exchange(tenant: str, session: str, *remember: str) -> Any:
        envelope = {"_tenant": tenant, "_labels": {"session": session}, "_run": f"{tenant}/{session}"}
        fields = {"remember": remember[0]} if remember else {}
        return (await memory(make_request(**envelope, **fields))).output["recent"]  # type: ignore[index]

    await exchange("a", "1", "of a1")
    await exchange("a", "2", "of a2")
    await exchange("b", "1", "of b1")
    assert await exchange("a", "1") == ["of a1"]
    assert await exchange("a", "2") == ["of a2"]
    assert await exchange("b", "1") == ["of b1"]
    assert await exchange("b", "2") == []
    await memory.close()


async def test_a_write_sent_twice_is_kept_once(options: dict[str, Any], make_request: Any) -> None:
    memory = RecencyMemory("memory", **options)
    for _ in range(2):
        response = await memory(make_request(remember="x", _path="loop[1]/remember"))
    assert response.output == {"recent": ["x"]}
    await memory(make_request(remember="x", _path="loop[2]/remember"))
    assert (await memory(make_request())).output == {"recent": ["x", "x"]}
    await memory.close()


async def test_the_oldest_are_forgotten(options: dict[str, Any], make_request: Any) -> None:
    memory = RecencyMemory("memory", limit=3, keep=3, **options)
    for number in range(10):
        await memory(make_request(remember=number, _run=str(number)))
    assert (await memory(make_request())).output == {"recent": [7, 8, 9]}
    await memory.close()


async def test_what_is_kept_cannot_be_changed_from_outside(options: dict[str, Any], make_request: Any) -> None:
    memory, value = RecencyMemory("memory", **options), {"a": [1]}
    told: Any = (await memory(make_request(remember=value))).output
    value["a"].append(2)
    told["recent"][0]["a"].append(3)
    assert (await memory(make_request())).output == {"recent": [{"a": [1]}]}
    await memory.close()


async def test_a_file_outlives_the_process_and_is_shared(tmp_path: Path, make_request: Any) -> None:
    path = tmp_path / "memory.sqlite"
    first, second, other = [RecencyMemory(name, path=path) for name in ("memory", "memory", "other")]
    await first(make_request(remember="x"))
    assert (await second(make_request())).output == {"recent": ["x"]}
    assert (await other(make_request())).output == {"recent": []}
    await asyncio.gather(*(m(make_request(remember=i, _run=str(i))) for i, m in enumerate([first, second] * 10)))
    assert len((await first(make_request(limit=100))).output["recent"]) == 21  # type: ignore[index]
    for memory in (first, second, other):
        await memory.close()


async def test_a_file_is_made_with_its_folders(tmp_path: Path, make_request: Any) -> None:
    memory = RecencyMemory("memory", path=tmp_path / "not" / "there" / "memory.sqlite")
    assert (await memory(make_request())).output == {"recent": []}
    assert (await memory(make_request(remember="x"))).output == {"recent": ["x"]}
    await memory.close()


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, make_request: Any) -> None:
    (tmp_path / "file").touch()
    memory = RecencyMemory("notes", path=tmp_path / "file" / "memory.sqlite")
    for fields in ({}, {"remember": 1}):
        with pytest.raises(ComponentError, match=r"memory 'notes': .*file/memory\.sqlite could not be") as caught:
            await memory(make_request(**fields))
        assert (caught.value.rpc_code, caught.value.sent) == (Code.FAILED_PRECONDITION, False)


async def test_a_memory_by_run_begins_empty_and_leaves_nothing(options: dict[str, Any], make_request: Any) -> None:
    memory = RecencyMemory("memory", limit=2, keep=3, **options)
    await memory(make_request(remember="lasting"))
    by_run = memory.per_run()
    assert isinstance(memory, KeepsBetweenRuns)
    assert isinstance(by_run, OpensPerRun)
    assert (by_run.card.scope, by_run.card.digest) == (Scope.RUN, memory.card.digest)
    assert by_run.card.action_of({"remember": 1}) == "remember"

    run = make_request().call.run
    first, second = [await by_run.open_run(run) for _ in range(2)]
    for number in range(4):
        await first(make_request(remember=number, _path=f"step[{number}]"))
    assert (await first(make_request(limit=3))).output == {"recent": [1, 2, 3]}
    assert (await second(make_request())).output == {"recent": []}
    assert (await by_run(make_request(remember="alone"))).output == {"recent": ["alone"]}
    assert (await memory(make_request())).output == {"recent": ["lasting"]}
    for each in (first, second, memory):
        await each.close()


def test_it_writes_only_when_there_is_something_to_remember() -> None:
    card = RecencyMemory("memory").card
    requests: list[dict[str, Any]] = [{}, {"limit": 3}, {"remember": None}, {"remember": "x"}]
    effects = [card.effect_of(card.action_of(fields)) for fields in requests]
    assert effects == [Effect.READ, Effect.READ, Effect.READ, Effect.WRITE]
    assert card.action_field in card.input["properties"]  # type: ignore[operator]
    assert card.idempotent
    assert (card.kind, card.name) == ("memory", "memory")


@pytest.mark.parametrize(
    ("fields", "fits"), [({}, True), ({"remember": [1], "limit": 0}, True), ({"limit": -1}, False), ({"x": 1}, False)]
)
def test_its_schema_takes_what_it_can_do(fields: dict[str, Any], fits: bool) -> None:
    assert jsonschema_rs.is_valid(dict(RecencyMemory("memory").card.input), fields) is fits


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, "limit is 0"),
        ({"limit": 5, "keep": 4}, "expected 1 <= limit <= keep"),
        ({"name": "a b"}, "'a b'"),
    ],
)
def test_what_cannot_work_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        RecencyMemory(**{"name": "memory", **options})


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (
            b"this is no database, and it is long enough to be sure of it" * 20,
            Code.FAILED_PRECONDITION,
            "not a database",
        ),
        (None, Code.FAILED_PRECONDITION, "unable to open"),
    ],
)
async def test_a_file_that_cannot_serve_is_named(
    tmp_path: Path, make_request: Any, content: bytes | None, code: Code, message: str
) -> None:
    path = tmp_path / "memory.sqlite"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(ComponentError, match=message) as caught:
        await RecencyMemory("notes", path=path)(make_request(remember=1))
    assert (caught.value.rpc_code, caught.value.sent) == (code, False)
    assert f"memory 'notes': {path}" in str(caught.value)


async def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path, make_request: Any) -> None:
    path = tmp_path / "memory.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(ComponentError, match="newer version"):
        await RecencyMemory("notes", path=path)(make_request())
