"""What ended tasks that worked side by side."""

import asyncio
import sys
from collections.abc import Iterable
from contextlib import suppress
from itertools import permutations

import pytest

from stretto.engine.alarm import GRACE_S, Watch
from stretto.engine.driven import driven
from stretto.engine.lanes import Lanes, Work, first_failure, stopped_itself
from stretto.engine.state import Lane, StepFailed
from stretto.record.model import ErrorInfo
from stretto.testing import run_virtual
from stretto.types.budget import Budget, BudgetSpec
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import Code
from stretto.types.ids import StepPath

FAILED, LATER = (StepFailed(ErrorInfo(code="component", message=name), Reason.ERROR) for name in ("first", "later"))
PARKED = StepFailed(ErrorInfo(code="component.in_doubt", message="pay"), Reason.IN_DOUBT, RunStatus.PARKED)
BROKEN = OSError("the disk is full")


@pytest.mark.parametrize(
    ("failures", "first"),
    [
        ([FAILED, LATER], FAILED),
        ([FAILED, PARKED, LATER], PARKED),  # a write in doubt is not to be forgotten over a failure
        ([FAILED, PARKED, BROKEN], BROKEN),
        ([LATER, FAILED], LATER),
        ([BROKEN, PARKED], BROKEN),
    ],
)
def test_the_gravest_failure_counts_and_of_equal_ones_the_first(
    failures: list[BaseException], first: BaseException
) -> None:
    assert first_failure(failures) is first


def test_a_lane_that_cancelled_itself_failed_with_the_step_that_it_was_at() -> None:
    failure = stopped_itself(StepPath("each[1]"))
    assert (failure.status, failure.reason) == (RunStatus.FAILED, Reason.CANCELLED)
    assert (failure.error.path, failure.error.rpc_code) == ("each[1]", Code.CANCELLED)
    assert "at or inside step 'each[1]' cancelled the task" in failure.error.message


async def side_by_side(*works: Work, cancelled_at_s: Iterable[float] = ()) -> float:
    """Open lanes and wait for them, cancelled now and then; event-loop time at their end, which must be a failure."""
    loop = asyncio.get_running_loop()

    async def opener() -> None:
        watch = Watch(loop)
        lanes = Lanes(watch, Budget.start(BudgetSpec(), loop.time()))
        for work in works:
            lanes.open(work)
        await lanes.end(watch.alarm())

    task = asyncio.ensure_future(opener())
    for at in cancelled_at_s:
        loop.call_at(at, task.cancel)
    await asyncio.wait([task])
    assert task.cancelled() == bool(cancelled_at_s)
    assert task.cancelled() or isinstance(task.exception(), StepFailed)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return loop.time()


async def ignore(lane: Lane) -> None:
    await driven(ignoring(), lane.alarm)


async def ignoring() -> None:
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


async def clean_up(lane: Lane) -> None:
    await driven(cleaning_up(), lane.alarm)


async def cleaning_up() -> None:
    try:
        await asyncio.sleep(3600)
    finally:
        await asyncio.sleep(0.5)


async def fail(_lane: Lane) -> None:
    await asyncio.sleep(2)
    raise FAILED


async def hold_others(lane: Lane) -> None:
    lanes = Lanes(Watch(asyncio.get_running_loop()), lane.budget)
    lanes.open(ignore)
    lanes.open(ignore)
    await lanes.end(lane.alarm)


class TestStopping:
    @pytest.mark.parametrize(
        ("works", "cancelled_at_s", "ended_at_s"),
        [
            ([clean_up, clean_up], [2.0], 2.5),
            ([ignore, ignore], [2.0], 2.0 + GRACE_S),
            ([ignore, clean_up], [2.0, 2.25], 2.25),  # who cancels again does not want to wait
            ([hold_others, ignore], [2.0], 2.0 + GRACE_S),
            ([ignore, ignore], [0.0], 0.0 + GRACE_S),
        ],
    )
    def test_the_lanes_of_who_is_cancelled_have_a_grace(
        self, works: list[Work], cancelled_at_s: list[float], ended_at_s: float
    ) -> None:
        assert run_virtual(side_by_side(*works, cancelled_at_s=cancelled_at_s)) == ended_at_s

    @pytest.mark.parametrize(
        ("beside", "ended_at_s"), [(clean_up, 2.5), (ignore, 2.0 + GRACE_S), (hold_others, 2.0 + GRACE_S)]
    )
    def test_so_have_those_beside_one_that_failed(self, beside: Work, ended_at_s: float) -> None:
        assert run_virtual(side_by_side(fail, beside)) == ended_at_s

    def test_they_end_also_when_all_tasks_are_cancelled_before_they_have_begun(self) -> None:
        begun: list[Lane] = []

        async def begin(lane: Lane) -> None:
            begun.append(lane)

        async def main() -> None:
            loop = asyncio.get_running_loop()
            watch = Watch(loop)
            alarm = watch.alarm()
            lanes = Lanes(watch, Budget.start(BudgetSpec(), loop.time()))
            lanes.open(begin)
            for task in asyncio.all_tasks():
                task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await lanes.end(alarm)

        run_virtual(main())
        assert begun == []

    def test_one_that_somebody_cancels_before_it_has_begun_fails_and_stops_the_others(self) -> None:
        async def main() -> float:
            loop = asyncio.get_running_loop()
            watch = Watch(loop)
            alarm = watch.alarm()
            lanes = Lanes(watch, Budget.start(BudgetSpec(), loop.time()))
            lanes.open(clean_up)
            await asyncio.sleep(2)
            before = asyncio.all_tasks()
            lanes.open(clean_up)
            (new,) = asyncio.all_tasks() - before
            new.cancel()
            with pytest.raises(StepFailed, match="a branch of the run was cancelled before it had begun") as caught:
                await lanes.end(alarm)
            assert caught.value.reason is Reason.CANCELLED
            return loop.time()

        assert run_virtual(main()) == 2.5


@pytest.mark.skipif(sys.version_info < (3, 12), reason="no eager tasks before")
@pytest.mark.parametrize("works", list(permutations(["at once", "later", "opening"])))
def test_lanes_are_waited_for_under_any_task_factory(works: tuple[str, ...]) -> None:
    done: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined,unused-ignore]  # from 3.12 on
        watch = Watch(loop)
        lanes = Lanes(watch, Budget.start(BudgetSpec(), loop.time()))

        async def work(_lane: Lane, which: str) -> None:
            if which == "later":
                await asyncio.sleep(1)
            if which == "opening":
                lanes.open(work, "at once")
            done.append(which)

        for which in works:
            lanes.open(work, which)
        await lanes.end(watch.alarm())

    run_virtual(main())
    assert sorted(done) == ["at once", "at once", "later", "opening"]
