"""The store fails while a run is under way: one clear error, nothing acknowledged is lost, and the run can go on."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from stretto.runtime.load import load
from stretto.runtime.workflow import Workflow
from stretto.store.schema import VERSION
from stretto.store.sqlite import Store
from stretto.types.enums import RunStatus
from stretto.types.errors import StoreError

COMPONENTS = '''
from pathlib import Path
from stretto import component

TROUBLE = []

@component("pay", effects="write", inline=True)
def pay(name: str, note: str) -> dict[str, str]:
    with (Path(__file__).parent / "payments").open("a") as payments:
        payments.write(name + "\\n")
    return {"paid": name, "proof": "x" * 20_000}

@component("between", effects="read", inline=True)
def between() -> dict[str, bool]:
    """Where the trouble begins."""
    for begin in TROUBLE:
        begin()
    return {"ok": True}
'''

WORKFLOW = """
stretto: 1
name: till
version: 1.0.0
durability: step
components: components.py
steps:
  - { name: first, component: pay, input_mapping: { name: "'first'", note: input.note } }
  - { name: between, component: between, needs: [first], input_mapping: {} }
  - { name: second, component: pay, needs: [between], input_mapping: { name: "'second'", note: input.note } }
output: { paid: steps.second.paid }
"""

ROOT = Path(__file__).parents[2]
STRETTO = Path(sys.executable).with_name("stretto")

LARGE = {"note": "x" * 20_000}
SMALL = {"note": ""}

Trouble = Callable[[Workflow], AbstractContextManager[None]]


def pragma(workflow: Workflow, text: str) -> None:
    """Change a setting of the writer's own connection."""
    workflow.store._writer.call(lambda connection: connection.execute(f"PRAGMA {text}").fetchall())


def with_sql(path: Path, statement: str) -> None:
    """What another program does to the file."""
    connection = sqlite3.connect(path)
    connection.execute(statement).fetchall()
    connection.close()


@contextmanager
def locked(workflow: Workflow) -> Iterator[None]:
    holder = sqlite3.connect(workflow.store.path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    yield
    holder.close()


@contextmanager
def read_only(workflow: Workflow) -> Iterator[None]:
    """Rights taken away while the file is open do not show; a medium that turns read-only does, and answers so."""
    pragma(workflow, "query_only = 1")
    yield
    with contextlib.suppress(StoreError):
        pragma(workflow, "query_only = 0")


@contextmanager
def full(workflow: Workflow) -> Iterator[None]:
    """The smallest number of pages that SQLite grants is what the file has."""
    pragma(workflow, "max_page_count = 1")
    yield
    pragma(workflow, "max_page_count = 1000000")


@pytest.fixture
async def workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Workflow]:
    monkeypatch.setattr("stretto.store.connect.LOCK_WAIT_S", 0.05)
    (tmp_path / "components.py").write_text(COMPONENTS)
    (tmp_path / "workflow.yaml").write_text(WORKFLOW)
    async with load(tmp_path / "workflow.yaml", store=tmp_path / "store" / "runs.db") as loaded:
        yield loaded
    loaded.store.close()


def begin_with(workflow: Workflow, trouble: Callable[[], object]) -> None:
    """Let the trouble come in the middle of the next run, and no more after it."""
    target = workflow.component("between").target  # type: ignore[attr-defined]  # a python component's function
    asked: list[Callable[[], object]] = target.__globals__["TROUBLE"]

    def once() -> None:
        asked.clear()
        trouble()

    asked.append(once)


def payments(workflow: Workflow) -> list[str]:
    file = workflow.store.path.parents[1] / "payments"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (locked, "is locked: another process has held its write lock"),
        (read_only, "is read-only; give this user the right to write"),
        (full, "cannot grow: the disk is full; free some space and try again. Everything acknowledged is kept"),
    ],
)
async def test_trouble_in_the_middle_of_a_run(workflow: Workflow, trouble: Trouble, words: str) -> None:
    pragma(workflow, "busy_timeout = 50")
    begun = contextlib.ExitStack()
    begin_with(workflow, lambda: begun.enter_context(trouble(workflow)))
    with pytest.raises(StoreError, match=words):
        await workflow.run(LARGE)
    assert payments(workflow) == ["first"], "what could not be stated beforehand was not done"
    begun.close()
    path = workflow.store.path
    workflow.store.close()
    with Store(path) as store:
        (left,) = store.list()
        assert left.status in (None, RunStatus.FAILED)
        assert [effect.path for effect in store.effects(left.id) if effect.receipt is not None] == ["first"]
        assert store.in_doubt() == []
    again = load(path.parents[1] / "workflow.yaml", store=path)
    async with again:
        run = await again.resume(left.id)
        assert run.status is RunStatus.OK, run.error
    again.store.close()
    assert payments(workflow) == ["first", "second"]


async def test_a_disk_that_fills_between_intent_and_receipt_leaves_the_write_in_doubt(workflow: Workflow) -> None:
    begun = contextlib.ExitStack()
    begin_with(workflow, lambda: begun.enter_context(full(workflow)))
    with pytest.raises(StoreError, match="the disk is full"):
        await workflow.run(SMALL)
    begun.close()
    (left,) = workflow.store.list()
    assert left.status in (None, RunStatus.PARKED)
    assert payments(workflow) == ["first", "second"]
    run = await workflow.resume(left.id)
    assert run.status is RunStatus.PARKED
    assert [effect.path for effect in workflow.store.in_doubt()] == ["second"]
    workflow.store.settle_effect(left.id, "second", response={"paid": "second", "proof": ""})
    assert (await workflow.resume(left.id)).status is RunStatus.OK
    assert payments(workflow) == ["first", "second"]


async def test_a_file_of_a_newer_release_is_left_alone_and_the_run_under_way_is_kept(workflow: Workflow) -> None:
    begin_with(workflow, lambda: with_sql(workflow.store.path, f"PRAGMA user_version = {VERSION + 1}"))
    run = await workflow.run(SMALL)
    assert run.status is RunStatus.OK
    path = workflow.store.path
    workflow.store.close()
    with Store(path) as store, pytest.raises(StoreError, match="newer release"):
        store.get(run.id)
    with_sql(path, f"PRAGMA user_version = {VERSION}")
    with Store(path) as store:
        assert store.get(run.id).status is RunStatus.OK


async def test_a_file_that_is_truncated_under_a_run_is_named_and_nothing_is_called_ok(workflow: Workflow) -> None:
    for _ in range(8):
        await workflow.run(LARGE)

    def truncate() -> None:
        with_sql(workflow.store.path, "PRAGMA wal_checkpoint(TRUNCATE)")
        os.truncate(workflow.store.path, workflow.store.path.stat().st_size // 2)

    begin_with(workflow, truncate)
    with pytest.raises(StoreError, match=r"is damaged: .*Restore it from a backup|the disk failed"):
        await workflow.run(LARGE)
    with pytest.raises(StoreError):
        workflow.store.stats()


TMPFS = "size=3m"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can make a small file system to fill")
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", TMPFS, "none", folder], capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"this machine lets nobody mount: {made.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


async def test_a_disk_that_is_really_full(small_disk: Path) -> None:
    (small_disk.parent / "components.py").write_text(COMPONENTS)
    (small_disk.parent / "workflow.yaml").write_text(WORKFLOW)
    sealed = []
    async with load(small_disk.parent / "workflow.yaml", store=small_disk / "runs.db") as workflow:
        filler = small_disk / "filler"
        sealed += [await workflow.run(LARGE) for _ in range(3)]
        begin_with(workflow, lambda: fill(filler))
        with pytest.raises(StoreError, match="the disk is full"):
            await workflow.run(LARGE)
        filler.unlink()
        sealed.append(await workflow.run(LARGE))
    workflow.store.close()
    with Store(small_disk / "runs.db") as store:
        for run in sealed:
            kept = store.get(run.id)
            assert (kept.status, len(kept.steps)) == (RunStatus.OK, 3)
        assert len(store.pending()) + len(store.list(status=RunStatus.FAILED)) == 1
        assert store.stats().lost <= 2, "steps of the run that failed, written behind when the disk was full"


def test_the_command_says_so_in_one_line(small_disk: Path) -> None:
    folder = small_disk.parent
    trouble = (
        f"from tests.e2e.test_store_trouble import fill\nTROUBLE = [lambda: fill(Path({str(small_disk / 'x')!r}))]"
    )
    (folder / "components.py").write_text(COMPONENTS.replace("TROUBLE = []", trouble))
    (folder / "workflow.yaml").write_text(WORKFLOW)
    (folder / "large.json").write_text(json.dumps(LARGE))
    told = subprocess.run(
        [STRETTO, "run", "workflow.yaml", "--input", "@large.json", "--store", small_disk / "runs.db"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (told.returncode, told.stdout) == (1, "")
    assert "cannot grow: the disk is full; free some space and try again" in " ".join(told.stderr.split())
    assert "Traceback" not in told.stderr


def fill(file: Path) -> None:
    """Leave no room on the file's disk."""
    with file.open("wb", buffering=0) as out, contextlib.suppress(OSError):
        while True:
            out.write(b"x" * 4096)
