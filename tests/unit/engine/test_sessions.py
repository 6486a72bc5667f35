"""Sessions of components with scope `run`: opened in a step's time, closed before the run is sealed."""

import asyncio
from contextlib import nullcontext, suppress

import pytest

from stretto.engine.engine import Engine
from stretto.engine.request import RunRequest
from stretto.testing import run_virtual
from stretto.types.enums import Reason, RunStatus, Scope
from stretto.types.errors import Code, ComponentError
from stretto.types.messages import Request, Response
from tests.unit.engine.books import Book, saying, stepping
from tests.unit.engine.plans import Ledger, Probe, S, call, failing, graph, linear, plan, returning, run


class Telling:
    """A session that says when it is closed."""

    def __init__(self, name: str, log: list[str]) -> None:
        self._name = name
        self._log = log

    async def __call__(self, request: Request) -> Response:
        return Response(output={})

    async def close(self) -> None:
        self._log.append(f"close {self._name}")


class PerRun(Probe):
    """A component of scope ``run`` that says when its sessions are opened and closed."""

    def __init__(self, name: str, log: list[str]) -> None:
        super().__init__(name, saying({}), scope=Scope.RUN)
        self.log = log

    async def open_run(self, _run: object) -> Telling:
        await asyncio.sleep(1)
        self.log.append(f"open {self.card.name}")
        return Telling(self.card.name, self.log)


class TestOpening:
    def test_a_session_is_opened_once_in_a_run_also_by_branches_side_by_side(self) -> None:
        log: list[str] = []
        desk = PerRun("desk", log)
        steps = [call(desk, S + n, name=f"s{n}", per_run=True) for n in range(3)]
        result = run(graph([*steps], [(0, 2), (1, 2)]))
        assert (result.status, log) == (RunStatus.OK, ["open desk", "close desk"])

    def test_every_run_has_a_session_of_its_own(self) -> None:
        log: list[str] = []
        for _ in range(2):
            run(linear(call(PerRun("desk", log), S, per_run=True)))
        assert log == ["open desk", "close desk"] * 2

    def test_one_that_no_step_reaches_is_not_opened(self) -> None:
        log: list[str] = []
        run(linear(call(PerRun("desk", log), S, per_run=True, guard=lambda _frame: False)))
        assert log == []

    def test_a_component_that_can_open_none_fails_its_step(self) -> None:
        result = run(linear(call(returning("plain", {}, scope=Scope.RUN), S, per_run=True)))
        assert result.error is not None
        assert (result.error.code, result.error.path) == ("usage", "plain")
        assert "component 'plain' has scope 'run' but no open_run" in result.error.message

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

    @pytest.mark.parametrize("timeout_s", [2.0, None])
    def test_a_session_that_was_opened_over_a_cancellation_is_asked_nothing_and_closed(
        self, timeout_s: float | None
    ) -> None:
        log: list[str] = []

        class Asked(Telling):
            async def __call__(self, request: Request) -> Response:
                log.append("ask desk")
                return await super().__call__(request)

        class Slow(PerRun):
            async def open_run(self, _run: object) -> Telling:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(100)
                return Asked("desk", log)

        async def main() -> None:
            body = linear(call(Slow("desk", log), S, per_run=True, timeout_s=timeout_s))
            await asyncio.wait_for(Engine(book).run(stepping(body), RunRequest(input={})), 3.0)

        book = Book()
        with nullcontext() if timeout_s else pytest.raises(TimeoutError):
            run_virtual(main())
        (sealed,) = book.runs
        assert (sealed.reason, log) == (Reason.TIMEOUT if timeout_s else Reason.CANCELLED, ["close desk"])


class TestClosing:
    def test_sessions_are_closed_in_the_reverse_order_whatever_became_of_the_run(self) -> None:
        log: list[str] = []
        bad = failing("bad", ComponentError("no", Code.INTERNAL))
        result = run(
            linear(*(call(PerRun(name, log), S, per_run=True) for name in ("first", "second")), call(bad, S + 2))
        )
        assert result.status is RunStatus.FAILED
        assert log == ["open first", "open second", "close second", "close first"]

    def test_one_that_cannot_be_closed_is_told_of_and_spoils_nothing(self) -> None:
        class Stuck(Telling):
            async def close(self) -> None:
                raise ValueError("the lid is stuck")

        class Opening(PerRun):
            async def open_run(self, _run: object) -> Telling:
                return Stuck("lid", self.log)

        result = run(linear(call(Opening("lid", []), S, per_run=True)))
        assert result.status is RunStatus.OK
        assert result.warnings == ("session of 'lid' did not close: ValueError: the lid is stuck",)

    def test_a_run_cancelled_again_while_its_sessions_close_is_sealed_all_the_same(self) -> None:
        class Closing:
            async def __call__(self, request: Request) -> Response:
                await asyncio.sleep(100)
                return Response(output={})

            async def close(self) -> None:
                await asyncio.sleep(1)

        class Slow(Probe):
            async def open_run(self, _run: object) -> Closing:
                return Closing()

        book = Book()
        probe = Slow("s", saying({}))

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


def test_a_session_that_opens_for_a_call_that_was_left_behind_is_closed() -> None:
    """As a place in a pool it would be gone for good."""
    log: list[str] = []

    async def outer(request: Request) -> object:
        caller = request.call.caller
        assert caller is not None
        await asyncio.gather(caller.call("bad", {}), caller.call("desk", {}))
        raise AssertionError

    async def main() -> None:
        bad = call(failing("bad", ComponentError("no", Code.NOT_FOUND)), S + 1)
        nested = {"bad": bad, "desk": call(PerRun("desk", log), S + 2, per_run=True)}
        body = linear(call(Probe("outer", outer), S, calls_others=True))
        made = await Engine(Ledger()).run(plan(body, nested=nested), RunRequest(input={}))
        assert (made.status, log) == (RunStatus.FAILED, [])
        await asyncio.sleep(5)

    run_virtual(main())
    assert log == ["open desk", "close desk"]
