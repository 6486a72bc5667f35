"""Plain functions run in daemon threads that are bounded, and whoever keeps one is known."""

import asyncio
import contextvars
import logging
import os
import subprocess
import sys
import threading

import pytest

from stretto.components.threads import FALLBACK_THREADS, THREADS, Threads, hangs, threads_for
from stretto.types.errors import Code, ComponentError
from stretto.types.ids import StepPath
from stretto.types.waited import NeverBegun, Waited

colour: contextvars.ContextVar[str] = contextvars.ContextVar("colour")


async def test_work_runs_in_another_thread_and_sees_context_variables() -> None:
    colour.set("red")
    done = await Threads(1).run("c", lambda: (threading.current_thread().daemon, colour.get()))
    assert done.result() == (True, "red")
    assert done.queue_ms >= 0


async def test_what_the_work_raises_reaches_the_caller_and_the_thread_serves_on() -> None:
    threads = Threads(1)
    with pytest.raises(SystemExit):
        (await threads.run("c", lambda: exec("raise SystemExit(3)"))).result()
    assert (await threads.run("c", lambda: 1)).result() == 1


async def test_as_many_run_at_once_as_there_are_threads_and_the_wait_is_told() -> None:
    threads, gate, entered = Threads(2), threading.Event(), threading.Semaphore(0)

    def work() -> None:
        entered.release()
        assert gate.wait(10)

    calls = [asyncio.ensure_future(threads.run("c", work)) for _ in range(3)]
    await asyncio.to_thread(lambda: [entered.acquire() for _ in range(2)])
    assert not entered.acquire(blocking=False)
    gate.set()
    waits = sorted([done.queue_ms for done in await asyncio.gather(*calls)])
    assert waits[2] > waits[0]


async def test_a_call_that_is_cancelled_before_it_has_a_thread_was_never_begun() -> None:
    threads, gate, entered, made = Threads(1), threading.Event(), threading.Event(), []

    def hold() -> None:
        entered.set()
        assert gate.wait(10)

    holder = asyncio.ensure_future(threads.run("c", hold))
    await asyncio.to_thread(entered.wait)
    with pytest.raises(TimeoutError) as caught:
        async with asyncio.timeout(0.01):
            await threads.run("c", lambda: made.append(1))
    cancelled = caught.value.__cause__
    assert cancelled is not None
    assert isinstance(cancelled.__cause__, NeverBegun)
    assert cancelled.__cause__.queue_ms >= 9
    gate.set()
    await holder
    await threads.run("c", lambda: None)
    assert (made, threads.hung) == ([], {})


async def test_a_cancelled_call_that_runs_on_is_named_and_counted_until_it_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    threads, gate, entered = Threads(1, told_after_s=0.0), threading.Event(), threading.Event()

    def hang() -> None:
        entered.set()
        assert gate.wait(10)

    call = asyncio.ensure_future(threads.run("slow", hang))
    await asyncio.to_thread(entered.wait)
    call.cancel()
    with caplog.at_level(logging.WARNING), pytest.raises(asyncio.CancelledError) as cancelled:
        await call
    assert type(cancelled.value.__cause__) is Waited
    assert threads.hung == {"slow": 1}
    with caplog.at_level(logging.WARNING):
        await asyncio.sleep(0.001)  # past the timer of 0 s
    assert "'slow' was cancelled 0 s ago and still runs; 1 of 1 threads" in caplog.text
    with pytest.raises(ComponentError, match=r"all 1 threads are held .* slow \(1\)") as caught:
        await threads.run("other", lambda: 1)
    assert caught.value.rpc_code is Code.RESOURCE_EXHAUSTED
    gate.set()
    await asyncio.to_thread(lambda: [None for _ in iter(lambda: threads.hung, {})])
    assert (await threads.run("other", lambda: 1)).result() == 1


async def test_a_cancelled_call_that_ends_soon_is_not_spoken_of(caplog: pytest.LogCaptureFixture) -> None:
    threads, gate, entered = Threads(1, told_after_s=0.0), threading.Event(), threading.Event()

    def slow() -> None:
        entered.set()
        assert gate.wait(10)

    call = asyncio.ensure_future(threads.run("slow", slow))
    await asyncio.to_thread(entered.wait)
    call.cancel()
    with caplog.at_level(logging.WARNING):
        with pytest.raises(asyncio.CancelledError):
            await call
        gate.set()
        while threads.hung:  # without a turn of the loop, so that the timer comes after
            pass
        await asyncio.sleep(0.001)
    assert caplog.text == ""


async def test_a_call_cancelled_before_it_began_never_runs() -> None:
    threads, gate, entered, ran = Threads(1), threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        entered.set()
        assert gate.wait(10)

    first = asyncio.ensure_future(threads.run("first", hold))
    await asyncio.to_thread(entered.wait)
    second = asyncio.ensure_future(threads.run("second", ran.set))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert threads.hung == {}
    gate.set()
    await first
    await threads.run("third", lambda: None)
    assert not ran.is_set()


async def test_what_answers_in_the_place_of_others_has_threads_of_its_own() -> None:
    for path in ("fallback", "pay/fallback", "each[2]/pay/fallback"):
        assert threads_for(StepPath(path)) is FALLBACK_THREADS
    for path in ("pay", "fallback/rules#1", "no_fallback"):
        assert threads_for(StepPath(path)) is THREADS
    done = await FALLBACK_THREADS.run("rules", threading.current_thread)
    assert done.result().name.startswith("stretto-fallback-")


async def test_a_call_that_hangs_is_known_wherever_it_does() -> None:
    for threads in (THREADS, FALLBACK_THREADS):
        gate, entered = threading.Event(), threading.Event()

        def work(entered: threading.Event = entered, gate: threading.Event = gate) -> None:
            entered.set()
            assert gate.wait(10)

        task = asyncio.ensure_future(threads.run("stuck", work))
        await asyncio.to_thread(entered.wait, 10)
        assert not hangs("stuck")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert hangs("stuck")
        gate.set()
        while hangs("stuck"):  # noqa: ASYNC110  # the pool tells nobody
            await asyncio.sleep(0)


FORKS = """
import asyncio, os, sys
from stretto.components.threads import THREADS

async def done():
    async with asyncio.timeout(10):
        return (await THREADS.run("c", os.getpid)).result()

assert asyncio.run(done()) == os.getpid()
assert THREADS._idle.acquire(timeout=10)  # it waits for work again
THREADS._idle.release()
if child := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
os._exit(0 if asyncio.run(done()) == os.getpid() else 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process forks here")
def test_a_process_that_was_forked_has_threads_of_its_own() -> None:
    """And none of its parent's, which are not there."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], check=True, timeout=60)
