"""Sessions of components with scope `run`: opened in a step's time, closed before the run is sealed."""

import asyncio

import pytest

from stretto.engine.engine import Engine
from stretto.engine.request import RunRequest
from stretto.testing import run_virtual
from stretto.types.enums import Reason, RunStatus, Scope
from stretto.types.messages import Request, Response
from tests.unit.engine.books import Book, saying, stepping
from tests.unit.engine.plans import Probe, S, call, linear, returning, run


class TestOpening:
    def test_a_session_whose_opening_ignores_cancellation_is_abandoned_too(self) -> None:
        class Stubborn(Probe):
            async def open_run(self, _run: object) -> None:
                while True:
                    try:
                        await asyncio.sleep(100)
                    except asyncio.CancelledError:
                        continue

        component = Stubborn("slow", returning("slow", {}), scope=Scope.RUN)
        result = run(linear(call(component, S, timeout_s=2.0, per_run=True)))
        assert result.reason is Reason.TIMEOUT
        assert result.duration_ms == 3000.0


class TestClosing:
    def test_a_run_cancelled_again_while_its_sessions_close_is_sealed_all_the_same(self) -> None:
        class Closing:
            async def __call__(self, request: Request) -> Response:
                await asyncio.sleep(100)
                return Response(output={})

            async def close(self) -> None:
                await asyncio.sleep(1)

        class PerRun(Probe):
            async def open_run(self, _run: object) -> Closing:
                return Closing()

        book = Book()
        probe = PerRun("s", saying({}))

        async def main() -> None:
            body = linear(call(probe, S, per_run=True))
            task = asyncio.ensure_future(Engine(book).run(stepping(body), RunRequest(input={})))
            for pause in (0.5, 0.5):
                await asyncio.sleep(pause)
                task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        run_virtual(main())
        assert [sealed.status for sealed in book.runs] == [RunStatus.CANCELLED]
