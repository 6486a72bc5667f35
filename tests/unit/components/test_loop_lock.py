"""A lock that one event loop left taken is free in the next."""

import asyncio

from stretto.components.loop_lock import LoopLock


def test_tasks_of_one_loop_wait_for_each_other() -> None:
    lock, order = LoopLock(), []

    async def hold(name: str) -> None:
        async with lock.here():
            order.append(f"{name} in")
            await asyncio.sleep(0)
            order.append(f"{name} out")

    async def main() -> None:
        await asyncio.gather(hold("a"), hold("b"))

    for _ in range(2):
        asyncio.run(main())
    assert order == ["a in", "a out", "b in", "b out"] * 2


def test_what_a_loop_left_taken_is_free_in_the_next() -> None:
    lock = LoopLock()

    async def take() -> None:
        await asyncio.wait_for(lock.here().acquire(), 1)

    for _ in range(2):
        asyncio.run(take())
