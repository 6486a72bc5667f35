"""Injected waits take no time, and everything else takes what it takes."""

import asyncio
import time
from contextlib import ExitStack
from typing import Final

import pytest

from stretto.chaos.lapse import Lapse, LapsingLoop, jumping

LONG_S: Final = 3600.0


def test_a_wait_of_every_run_is_jumped_over_and_the_clock_shows_it() -> None:
    lapse = Lapse()

    async def wait(index: int) -> None:
        with lapse.run(index), lapse.waiting(index):
            await asyncio.sleep(LONG_S)

    async def both() -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        with jumping(lapse):
            await asyncio.gather(wait(0), wait(1))
        return loop.time() - began

    with asyncio.Runner(loop_factory=LapsingLoop) as runner:
        assert runner.run(both()) >= LONG_S


def test_a_component_that_works_is_waited_for_and_no_deadline_passes_meanwhile() -> None:
    lapse = Lapse()

    async def work() -> str:
        with lapse.run(0), lapse.waiting(0):
            async with asyncio.timeout(LONG_S):
                with lapse.working():
                    await asyncio.to_thread(time.sleep, 0.02)
                return "done"

    async def main() -> str:
        with jumping(lapse):
            return await work()

    with asyncio.Runner(loop_factory=LapsingLoop) as runner:
        assert runner.run(main()) == "done"


@pytest.mark.parametrize(
    ("runs", "waiting", "working", "may"),
    [
        ((), (), 0, False),
        ((0,), (), 0, False),
        ((0,), (0,), 0, True),
        ((0, 1), (0, 0), 0, False),
        ((0,), (0,), 1, False),
    ],
)
def test_it_jumps_when_every_run_waits_and_nothing_works(
    runs: tuple[int, ...], waiting: tuple[int, ...], working: int, *, may: bool
) -> None:
    lapse = Lapse()
    with ExitStack() as stack:
        for entered in (
            *map(lapse.run, runs),
            *map(lapse.waiting, waiting),
            *(lapse.working() for _ in range(working)),
        ):
            stack.enter_context(entered)
        assert lapse.may_jump is may
    assert not lapse.may_jump


async def test_in_an_ordinary_loop_nothing_jumps() -> None:
    with jumping(Lapse()):
        await asyncio.sleep(0)


async def test_a_component_that_called_another_waits_when_that_does() -> None:
    lapse = Lapse()
    may: list[bool] = []
    with lapse.run(0), lapse.working():
        with lapse.waiting(0):
            may.append(lapse.may_jump)
            with lapse.working():
                may.append(lapse.may_jump)
        may.append(lapse.may_jump)
    assert may == [True, False, False], "with a third at work, and without the wait, there is something to wait for"
