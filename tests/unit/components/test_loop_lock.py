"""A lock that one event loop left taken is free in the next; one that lives keeps what it has."""

import asyncio
import threading
from concurrent.futures import Future

import pytest

from stretto.components.loop_lock import LoopLock
from stretto.types.errors import UsageError


def test_tasks_of_one_loop_wait_for_each_other() -> None:
    lock, order = LoopLock(), []

    async def hold(name: str) -> None:
        async with lock.held("it"):
            order.append(f"{name} in")
            await asyncio.sleep(0)
            order.append(f"{name} out")

    async def main() -> None:
        await asyncio.gather(hold("a"), hold("b"))

    for _ in range(2):
        asyncio.run(main())
    assert order == ["a in", "a out", "b in", "b out"] * 2


def test_what_a_loop_left_taken_is_free_in_the_next() -> None:
    lock, left = LoopLock(), []

    async def take() -> None:
        held = lock.held("it")
        left.append(held)
        await asyncio.wait_for(held.__aenter__(), 1)

    for _ in range(2):
        asyncio.run(take())


def test_what_a_living_loop_holds_is_refused_to_another_and_free_again_afterwards() -> None:
    lock, leave = LoopLock(), asyncio.Event()
    taken: Future[asyncio.AbstractEventLoop] = Future()

    async def keep() -> None:
        async with lock.held("it"):
            taken.set_result(asyncio.get_running_loop())
            await leave.wait()

    async def take() -> None:
        async with lock.held("it"):
            pass

    thread = threading.Thread(target=asyncio.run, args=(keep(),))
    thread.start()
    loop = taken.result()
    with pytest.raises(UsageError, match="it is open in another event loop, which runs in another thread"):
        asyncio.run(take())
    loop.call_soon_threadsafe(leave.set)
    thread.join()
    asyncio.run(take())


def test_what_a_resting_loop_holds_is_refused_until_it_ends() -> None:
    lock, left = LoopLock(), []

    async def take() -> None:
        left.append(lock.held("it"))
        await left[-1].__aenter__()

    with asyncio.Runner() as resting:
        resting.run(take())
        with pytest.raises(UsageError, match="which is not at work but has not ended"):
            asyncio.run(take())
    asyncio.run(take())


def test_a_living_loop_that_let_go_does_not_keep_it() -> None:
    lock = LoopLock()

    async def take() -> None:
        async with lock.held("it"):
            pass

    with asyncio.Runner() as resting:
        resting.run(take())
        asyncio.run(take())
        resting.run(take())
