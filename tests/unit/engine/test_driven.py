"""Awaiting a component without a task of its own."""

import asyncio
from collections.abc import Coroutine
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
