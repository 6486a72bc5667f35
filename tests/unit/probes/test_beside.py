"""What would hold the event loop is done in a thread, one at a time, which nobody has to wait for."""

import asyncio
import threading

import pytest

from stretto.probes.beside import Beside
from stretto.probes.probe import ProbeError


async def test_the_event_loop_goes_on_meanwhile() -> None:
    gate = threading.Event()
    beside = Beside("test")
    work = asyncio.ensure_future(beside.do(lambda: gate.wait(10) and threading.current_thread().name))
    await asyncio.sleep(0)
    gate.set()
    assert await work == "stretto-probe-test"


async def test_what_it_raises_is_raised() -> None:
    def work() -> None:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        await Beside("test").do(work)


async def test_a_machine_that_gives_no_thread_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    beside = Beside("test")
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="new thread"):
            await beside.do(lambda: 1)
    assert await beside.do(lambda: 2) == 2


async def test_one_that_hangs_is_not_joined_by_another_and_a_late_end_harms_nobody() -> None:
    gate, ended = threading.Event(), threading.Event()

    def work() -> None:
        gate.wait(10)
        ended.set()

    beside = Beside("test")
    hanging = asyncio.ensure_future(beside.do(work))
    await asyncio.sleep(0)
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    with pytest.raises(ProbeError, match="still hangs"):
        await beside.do(work)
    threads = [thread for thread in threading.enumerate() if thread.name == "stretto-probe-test"]
    gate.set()
    for thread in threads:
        await asyncio.to_thread(thread.join, 10)
    assert ended.is_set()
    assert await beside.do(lambda: 5) == 5
