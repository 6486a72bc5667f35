"""What one process may do to a file while another connection of it lives, and what another process then sees."""

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from stretto.store.batch import Write
from stretto.store.living import living, none_living
from stretto.store.sqlite import Store
from stretto.types.enums import Durability
from tests.unit.record.generated import a_run
from tests.unit.store.test_journal import record

COMES_AND_GOES = "import sys; from stretto import Store; s = Store(sys.argv[1]); s.annotate(); s.input_key; s.close()"
"""A process that opens a store for writing and closes it: the last one to close deletes the log."""


def test_a_process_that_closes_the_store_leaves_the_log_to_those_that_have_it_open(path: Path) -> None:
    with Store(path) as store:
        run = a_run()
        asyncio.run(record(store, run, Durability.RUN))
        with Store(path) as second:  # and its header is judged
            assert second.get(run.id).id == run.id
            subprocess.run([sys.executable, "-c", COMES_AND_GOES, str(path)], check=True)
            assert Path(f"{path}-wal").exists()


def test_a_file_may_be_opened_again_when_the_last_connection_to_it_was_closed(path: Path) -> None:
    def may_open() -> bool:
        with none_living(path) as may:
            return may

    first, second = living(path), living(path)
    assert not may_open()
    first.close()
    assert not may_open()
    second.close()
    assert may_open()


def test_a_store_may_be_closed_by_whoever_holds_on_to_the_file(path: Path, tmp_path: Path) -> None:
    """What is let go of is closed wherever a garbage collection finds it, also where another file is being opened."""
    store = Store(path)
    asyncio.run(record(store, a_run(), Durability.RUN))
    assert store.list()  # a connection that reads as well

    def open_another() -> None:
        with none_living(tmp_path / "other.db"):
            store.close()

    ends(open_another)


def test_a_store_whose_writer_has_yet_to_open_its_file_may_be_found_by_a_collection_there(
    path: Path, tmp_path: Path
) -> None:
    """The writer waits until the other file is opened, and whoever opens that does not wait for the writer meanwhile:
    what was handed over is kept, and the store is closed, once it is."""

    def open_another() -> None:
        with none_living(tmp_path / "other.db"):
            hand_over_and_let_go()
            gc.collect()
            assert not path.exists()
        with none_living(path) as is_closed:
            assert is_closed

    def hand_over_and_let_go() -> None:
        store = Store(path)
        store._writer.post(Write("run", "", 0))
        store.itself = store  # type: ignore[attr-defined]  # so that nothing but a collection finds it

    ends(open_another)
    assert path.exists()


def ends(work: Callable[[], None]) -> None:
    """Do it in a thread that may hang; raises what it raises."""
    ended: Future[None] = Future()

    def run() -> None:
        try:
            work()
            ended.set_result(None)
        except BaseException as error:
            ended.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    ended.result(10)
