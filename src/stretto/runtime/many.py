"""Many calls, a few at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


async def in_order(call: Callable[[A], Awaitable[B]], items: Iterable[A], *, concurrency: int) -> list[B]:
    """Call for each item, at most `concurrency` at once; results in the order of the items.

    The first call that raises cancels the others and is raised.
    """
    todo = list(items)
    results: dict[int, B] = {}
    left = iter(enumerate(todo))

    async def work() -> None:
        for index, item in left:
            results[index] = await call(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(todo))):
                group.create_task(work())
    except BaseExceptionGroup as broken:  # the first says what a single call would have
        raise broken.exceptions[0] from None
    if len(results) < len(todo):  # a call that cancelled its own task ended no group
        raise asyncio.CancelledError("a call was cancelled from within")
    return [results[index] for index in range(len(todo))]
