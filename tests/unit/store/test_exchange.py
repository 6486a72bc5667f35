import asyncio
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from stretto.record.canonical import canonical
from stretto.record.lines import content_of, encode_line, export_runs
from stretto.record.model import Annotation, EffectRecord, Run
from stretto.store.sqlite import Store
from stretto.types.enums import Durability, RunStatus
from stretto.types.errors import StoreError, UsageError
from tests.unit.record.bag import BlobBag
from tests.unit.record.generated import a_model_call, a_run, a_step, an_effect, an_open_run, any_records, raw
from tests.unit.store.test_journal import record


def canonical_lines(file: Path) -> list[bytes]:
    return [canonical(line) for line in file.read_bytes().splitlines()]


def write_lines(records: list[Run | EffectRecord | Annotation], file: Path) -> None:
    with file.open("wb") as out:
        export_runs(records, out, file.with_suffix(".blobs"))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(any_records(), min_size=1, max_size=3))
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


@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
def test_an_export_never_takes_the_place_of_its_own_store(tmp_path: Path, ending: str) -> None:
    asyncio.run(filled(tmp_path / "a.db"))
    (tmp_path / "link").symlink_to(tmp_path / f"a.db{ending}")
    with Store(tmp_path / "a.db") as store:
        for place in (tmp_path / f"a.db{ending}", tmp_path / "link"):
            with pytest.raises(UsageError, match="is a file of the store itself, which an export would destroy"):
                store.export(place)
        assert len(list(store.runs())) == 2


def test_what_an_export_replaces_stays_until_all_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(filled(tmp_path / "a.db"))
    out = tmp_path / "out" / "runs.jsonl"
    with Store(tmp_path / "a.db") as store:
        store.export(out)
        before = out.read_bytes()
        monkeypatch.setattr(store, "annotations", lambda _run: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.export(out)
    assert out.read_bytes() == before
    assert [each.name for each in out.parent.iterdir() if each.is_file()] == ["runs.jsonl"]


def test_an_export_can_go_into_a_pipe(tmp_path: Path) -> None:
    asyncio.run(filled(tmp_path / "a.db"))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as reader, Store(tmp_path / "a.db") as store:
        lines = reader.submit(pipe.read_bytes)
        store.export(pipe)
        assert len(lines.result().splitlines()) > 2
    assert pipe.is_fifo()


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
        with pytest.raises(UsageError, match=rf"other\.jsonl:1: run {run.id} is in the store with other content"):
            store.import_(tmp_path / "other.jsonl")


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([an_open_run()], "is not sealed; only sealed runs are imported"),
        (
            [an_effect("0190-nobody")],
            "it names run 0190-nobody, which is neither in the store nor before it in the file",
        ),
        ([Annotation(run_id=a_run().id, name="x", value=1, at_ns=1)], "which is neither in the store nor before it"),
    ],
)
def test_records_that_do_not_stand_alone_are_refused(
    store: Store, tmp_path: Path, records: list[Any], words: str
) -> None:
    write_lines([a_run(), *records], tmp_path / "runs.jsonl")
    with pytest.raises(UsageError, match=rf"runs\.jsonl:2: .*{words}"):
        store.import_(tmp_path / "runs.jsonl")
    assert not store.path.exists()


def test_a_bad_line_after_many_batches_is_told_before_any_of_them_is_written(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stretto.store.exchange._BATCH", 2)
    write_lines([*(a_run() for _ in range(9)), an_effect("0190-nobody")], tmp_path / "runs.jsonl")
    with pytest.raises(UsageError, match=r"runs\.jsonl:10: it names run 0190-nobody"):
        store.import_(tmp_path / "runs.jsonl")
    assert store.stats().runs == 0


GOOD = encode_line(a_run(seed=3, input=raw({"x": 1})), BlobBag().put)
PLAIN = content_of(GOOD) + b"\n"
"""A line without its digest, as another tool may write it."""


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"", " holds no records; expected what `stretto runs export` writes", id="an empty file"),
        pytest.param(b"\n \n", " holds no records", id="blank lines"),
        pytest.param(b"\x89PNG\r\n\x1a\n\0\0", ":1: not a record", id="an image"),
        pytest.param(b"steps:\n  - name: a\n", ":1: not a record", id="YAML"),
        pytest.param(b'{"a": 1}\n', ":1: not a record: Object missing required field `format`", id="other JSON"),
        pytest.param(b"[" + GOOD.strip() + b"]", ":1: not a record: Expected `object`, got `array`", id="a JSON list"),
        pytest.param(b"{\n" + GOOD[1:], ":1: not a record: Input data was truncated", id="JSON over several lines"),
        pytest.param(GOOD.decode().encode("utf-16"), ":1: not a record", id="UTF-16"),
        pytest.param(GOOD + b"[" * 100_000, ":2: not a record", id="deep"),
        pytest.param(GOOD + GOOD[:200], ":2: not a record: Input data was truncated", id="cut in a line"),
        pytest.param(GOOD.replace(b"run/1", b"run/2"), ":1: unknown format 'stretto.run/2'", id="a newer format"),
        pytest.param(GOOD.replace(b'"x":1', b'"x":2'), ":1: something in it was changed", id="a changed value"),
        pytest.param(GOOD.replace(b'"ok"', b'"great"'), ":1: something in it was changed", id="a changed status"),
        pytest.param(PLAIN.replace(b'"ok"', b'"great"'), ":1: this is no run as stretto.run/1", id="no status"),
        pytest.param(
            re.sub(rb'"input_digest":"..', b'"input_digest":"zz', GOOD), ":1: something in it was changed",
            id="a changed digest",
        ),
        pytest.param(GOOD + PLAIN.replace(b'"x":1', b'"x":2'), ":2: run .* is there twice", id="two of one id"),
        pytest.param(re.sub(rb'"id":"[^"]+"', b'"id":"mine"', PLAIN), ":1: 'mine' is no id of a run", id="an id"),
        pytest.param(
            re.sub(rb'"started_at_ns":\d+', b'"started_at_ns":9223372036854775808', PLAIN),
            ":1: started_at_ns is 9223372036854775808; expected nanoseconds in 64 bits",
            id="a time",
        ),
    ],
)  # fmt: skip
def test_what_no_export_wrote_is_refused_with_file_and_line(
    store: Store, tmp_path: Path, content: bytes, says: str
) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UsageError, match=rf"{tmp_path}/file{says}"):
        store.import_(tmp_path / "file")
    assert not store.path.exists()


def test_lines_of_another_tool_and_of_another_system_are_taken(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(PLAIN.replace(b"\n", b"\r\n") + b"\r\n")
    assert store.import_(tmp_path / "file").runs == 1


def test_a_line_whose_arrays_are_not_beside_it_is_refused(store: Store, tmp_path: Path) -> None:
    write_lines([a_run(), a_run(steps=[a_step(model_calls=(a_model_call(),))])], tmp_path / "runs.jsonl")
    with pytest.raises(UsageError, match=r"runs\.jsonl:2: blob [0-9a-f]{64} is not in"):
        store.import_(tmp_path / "runs.jsonl", blobs_dir=tmp_path / "elsewhere")
    for blob in (tmp_path / "runs.blobs").iterdir():
        blob.write_bytes(blob.read_bytes()[:-1] + b"!")
    with pytest.raises(UsageError, match=r"runs\.jsonl:2: blob .* is damaged"):
        store.import_(tmp_path / "runs.jsonl")
    assert not store.path.exists()


def test_a_file_that_is_not_there_and_a_place_that_cannot_be_written_are_named(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.jsonl cannot be read: No such file or directory"):
        store.import_(tmp_path / "nothing.jsonl")
    with pytest.raises(UsageError, match=r"cannot be read: Is a directory"):
        store.import_(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        store.export(tmp_path / "file" / "runs.jsonl")
