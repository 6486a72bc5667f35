"""What task groups leave standing, and what of it is somebody else's."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import pytest

from stretto.engine.alarm import Watch
from stretto.engine.driven import driven
from stretto.testing import run_virtual


async def drive(coroutine: Coroutine[Any, Any, Any]) -> object:
    alarm = Watch(asyncio.get_running_loop()).alarm()
    result: object = await driven(coroutine, alarm)
    return result


async def fail() -> None:
    raise KeyError("inner")


@asynccontextmanager
async def wrapped_group() -> AsyncIterator[asyncio.TaskGroup]:
    async with asyncio.TaskGroup() as group:
        yield group


async def linger() -> None:
    """Takes its time to clean up."""
    try:
        await asyncio.sleep(100)
    finally:
        await asyncio.sleep(0.5)


async def standing_after(gather: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """How many cancellations stand after one from outside, 0.3 s on, of a coroutine that answers 7."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().call_later(0.3, task.cancel)
    with suppress(asyncio.CancelledError):  # from 3.13 on it is the second while the group's own stands
        assert await drive(gather()) == 7
    return task.cancelling()


@pytest.mark.parametrize("group_of", [asyncio.TaskGroup, wrapped_group])
def test_one_with_which_a_task_group_ended_its_own_wait_counts_no_more(
    group_of: Callable[[], AbstractAsyncContextManager[asyncio.TaskGroup]],
) -> None:
    async def gather() -> int:
        failed = 0
        for _ in range(3):
            try:
                async with asyncio.timeout(1):
                    try:
                        async with group_of() as group:
                            group.create_task(fail())
                            group.create_task(asyncio.sleep(100))
                    except* KeyError:
                        await asyncio.sleep(100)
            except TimeoutError:
                failed += 1
        return failed

    async def main() -> tuple[object, int]:
        task = asyncio.current_task()
        assert task is not None
        return await drive(gather()), task.cancelling()

    assert run_virtual(main()) == (3, 0)


@pytest.mark.parametrize("group_of", [asyncio.TaskGroup, wrapped_group])
@pytest.mark.parametrize("fails_first", [False, True])
def test_one_from_outside_counts_though_a_task_group_took_it(
    group_of: Callable[[], AbstractAsyncContextManager[asyncio.TaskGroup]], fails_first: bool
) -> None:
    async def gather() -> int:
        with suppress(asyncio.CancelledError, BaseExceptionGroup):
            async with group_of() as group:
                group.create_task(linger())
                if fails_first:
                    group.create_task(fail())
        return 7

    assert run_virtual(standing_after(gather)) > 0


@pytest.mark.parametrize("group_of", [asyncio.TaskGroup, wrapped_group])
@pytest.mark.parametrize("goes_on_for_s", [0.0, 0.1])
@pytest.mark.parametrize("in_a_task", [False, True])
def test_one_from_outside_counts_though_the_body_had_taken_the_groups_own(
    group_of: Callable[[], AbstractAsyncContextManager[asyncio.TaskGroup]], goes_on_for_s: float, in_a_task: bool
) -> None:
    async def gather() -> int:
        with suppress(asyncio.CancelledError, BaseExceptionGroup):
            async with group_of() as group:
                group.create_task(linger())
                group.create_task(fail())
                with suppress(asyncio.CancelledError):
                    await (asyncio.create_task(asyncio.sleep(50)) if in_a_task else asyncio.sleep(50))
                if goes_on_for_s:
                    await asyncio.sleep(goes_on_for_s)
        return 7

    assert run_virtual(standing_after(gather)) > 0


@pytest.mark.parametrize("group_of", [asyncio.TaskGroup, wrapped_group])
def test_the_groups_own_counts_no_more_after_a_time_out_that_did_neither(
    group_of: Callable[[], AbstractAsyncContextManager[asyncio.TaskGroup]],
) -> None:
    async def gather() -> str:
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await asyncio.sleep(100)
        try:
            async with group_of() as group:
                group.create_task(asyncio.sleep(100))
                await asyncio.sleep(1)
                group.create_task(fail())
        except* KeyError:
            await asyncio.sleep(1)
        return "recovered"

    async def main() -> tuple[object, int]:
        task = asyncio.current_task()
        assert task is not None
        return await drive(gather()), task.cancelling()

    assert run_virtual(main()) == ("recovered", 0)
