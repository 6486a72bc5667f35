import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from stretto.record.canonical import canonical
from stretto.record.lines import export_runs
from stretto.record.model import Annotation, EffectRecord, Run
from stretto.store.sqlite import Store
from stretto.types.enums import Durability, RunStatus
from stretto.types.errors import StoreError, UsageError
from tests.unit.record.generated import a_model_call, a_run, a_step, an_effect, an_open_run, any_records, raw
from tests.unit.store.test_journal import record


def canonical_lines(file: Path) -> list[bytes]:
    return [canonical(line) for line in file.read_bytes().splitlines()]


def write_lines(records: list[Run | EffectRecord | Annotation], file: Path) -> None:
    with file.open("wb") as out:
        export_runs(records, out, file.with_suffix(".blobs"))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(any_records(), max_size=3))
def test_what_was_imported_is_exported_equal(tmp_path: Path, groups: list[list[Any]]) -> None:
    groups = sorted(groups, key=lambda group: str(group[0].id))
    for group in groups:  # annotations leave in the order in which they became known
        group.sort(key=lambda item: item.at_ns if isinstance(item, Annotation) else -1)
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    write_lines([item for group in groups for item in group], first)
    path = tmp_path / "runs.db"
    with Store(path) as store:
        store.import_(first)
        assert store.export(second) == len(groups)
    path.unlink(missing_ok=True)
    assert canonical_lines(second) == canonical_lines(first)


def test_what_was_said_twice_is_imported_twice_and_once_more_only_when_it_is_new(tmp_path: Path) -> None:
    run = a_run()
    said = Annotation(run_id=run.id, name="label", value="good", at_ns=5)
    write_lines([run, said, said], tmp_path / "runs.jsonl")
    with Store(tmp_path / "runs.db") as store:
        for _ in range(2):
            store.import_(tmp_path / "runs.jsonl")
        assert store.annotations(run.id) == [said, said]


async def filled(path: Path) -> None:
    with Store(path) as store:
        run = a_run(input=raw("x" * 9000), steps=[a_step(model_calls=(a_model_call(),))])
        await record(store, run, Durability.STEP)
        store.annotate(Annotation(run_id=run.id, name="reward", value=1, at_ns=5))
        parked = an_open_run(labels={"split": "test"})
        journal = await store.open(parked, Durability.STEP)
        await journal.intent(an_effect(parked.id))
        parked.status = RunStatus.PARKED
        await journal.seal(parked)
        await store.open(an_open_run(), Durability.STEP)


def test_a_store_goes_to_another_with_everything_that_is_sealed(tmp_path: Path) -> None:
    asyncio.run(filled(tmp_path / "a.db"))
    file, again = tmp_path / "out" / "runs.jsonl", tmp_path / "out" / "again.jsonl"
    with Store(tmp_path / "a.db") as one, Store(tmp_path / "b.db") as two:
        assert one.export(file) == 2
        took = two.import_(file)
        assert (took.runs, took.effects, took.annotations, took.already_here) == (2, 1, 1, 0)
        assert two.export(again) == 2
        assert len(two.in_doubt()) == 1
    assert again.read_bytes() == file.read_bytes()
    assert len(list((tmp_path / "out" / "runs.blobs").iterdir())) == 4


def test_importing_twice_changes_nothing(tmp_path: Path) -> None:
    asyncio.run(filled(tmp_path / "a.db"))
    file = tmp_path / "runs.jsonl"
    with Store(tmp_path / "a.db") as store:
        store.export(file)
        before = store.stats()
        took = store.import_(file)
        assert (took.runs, took.already_here) == (0, 4)
        assert store.stats().runs == before.runs


def test_only_the_runs_that_are_asked_for_leave(tmp_path: Path) -> None:
    asyncio.run(filled(tmp_path / "a.db"))
    with Store(tmp_path / "a.db") as store:
        assert store.export(tmp_path / "one.jsonl", split="test") == 1
        assert store.export(tmp_path / "one.jsonl", limit=1) == 1


def test_an_imported_parked_run_is_not_resumed_here(tmp_path: Path) -> None:
    asyncio.run(filled(tmp_path / "a.db"))
    with Store(tmp_path / "a.db") as one, Store(tmp_path / "b.db") as two:
        one.export(tmp_path / "runs.jsonl")
        two.import_(tmp_path / "runs.jsonl")
        (parked,) = two.list(status=RunStatus.PARKED)
        with pytest.raises(UsageError, match="keeps no intents"):
            two.claim(parked.id)


def test_a_run_that_differs_from_its_namesake_is_refused(tmp_path: Path) -> None:
    run = a_run()
    with Store(tmp_path / "a.db") as store:
        asyncio.run(record(store, run, Durability.RUN))
        write_lines([msgspec.structs.replace(run, seed=9)], tmp_path / "other.jsonl")
        with pytest.raises(StoreError, match=f"run {run.id} is in the store with other content"):
            store.import_(tmp_path / "other.jsonl")


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([an_open_run()], "is not sealed; only sealed runs are imported"),
        ([an_effect("0190-nobody")], "names run 0190-nobody, which is neither in the store nor before it in the file"),
        ([Annotation(run_id=a_run().id, name="x", value=1, at_ns=1)], "which is neither in the store nor before it"),
    ],
)
def test_records_that_do_not_stand_alone_are_refused(
    store: Store, tmp_path: Path, records: list[Any], words: str
) -> None:
    write_lines([a_run(), *records], tmp_path / "runs.jsonl")
    with pytest.raises(StoreError, match=words):
        store.import_(tmp_path / "runs.jsonl")
    assert store.stats().runs == 0


def test_a_file_with_one_bad_line_is_refused_whole(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    write_lines([a_run() for _ in range(3)], file)
    file.write_bytes(file.read_bytes() + b'{"format":"stretto.run/1"')
    with pytest.raises(StoreError, match="line 4: "):
        store.import_(file)
    assert store.stats().runs == 0


def test_a_file_that_is_not_there_and_a_place_that_cannot_be_written_are_named(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"nothing\.jsonl cannot be read"):
        store.import_(tmp_path / "nothing.jsonl")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        store.export(tmp_path / "file" / "runs.jsonl")
