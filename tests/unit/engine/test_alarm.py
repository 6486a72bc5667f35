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


@pytest.mark.parametrize("depth", [1, 2])
def test_what_an_alarm_inside_asks_of_a_task_nobody_has_asked_of_those_around(depth: int) -> None:
    async def wait() -> None:
        loop = asyncio.get_running_loop()
        watch = Watch(loop)
        around = [watch.alarm()]
        for _ in range(depth - 1):
            around.append(watch.alarm_inside(around[-1]))
        inner = watch.alarm_inside(around[-1])
        inner.deadline = loop.time() + 1.0
        inner.arm()
        for rung in (1, 2):
            with pytest.raises(asyncio.CancelledError):
                await asyncio.sleep(100)
            assert (inner.rang, inner.cancellations) == (rung, rung)
            assert [(alarm.cancellations, alarm.is_task_cancelled) for alarm in around] == [(0, False)] * depth
        inner.task.cancel()
        assert all(alarm.is_task_cancelled for alarm in (*around, inner))
        assert not inner.took()
        inner.disarm()
        assert [alarm.cancellations for alarm in (*around, inner)] == [1] * (depth + 1)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(0)
        inner.task.uncancel()

    run_virtual(wait())
