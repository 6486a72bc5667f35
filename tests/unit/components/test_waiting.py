"""How long a call waited is told on whatever ends it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from stretto.components.waiting import Queue, Wait
from stretto.testing import run_virtual
from stretto.types.errors import ComponentError
from stretto.types.waited import NeverBegun, Waited

SEATS = Queue(awaited="a seat", remedy="all 3 are taken")


async def after_waits(*, begun: bool = True, ends: Callable[[], Awaitable[object]] | None = None) -> None:
    """A call that waits for 1 s, works for 1 s, waits for 2 s, and then ends so."""
    with Wait() as wait:
        for waits_s in (1, 2):
            wait.begin(SEATS)
            await asyncio.sleep(waits_s)
            if waits_s == 1 or begun:
                wait.end()
            await asyncio.sleep(1)
        await (asyncio.Event().wait() if ends is None else ends())


async def refused() -> None:
    raise ComponentError("refused", queue_ms=500)


def ended(call: Awaitable[None]) -> BaseException:
    async def main() -> BaseException:
        task = asyncio.ensure_future(call)
        await asyncio.wait({task}, timeout=10)
        task.cancel()
        try:
            await task
        except BaseException as error:
            return error
        raise AssertionError("it ended well")

    return run_virtual(main())


def test_an_error_tells_it_beside_what_it_told_itself() -> None:
    error = ended(after_waits(ends=refused))
    assert isinstance(error, ComponentError)
    assert error.queue_ms == pytest.approx(3500)


def test_a_cancellation_tells_it() -> None:
    cause = ended(after_waits()).__cause__
    assert type(cause) is Waited
    assert cause.queue_ms == pytest.approx(3000)


def test_a_cancellation_tells_what_it_waited_for_still() -> None:
    cause = ended(after_waits(begun=False)).__cause__
    assert isinstance(cause, NeverBegun)
    assert (cause.awaited, cause.remedy) == ("a seat", "all 3 are taken")
    assert cause.queue_ms == pytest.approx(9000), "1 s, and from 2 s on"


def test_queues_one_inside_another_add_up() -> None:
    async def call() -> None:
        with Wait(250.0):
            await after_waits(begun=False)

    cause = ended(call()).__cause__
    assert isinstance(cause, NeverBegun)
    assert cause.queue_ms == pytest.approx(9250)


def test_who_never_waited_is_cancelled_as_ever() -> None:
    async def call() -> None:
        with Wait():
            await asyncio.Event().wait()

    assert ended(call()).__cause__ is None


def test_who_is_gone_is_known_to_be() -> None:
    async def main() -> tuple[bool, bool]:
        with Wait() as wait:
            before = wait.is_left
        return before, wait.is_left

    assert run_virtual(main()) == (False, True)
