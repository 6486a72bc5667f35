"""Many calls, a few at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


async def in_order(call: Callable[[A], Awaitable[B]], items: Iterable[A], *, concurrency: int) -> list[B]:
    """Call for each item, at most `concurrency` at once; results in the order of the items.

    The first call that raises cancels the others and is raised. More workers are begun while those that there are
    wait, each time twice as many: calls that never wait are made in one task, where a task for each cost 4 µs.
    """
    todo = list(items)
    results: dict[int, B] = {}
    begun = 0

    async def work() -> None:
        nonlocal begun
        while begun < len(todo):
            index, begun = begun, begun + 1
            results[index] = await call(todo[index])

    try:
        async with asyncio.TaskGroup() as group:
            workers = 0
            while begun < len(todo) and workers < concurrency:
                more = min(workers + 1, concurrency - workers, len(todo) - begun)
                for _ in range(more):
                    group.create_task(work())
                workers += more
                await asyncio.sleep(0)
    except BaseExceptionGroup as broken:  # the first says what a single call would have
        raise broken.exceptions[0] from None
    if len(results) < len(todo):  # a call that cancelled its own task ended no group
        raise asyncio.CancelledError("a call was cancelled from within")
    return [results[index] for index in range(len(todo))]
