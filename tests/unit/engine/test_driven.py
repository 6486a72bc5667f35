"""Awaiting a component without a task of its own."""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from stretto.engine.alarm import Watch
from stretto.engine.driven import awaited, driven
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


async def ignore() -> None:
    for _ in range(5):  # not for ever: when it has been left behind, the event loop waits for it at its end
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(100)


async def fail_in_the_end() -> None:
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(100)
    await asyncio.sleep(5)
    raise ValueError("nobody asks any more")


async def hand_over() -> object:
    return await asyncio.create_task(ignore())


async def gather() -> object:
    return await asyncio.gather(ignore(), fail_in_the_end())


class TestTasksInside:
    """asyncio tells who waits for a task of a cancellation only when that task has ended."""

    @pytest.mark.parametrize(
        "begin",
        [
            hand_over,
            gather,
            lambda: awaited(asyncio.ensure_future(ignore())),
            lambda: awaited(asyncio.ensure_future(fail_in_the_end())),
        ],
    )
    def test_one_that_ignores_cancellation_is_left_behind_and_what_it_raises_is_dropped(
        self, begin: Callable[[], Coroutine[Any, Any, object]]
    ) -> None:
        complaints: list[object] = []

        async def main() -> float:
            loop = asyncio.get_running_loop()
            loop.set_exception_handler(lambda _loop, context: complaints.append(context))
            task = asyncio.ensure_future(drive(begin()))
            for _ in range(2):
                await asyncio.sleep(1)
                task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            left_at = loop.time()
            await asyncio.sleep(10)
            gc.collect()
            return left_at

        assert run_virtual(main()) == 2.0
        assert complaints == []

    @pytest.mark.parametrize("swallows", [0, 1])
    def test_what_failed_as_its_step_was_stopped_is_dropped_too(self, swallows: int) -> None:
        """The tasks had failed when the cancellation came, or were waited for after one that was swallowed."""
        complaints: list[object] = []

        async def component() -> None:
            for _ in range(swallows):
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(60)
            await asyncio.gather(fails_at(3.0))

        async def fails_at(seconds: float) -> None:
            await asyncio.sleep(seconds - asyncio.get_running_loop().time())
            raise ValueError

        async def main() -> None:
            loop = asyncio.get_running_loop()
            loop.set_exception_handler(lambda _loop, context: complaints.append(context))
            task = asyncio.ensure_future(drive(component()))
            for at in (1.0, 2.0) if swallows else (3.0,):
                await asyncio.sleep(at - loop.time())
                task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(10)
            del task
            gc.collect()

        run_virtual(main())
        assert complaints == []

    def test_one_that_ends_when_it_is_cancelled_ends_who_waits_for_it(self) -> None:
        async def hold() -> None:
            await asyncio.create_task(asyncio.sleep(100))

        async def main() -> float:
            task = asyncio.ensure_future(drive(hold()))
            await asyncio.sleep(1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return asyncio.get_running_loop().time()

        assert run_virtual(main()) == 1.0

    def test_its_answer_and_its_failure_come_through(self) -> None:
        async def recover() -> int:
            task = asyncio.create_task(asyncio.sleep(1, 7))
            with pytest.raises(KeyError):
                await asyncio.gather(fail(), task)
            return await task

        async def fail() -> None:
            raise KeyError("inner")

        assert run_virtual(drive(recover())) == 7

    def test_an_answer_over_a_cancellation_is_handed_on_and_the_cancellation_stands(self) -> None:
        async def cling() -> int:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(100)
            return 7

        async def main() -> tuple[object, int]:
            task = asyncio.current_task()
            assert task is not None
            asyncio.get_running_loop().call_later(1, task.cancel)
            return await drive(awaited(asyncio.ensure_future(cling()))), task.cancelling()

        assert run_virtual(main()) == (7, 1)

    def test_time_outs_around_one_count_no_more_however_many_end_at_once(self) -> None:
        async def poll() -> int:
            missed = 0
            for _ in range(3):
                try:
                    async with asyncio.timeout(2), asyncio.timeout(2):
                        await asyncio.create_task(asyncio.sleep(100))
                except TimeoutError:
                    missed += 1
            return missed

        assert run_virtual(drive(poll())) == 3

    def test_who_awaits_its_own_task_is_told_so(self) -> None:
        async def bite() -> None:
            task = asyncio.current_task()
            assert task is not None
            await task

        with pytest.raises(RuntimeError, match="cannot await on itself"):
            run_virtual(drive(bite()))
