"""What opens is open in time or told why not; what was opened is closed in turn, whatever each does about it."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from stretto.engine.holding import OPEN_LIMIT_S, close_each, open_one
from stretto.testing import run_virtual
from stretto.types.errors import Code, ComponentError, UsageError

GRACE_S = 5.0


class Holder:
    """Closes as it is told to, and counts."""

    def __init__(self, close: Callable[[], Awaitable[object]]) -> None:
        self._close = close
        self.closed = 0

    async def close(self) -> None:
        self.closed += 1
        await self._close()


async def well() -> None:
    await asyncio.sleep(1)


async def hang() -> None:
    await asyncio.Event().wait()


async def hang_on() -> None:
    while True:
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            continue


async def end_late() -> None:
    try:
        await asyncio.sleep(100)
    except asyncio.CancelledError:
        await asyncio.sleep(0.5)


def raising(error: BaseException) -> Callable[[], Awaitable[object]]:
    async def close() -> None:
        raise error

    return close


async def end_badly() -> None:
    try:
        await asyncio.sleep(100)
    except asyncio.CancelledError:
        raise ValueError("the lid is stuck") from None


@pytest.mark.parametrize(
    ("close", "says", "takes_s"),
    [
        (well, "", 1.0),
        (hang, "it took longer than 5 s", 5.0),
        (hang_on, "it took longer than 5 s", 6.0),
        (end_late, "", 5.5),
        (end_badly, "ValueError: the lid is stuck", 5.0),
        (raising(ValueError("the lid is stuck")), "ValueError: the lid is stuck", 0.0),
        (raising(ValueError()), "ValueError: no message", 0.0),
        (raising(TimeoutError("mine")), "TimeoutError: mine", 0.0),
        (raising(ComponentError("in words", Code.ABORTED)), "in words", 0.0),
        (raising(SystemExit(3)), "SystemExit: 3", 0.0),
        (raising(GeneratorExit()), "GeneratorExit: no message", 0.0),
        (raising(asyncio.CancelledError()), "CancelledError: no message", 0.0),
    ],
)
def test_one_that_does_not_close_is_told_of_and_keeps_no_other_open(
    close: Callable[[], Awaitable[object]], says: str, takes_s: float
) -> None:
    holders = [("the first", Holder(well)), ("the odd one", Holder(close)), ("the last", Holder(well))]

    async def main() -> tuple[list[str], float]:
        troubles = await close_each(holders, GRACE_S)
        current = asyncio.current_task()
        assert current is not None
        assert not current.cancelling()
        return troubles, asyncio.get_running_loop().time()

    troubles, took_s = run_virtual(main())
    assert troubles == ([f"the odd one did not close: {says}"] if says else [])
    assert took_s == pytest.approx(takes_s + 2.0)
    assert [holder.closed for _, holder in holders] == [1, 1, 1]


def test_a_text_of_any_length_is_cut() -> None:
    (trouble,) = run_virtual(close_each([("it", Holder(raising(ValueError("x" * 10**7))))], GRACE_S))
    assert len(trouble) < 2100


def test_cancelling_the_caller_ends_it_and_leaves_what_was_not_reached() -> None:
    left = [("first", Holder(hang)), ("second", Holder(well))]

    async def main() -> None:
        closing = close_each((left.pop(0) for _ in range(2)), GRACE_S)
        task = asyncio.ensure_future(closing)
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_virtual(main())
    assert [(name, holder.closed) for name, holder in left] == [("second", 0)]


class Opener(Holder):
    """Opens as it is told to, within the time that it is told to ask for."""

    def __init__(self, open_: Callable[[], Awaitable[object]], open_limit: timedelta | None = None) -> None:
        super().__init__(well)
        self.open_limit = open_limit
        self._open = open_

    async def open(self) -> None:
        await self._open()


class Plain:
    """Says nothing about how long it may take."""

    async def open(self) -> None:
        await hang()

    async def close(self) -> None: ...


async def given_up(component: Opener | Plain) -> float:
    """When it was given up."""
    with pytest.raises(
        ComponentError, match=r"component 'it' did not open within .*open_limit = timedelta\("
    ) as caught:
        await open_one("it", component)
    assert (caught.value.rpc_code, caught.value.sent) == (Code.DEADLINE_EXCEEDED, False)
    current = asyncio.current_task()
    assert current is not None
    assert not current.cancelling()
    return asyncio.get_running_loop().time()


@pytest.mark.parametrize(
    ("component", "at_s"),
    [
        (Plain(), OPEN_LIMIT_S),
        (Opener(hang), OPEN_LIMIT_S),
        (Opener(hang_on), OPEN_LIMIT_S + 1.0),
        (Opener(hang, timedelta(seconds=5)), 5.0),
        (Opener(hang, timedelta(minutes=5)), 300.0),
    ],
)
def test_one_that_hangs_while_it_opens_is_given_up_in_time(component: Opener | Plain, at_s: float) -> None:
    assert run_virtual(given_up(component)) == pytest.approx(at_s)


def test_one_that_takes_no_longer_than_it_says_is_open() -> None:
    run_virtual(open_one("it", Opener(end_late, timedelta(seconds=101))))


def test_cancelling_the_caller_ends_an_opening() -> None:
    async def main() -> float:
        task = asyncio.ensure_future(open_one("it", Opener(hang)))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 1.0


def test_one_that_fails_when_it_is_given_up_leaves_no_cancellation_standing() -> None:
    async def main() -> int:
        with pytest.raises(ComponentError, match="did not open: it raised ValueError: the lid is stuck"):
            await open_one("it", Opener(end_badly))
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling()

    assert run_virtual(main()) == 0


@pytest.mark.parametrize("limit", [300, "5 min", timedelta(), timedelta(seconds=-1), lambda: timedelta(minutes=5)])
def test_one_whose_limit_is_no_time_is_named(limit: timedelta) -> None:
    with pytest.raises(UsageError, match=r"open_limit of component 'it' is .*; expected a timedelta above 0, such as"):
        run_virtual(open_one("it", Opener(well, limit)))
