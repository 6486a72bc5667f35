"""One timer for all deadlines of a run."""

import asyncio

import pytest

from stretto.engine.alarm import Watch
from stretto.testing import run_virtual


def test_the_earliest_deadline_rings_and_the_others_stand() -> None:
    async def wait(watch: Watch, deadline: float) -> float:
        alarm = watch.alarm()
        alarm.deadline = deadline
        alarm.arm()
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            assert alarm.took()
        finally:
            alarm.disarm()
        return asyncio.get_running_loop().time()

    async def race() -> list[float]:
        loop = asyncio.get_running_loop()
        watch, now = Watch(loop), loop.time()
        ended = await asyncio.gather(*(wait(watch, now + after) for after in (3.0, 1.0, 2.0)))
        assert watch.waiting == set()
        return [at - now for at in ended]

    assert run_virtual(race()) == pytest.approx([3.0, 1.0, 2.0])


def test_a_watch_holds_those_who_wait_and_no_others() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        watch = Watch(loop)
        for _ in range(1_000):
            alarm = watch.alarm()
            alarm.deadline = loop.time() + 60.0
            alarm.arm()
            assert watch.waiting == {alarm}
            alarm.disarm()
        assert watch.waiting == set()
        watch.close()

    run_virtual(work())
