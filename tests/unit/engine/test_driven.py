"""Awaiting a component without a task of its own."""

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


def test_values_and_exceptions_come_through() -> None:
    async def answer() -> int:
        await asyncio.sleep(1)
        return 7

    async def fail() -> int:
        await asyncio.sleep(1)
        raise ValueError("no")

    assert run_virtual(drive(answer())) == 7
    with pytest.raises(ValueError, match="no"):
        run_virtual(drive(fail()))


def test_a_failure_of_what_it_awaits_reaches_the_component() -> None:
    async def recover() -> str:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.set_exception(KeyError("inner"))
        try:
            await future
        except KeyError:
            return "recovered"
        return "never"

    assert run_virtual(drive(recover())) == "recovered"


def test_the_first_cancellation_lets_it_clean_up_with_awaits() -> None:
    steps: list[str] = []

    async def careful() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(0.5)
            steps.append("cleaned")

    async def main() -> None:
        task = asyncio.ensure_future(drive(careful()))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_virtual(main())
    assert steps == ["cleaned"]


def test_a_cancellation_that_it_takes_back_counts_no_more() -> None:
    async def poll() -> int:
        missed = 0
        for _ in range(4):
            try:
                async with asyncio.timeout(1):
                    await asyncio.sleep(100)
            except TimeoutError:
                missed += 1
        return missed

    assert run_virtual(drive(poll())) == 4


async def fail() -> None:
    raise KeyError("inner")


@asynccontextmanager
async def wrapped_group() -> AsyncIterator[asyncio.TaskGroup]:
    async with asyncio.TaskGroup() as group:
        yield group


@pytest.mark.parametrize("group_of", [asyncio.TaskGroup, wrapped_group])
def test_nor_does_one_with_which_a_task_group_ended_its_own_wait(
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
    async def linger() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(0.5)

    async def gather() -> int:
        with suppress(asyncio.CancelledError, BaseExceptionGroup):
            async with group_of() as group:
                group.create_task(linger())
                if fails_first:
                    group.create_task(fail())
        return 7

    async def main() -> int:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_later(0.3, task.cancel)
        with suppress(asyncio.CancelledError):  # from 3.13 on it is the second while the group's own stands
            assert await drive(gather()) == 7
        return task.cancelling()

    assert run_virtual(main()) > 0


def test_tasks_inside_it_may_be_cancelled_as_often_as_it_likes() -> None:
    async def gather() -> int:
        tasks = [asyncio.create_task(asyncio.sleep(100)) for _ in range(3)]
        for task in tasks:
            task.cancel()
        ended = 0
        for task in tasks:
            try:
                await task
            except asyncio.CancelledError:
                ended += 1
        return ended

    assert run_virtual(drive(gather())) == 3


def test_the_second_cancellation_walks_away() -> None:
    async def stubborn() -> None:
        while True:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                continue

    async def main() -> float:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(drive(stubborn()))
        for _ in range(2):
            await asyncio.sleep(1)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return loop.time()

    assert run_virtual(main()) == 2.0
