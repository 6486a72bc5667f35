"""Many calls, a few at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

A = TypeVar("A")
B = TypeVar("B")

_OFFSPRING: Final = 2
"""Workers that each worker begins: a thousand stand ten turns of the loop later."""


async def in_order(call: Callable[[A], Awaitable[B]], items: Iterable[A], *, concurrency: int) -> list[B]:
    """Call for each item, at most `concurrency` at once; results in the order of the items.

    The first call that raises cancels the others and is raised. A worker is begun while another waits: calls that
    never wait are made in one task, where a task for each cost 4 µs.
    """
    todo = list(items)
    results: dict[int, B] = {}
    begun = workers = 0

    def begin() -> None:
        nonlocal workers
        if begun < len(todo) and workers < concurrency:
            workers += 1
            group.create_task(work())

    async def work() -> None:
        nonlocal begun
        for _ in range(_OFFSPRING):
            begin()
        while begun < len(todo):
            index, begun = begun, begun + 1
            results[index] = await call(todo[index])

    try:
        async with asyncio.TaskGroup() as group:
            begin()
    except BaseExceptionGroup as broken:  # the first says what a single call would have
        raise broken.exceptions[0] from None
    if len(results) < len(todo):  # a call that cancelled its own task ended no group
        raise asyncio.CancelledError("a call was cancelled from within")
    return [results[index] for index in range(len(todo))]
