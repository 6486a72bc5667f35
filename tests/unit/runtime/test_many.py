"""Many calls, a few at a time: in order, and together to their end."""

import asyncio
import sys
from typing import Any

import pytest

from stretto.runtime.many import in_order
from stretto.testing import run_virtual


async def doubled(n: int) -> int:
    """Takes longer for a smaller number."""
    await asyncio.sleep(10 - n)
    return 2 * n


@pytest.mark.parametrize("concurrency", [1, 2, 5, 100])
@pytest.mark.parametrize("items", [[], [3], list(range(10))])
def test_results_come_in_the_order_of_the_items(items: list[int], concurrency: int) -> None:
    assert run_virtual(in_order(doubled, iter(items), concurrency=concurrency)) == [2 * n for n in items]


def test_a_free_place_is_taken_by_the_next_item_at_once() -> None:
    async def main() -> float:
        await in_order(asyncio.sleep, [3, 1, 1, 1], concurrency=2)
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 3


def test_a_call_that_cancels_its_own_task_leaves_no_hole_in_the_results() -> None:
    async def call(n: int) -> int:
        task = asyncio.current_task()
        if n == 1 and task is not None:
            task.cancel()
        await asyncio.sleep(1)
        return n

    with pytest.raises(asyncio.CancelledError):
        run_virtual(in_order(call, range(4), concurrency=2))


def test_the_first_error_ends_the_others_and_is_raised_as_it_is() -> None:
    ended: list[int] = []

    async def call(n: int) -> None:
        try:
            await asyncio.sleep(n)
            raise LookupError(f"no {n}")
        finally:
            ended.append(n)

    with pytest.raises(LookupError, match="no 1"):
        run_virtual(in_order(call, [2, 1, 3, 4], concurrency=3))
    assert sorted(ended) == [1, 2, 3]


@pytest.mark.parametrize(("count", "concurrency", "most"), [(1000, 1000, 1000), (1000, 7, 7), (3, 100, 3), (5, 1, 1)])
def test_as_many_are_made_at_once_as_may_be(count: int, concurrency: int, most: int) -> None:
    at_once: list[int] = []
    under_way = 0

    async def call(_: int) -> None:
        nonlocal under_way
        under_way += 1
        at_once.append(under_way)
        await asyncio.sleep(1)
        under_way -= 1

    async def main() -> float:
        await in_order(call, range(count), concurrency=concurrency)
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == -(-count // concurrency)
    assert max(at_once) == most


@pytest.mark.skipif(sys.version_info < (3, 12), reason="tasks begin late before Python 3.12")
def test_tasks_that_begin_at_once_are_no_deeper_for_being_many() -> None:
    async def main() -> list[int]:
        eager: Any = asyncio.eager_task_factory  # type: ignore[attr-defined,unused-ignore]  # of later releases
        asyncio.get_running_loop().set_task_factory(eager)
        return await in_order(doubled, [9] * 2000, concurrency=1000)

    assert run_virtual(main()) == [18] * 2000


def test_the_first_that_fails_ends_all_and_nothing_more_is_begun() -> None:
    begun: list[int] = []

    async def call(n: int) -> None:
        begun.append(n)
        if n == 2:
            raise ValueError(n)
        await asyncio.sleep(1)

    with pytest.raises(ValueError, match="2"):
        run_virtual(in_order(call, range(100), concurrency=4))
    assert len(begun) <= 4
