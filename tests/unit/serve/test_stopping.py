"""A server that is told to stop waits for what it must, and never for ever."""

import asyncio

import pytest

from stretto.acp.server import Desk
from stretto.serve.stopping import CLOSE_S, HURRY_S, closed, drained
from stretto.testing import run_virtual
from tests.unit.acp.server.desks import Doing, ask, at_once, request


class Holding(Doing):
    """A component that does not let go of what it holds."""

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        await asyncio.Event().wait()


@pytest.mark.parametrize(("is_hurried", "after_s"), [(False, CLOSE_S), (True, HURRY_S)])
def test_a_component_that_does_not_close_is_left_behind(
    is_hurried: bool, after_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        hurry, now = asyncio.Event(), asyncio.get_running_loop().time
        if is_hurried:
            hurry.set()
        began = now()
        await closed(Desk([Holding(at_once)]), hurry)
        assert now() - began == pytest.approx(after_s)

    run_virtual(main())
    assert "did not close in time, and is left behind" in caplog.text


def test_a_second_signal_ends_the_waiting_for_a_component_that_does_not_close() -> None:
    async def main() -> None:
        hurry, loop = asyncio.Event(), asyncio.get_running_loop()
        began = loop.time()
        loop.call_later(0.5, hurry.set)
        await closed(Desk([Holding(at_once)]), hurry)
        assert loop.time() - began == pytest.approx(0.5)

    run_virtual(main())


@pytest.mark.parametrize(
    ("works_s", "hurry_s", "all_answered", "after_s"), [(2, 9, True, 2), (9, 20, False, 5), (9, 1, False, 1)]
)
def test_calls_in_progress_are_waited_for_within_the_grace(
    works_s: float, hurry_s: float, all_answered: bool, after_s: float
) -> None:
    async def works(_: object) -> object:
        await asyncio.sleep(works_s)
        return {}

    async def main() -> None:
        desk, hurry, loop = Desk([Doing(works)]), asyncio.Event(), asyncio.get_running_loop()
        call = asyncio.create_task(ask(desk, request()))
        await asyncio.sleep(0)
        began = loop.time()
        loop.call_later(hurry_s, hurry.set)
        assert await drained(desk, 5.0, hurry) is all_answered
        assert loop.time() - began == pytest.approx(after_s)
        await call

    run_virtual(main())
