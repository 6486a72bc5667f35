"""Awaiting a component without a task of its own."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from stretto.engine.driven import driven
from stretto.testing import run_virtual


async def drive(coroutine: Coroutine[Any, Any, Any]) -> object:
    result: object = await driven(coroutine, lambda: None)
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
