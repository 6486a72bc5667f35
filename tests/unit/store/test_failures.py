import asyncio
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from stretto.store.schema import VERSION
from stretto.store.sqlite import Store
from stretto.store.writer import Writer
from stretto.types.enums import Durability, RunStatus
from stretto.types.errors import StoreError
from tests.unit.record.generated import a_run, a_step, an_effect, an_open_run, raw
from tests.unit.store.test_journal import canonical_run, record


def pragma(store: Store, text: str) -> None:
    """Change a setting of the writer's own connection."""
    store._writer.call(lambda connection: connection.execute(f"PRAGMA {text}").fetchall())


def written(path: Path, runs: int = 40) -> list[str]:
    """A store with some runs in it, its log merged into the file."""
    return asyncio.run(_written(path, runs))


async def _written(path: Path, runs: int) -> list[str]:
    with Store(path) as store:
        made = [a_run(input=raw("x" * 3000)) for _ in range(runs)]
        await asyncio.gather(*(record(store, run, Durability.RUN) for run in made))
    return [run.id for run in made]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def scribble(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)


def become_something_else(path: Path) -> None:
    path.write_text("name,age\nann,3\n" * 100)


def become_short(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0")


def belong_to_a_newer_release(path: Path) -> None:
    with_sql(path, f"PRAGMA user_version = {VERSION + 1}")


def belong_to_another_application(path: Path) -> None:
    with_sql(path, "PRAGMA application_id = 1196444487")


def be_someone_elses_tables(path: Path) -> None:
    path.unlink()
    with_sql(path, "CREATE TABLE customers (name)")


def become_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def with_sql(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (truncate, r"is damaged: it has [\d,]+ bytes where its header says [\d,]+; it was truncated. Restore it"),
        (become_something_else, "is not a Stretto store: it is not an SQLite database"),
        (become_short, "is not a Stretto store: it is not an SQLite database"),
        (belong_to_a_newer_release, f"newer release .schema {VERSION + 1}, this one reads up to {VERSION}.; upgrade"),
        (belong_to_another_application, "it belongs to another application"),
        (be_someone_elses_tables, "it is an SQLite database with tables of its own"),
        (become_a_folder, "it is not a file"),
    ],
)
def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(
    path: Path, harm: Callable[[Path], None], words: str
) -> None:
    written(path)
    harm(path)
    before = path.read_bytes() if path.is_file() else None
    with Store(path) as store:
        with pytest.raises(StoreError, match=words):
            store.list()
        for durability in Durability:
            with pytest.raises(StoreError, match=words):
                asyncio.run(store.open(an_open_run(), durability))
    assert (path.read_bytes() if path.is_file() else None) == before


def test_damaged_pages_are_named_with_the_remedy(path: Path) -> None:
    run_ids = written(path)
    scribble(path)
    with Store(path) as store:
        with pytest.raises(StoreError, match=r"is damaged: .*\.recover"):
            store.get(run_ids[-1])
        with pytest.raises(StoreError, match="is damaged"):
            asyncio.run(record(store, a_run(), Durability.RUN))


def test_a_store_whose_log_was_not_merged_is_whole(path: Path) -> None:
    with Store(path) as store:
        run = a_run()
        asyncio.run(record(store, run, Durability.RUN))
        copy = path.with_name("copy.db")
        for suffix in ("", "-wal"):
            Path(f"{copy}{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
    with Store(copy) as store:
        assert store.get(run.id).id == run.id


async def test_a_lock_that_is_not_given_back_is_a_retryable_error(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = await store.open(run := an_open_run(), Durability.STEP)
    monkeypatch.setattr("stretto.store.connect.LOCK_WAIT_S", 0.001)
    pragma(store, "busy_timeout = 1")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="is locked: another process has held its write lock") as caught:
        await journal.intent(an_effect(run.id))
    assert caught.value.retryable
    holder.execute("ROLLBACK")
    holder.close()
    await journal.intent(an_effect(run.id))
    assert len(store.effects(run.id)) == 1


async def test_a_lock_that_is_given_back_is_waited_for(store: Store, path: Path) -> None:
    await record(store, a_run(), Durability.RUN)
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.05, lambda: holder.execute("ROLLBACK"))
    release.start()
    await record(store, a_run(), Durability.STEP)
    release.join()
    holder.close()
    assert store.stats().runs == 2


async def test_readers_read_while_another_process_writes(store: Store, path: Path) -> None:
    run = a_run()
    await record(store, run, Durability.RUN)
    store.flush()  # the writer is at rest: what it had in hand would wait for the lock
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert store.get(run.id).id == run.id
    holder.close()


async def test_a_full_disk_is_said_and_nothing_acknowledged_is_lost(store: Store) -> None:
    kept = a_run()
    await record(store, kept, Durability.STEP)
    pragma(store, "max_page_count = 1")  # the smallest that SQLite grants is what the file has
    journal = await store.open(an_open_run(), Durability.NONE)
    with pytest.raises(StoreError, match="cannot grow: the disk is full; free some space") as caught:
        await journal.intent(an_effect("r", request=raw("x" * 50_000)))
    assert caught.value.retryable
    assert canonical_run(store.get(kept.id)) == canonical_run(kept)
    assert store.lost == 0
    pragma(store, "max_page_count = 1000000")
    await record(store, a_run(), Durability.STEP)


async def test_runs_that_could_not_be_written_behind_are_counted_for_good(path: Path) -> None:
    with Store(path) as store:
        await record(store, a_run(), Durability.NONE)
        store.flush()
        pragma(store, "max_page_count = 1")
        large = a_run(output=raw("x" * 100_000))
        await record(store, large, Durability.NONE)
        store.flush()
        assert store.lost == 3  # one run and its two steps
        assert store.stats().lost == 3
        pragma(store, "max_page_count = 1000000")
        await record(store, a_run(), Durability.NONE)
    with Store(path) as store:
        assert (store.lost, store.stats().lost, store.stats().runs) == (0, 3, 2)


@pytest.mark.parametrize("durability", [Durability.STEP, Durability.RUN])
async def test_a_file_that_is_deleted_in_use_is_said_and_the_next_run_makes_another(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch, durability: Durability
) -> None:
    monkeypatch.setattr("stretto.store.transactions._LOOK_S", 0.0)
    former, lost, kept = a_run(), a_run(), a_run()
    await record(store, former, durability)
    assert store.get(former.id).id == former.id
    for part in path.parent.glob(f"{path.name}*"):
        part.unlink()
    with pytest.raises(StoreError, match="was deleted or replaced while it was in use"):
        await record(store, lost, durability)
    await record(store, kept, durability)
    assert [run.id for run in store.list()] == [kept.id]


async def test_a_store_stays_where_it_is_when_the_program_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = a_run()
    with Store("runs.db") as store:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        await record(store, run, Durability.STEP)
        assert store.get(run.id).id == run.id
    assert (tmp_path / "runs.db").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


READ_ONLY = """
import asyncio, os, sys, urllib.parse  # which pathlib imports late, when this user may no longer read it
from stretto.store.sqlite import Store
from stretto.types.errors import StoreError
from stretto.types.enums import Durability
from tests.unit.record.generated import an_open_run

os.setuid(65534)
store = Store(sys.argv[1])
print(len(store.list()))
try:
    asyncio.run(store.open(an_open_run(), Durability.STEP))
except StoreError as error:
    print(error)
store.close()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user who may not write")
def test_a_read_only_store_can_be_read_and_says_why_it_is_not_written() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        written(path, runs=3)
        Path(folder).chmod(0o755)
        path.chmod(0o444)
        done = subprocess.run([sys.executable, "-c", READ_ONLY, str(path)], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("3\n"), done.stderr
    assert "is read-only; give this user the right to write" in done.stdout, done.stderr


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "runs.db")
    with pytest.raises(StoreError, match=r"cannot be opened: .*; choose another path"):
        await store.open(an_open_run(), Durability.NONE)
    store.close()


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("x" * 300, "File name too long; choose a shorter path"),
        ("x" * 253, r"File name too long at .*-wal; choose a shorter path|unable to open database file"),
        ("file/runs.db", "File exists at .*/file; that is no folder; choose another path"),
    ],
)
async def test_a_place_that_cannot_be_got_at_is_told_with_what_to_do(tmp_path: Path, place: str, words: str) -> None:
    (tmp_path / "file").touch()
    with Store(tmp_path / place) as store, pytest.raises(StoreError, match=f"cannot be opened.*(?:{words})"):
        await store.open(an_open_run(), Durability.STEP)


async def test_a_store_whose_name_is_not_utf8_keeps_runs(tmp_path: Path) -> None:
    with Store(tmp_path / os.fsdecode(b"\xff.db")) as store:
        await record(store, run := a_run(), Durability.RUN)
        assert store.get(run.id).id == run.id
        assert [each.id for each in store.list()] == [run.id], "a connection that was given back reads again"
    assert (tmp_path / os.fsdecode(b"\xff.db")).exists()


async def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    with Store(tmp_path / "a" / "b" / "runs.db") as store:
        await record(store, a_run(), Durability.RUN)
    assert (tmp_path / "a" / "b" / "runs.db").exists()


# back-pressure


async def test_a_full_queue_makes_the_next_unawaited_seal_wait(path: Path) -> None:
    with Store(path) as store:
        await record(store, a_run(), Durability.RUN)
        store._writer.inbox._full_bytes = 10_000
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        posted = 0
        while not store._writer.inbox.full:
            await record(store, a_run(output=raw("x" * 3000)), Durability.NONE)
            posted += 1
        waiting = asyncio.ensure_future(record(store, a_run(), Durability.NONE))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not waiting.done()
        holder.execute("ROLLBACK")
        holder.close()
        await waiting
        assert store.stats().runs == posted + 2
        assert store.stats().lost == 0


async def test_a_full_queue_holds_back_the_thread_that_writes_steps(path: Path) -> None:
    with Store(path) as store:
        journal = await store.open(run := an_open_run(), Durability.STEP)
        store._writer.inbox._full_bytes = 10_000
        holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        holder.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.05, lambda: holder.execute("ROLLBACK"))
        release.start()
        largest = 0
        for _ in range(200):
            journal.step(a_step(output=raw("x" * 3000)))
            largest = max(largest, store._writer.inbox.bytes)
        release.join()
        holder.close()
        run.status = RunStatus.OK
        assert largest < 20_000
        assert store.stats().steps == 200


def test_a_writer_that_dies_of_a_bug_keeps_nobody_waiting(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(self: Writer, batch: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Writer, "_process", break_down)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    store = Store(path)
    asyncio.run(wait_in_vain(store))
    store.close()


async def wait_in_vain(store: Store) -> None:
    with pytest.raises(StoreError, match="its writer ended before this could be written"):
        await store.open(an_open_run(), Durability.STEP)
    with pytest.raises(StoreError, match="was closed"):
        await store.open(an_open_run(), Durability.STEP)


# letting go


async def test_a_store_that_is_let_go_of_closes_when_its_last_write_is_committed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unraisable: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    store = Store(path)
    await record(store, a_run(), Durability.NONE)
    reader, thread = store._reader, store._writer._thread
    assert thread is not None
    del store
    thread.join()
    assert unraisable == []
    assert reader._closed
