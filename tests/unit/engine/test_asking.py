"""Asking a component: its time-out, and cancellations that nobody asked for."""

import asyncio
from contextlib import suppress

import pytest

from stretto.engine.engine import Engine
from stretto.engine.request import RunRequest
from stretto.plan.model import Block, Fallback, Retry
from stretto.record.model import Run
from stretto.testing import run_virtual
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import Code, ComponentError, ReplayError, StrettoError, UsageError
from stretto.types.messages import Request, Response
from tests.unit.engine.plans import Ledger, Probe, S, call, deaf, each, failing, graph, linear, plan, run, step


async def caller_of(body: Block, value: dict[str, object] | None = None) -> tuple[Run, int]:
    """A run, and how many cancellations of its caller's task stand after it."""
    result = await Engine(Ledger()).run(plan(body), RunRequest(input=value or {}))
    task = asyncio.current_task()
    assert task is not None
    return result, task.cancelling()


def clumsy(*, times: int, error: StrettoError | None = None) -> Probe:
    """Answers in a tenth of a second, but so many times hangs, and turns its cancellation into an error of its own."""
    left = [None] * times

    async def answer(_request: Request) -> object:
        if left:
            left.pop()
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                raise error or ComponentError("the cleaning up failed", Code.UNAVAILABLE) from None
        await asyncio.sleep(0.1)
        return {"x": 1}

    return Probe("clumsy", answer)


class TestTimeOut:
    def test_a_hanging_step_is_cancelled_at_its_time_out(self) -> None:
        cleaned: list[str] = []

        async def hang(_request: Request) -> object:
            try:
                await asyncio.Event().wait()
            finally:
                cleaned.append("yes")
            return {}

        result = run(linear(call(Probe("hang", hang), S, timeout_s=3.0)))
        assert result.status is RunStatus.FAILED
        assert result.reason is Reason.TIMEOUT
        assert result.duration_ms == 3000.0
        assert cleaned == ["yes"]

    def test_a_component_that_ignores_cancellation_is_abandoned_after_a_grace(self) -> None:
        result = run(linear(call(Probe("stubborn", deaf), S, timeout_s=3.0)))
        assert result.reason is Reason.TIMEOUT
        assert result.duration_ms == 4000.0

    def test_an_answer_over_a_time_out_is_late_and_not_said_to_have_held_the_loop(self) -> None:
        async def cling(_request: Request) -> object:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                return {"x": 1}
            return {}

        result = run(linear(call(Probe("cling", cling), S, timeout_s=2.0)))
        assert result.reason is Reason.TIMEOUT
        assert result.error is not None
        assert "did not answer within 2 s" in result.error.message

    def test_a_time_out_that_became_another_error_makes_no_later_attempt_late(self) -> None:
        body = linear(call(clumsy(times=1), S, timeout_s=2.0, retry=Retry(3, base_s=0.0)))
        result, standing = run_virtual(caller_of(body))
        errors = [attempt.error and attempt.error.message for attempt in step(result, "clumsy").attempts]
        assert (result.status, errors, standing) == (RunStatus.OK, ["the cleaning up failed", None], 0)

    def test_nor_a_fallback(self) -> None:
        quick = call(clumsy(times=0), S + 1, timeout_s=2.0)
        body = linear(call(clumsy(times=1), S, timeout_s=2.0, fallback=Fallback(op=quick)))
        result, standing = run_virtual(caller_of(body))
        assert (result.status, standing) == (RunStatus.DEGRADED, 0)

    def test_nor_the_next_item(self) -> None:
        body = linear(each(call(clumsy(times=1), S + 3, timeout_s=2.0), max_parallel=1, null_on_error=True))
        result, standing = run_virtual(caller_of(body, {"items": [1, 2, 3]}))
        assert (step(result, "each").evidence, standing) == ({"failed_items": [0]}, 0)

    @pytest.mark.parametrize(
        "error", [ComponentError("no"), UsageError("no"), ReplayError("no")], ids=lambda error: type(error).__name__
    )
    def test_nor_does_it_stand_for_the_caller(self, error: StrettoError) -> None:
        result, standing = run_virtual(caller_of(linear(call(clumsy(times=1, error=error), S, timeout_s=2.0))))
        assert (result.status, standing) == (RunStatus.FAILED, 0)


class Tasked(Probe):
    """Gives a task, as what is called from plain functions does."""

    def __call__(self, request: Request) -> asyncio.Task[Response]:  # type: ignore[override]  # what users give
        return asyncio.ensure_future(super().__call__(request))


class TestAComponentThatGivesATask:
    @staticmethod
    async def ignore(_request: Request) -> object:
        for _ in range(5):  # not for ever: when it has been left behind, the event loop waits for it at its end
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(100)
        return {}

    def test_it_answers_as_any_other(self) -> None:
        async def answer(_request: Request) -> object:
            await asyncio.sleep(1)
            return {"x": 1}

        result = run(linear(call(Tasked("tasked", answer), S, timeout_s=2.0)))
        assert (result.status, result.duration_ms) == (RunStatus.OK, 1000.0)

    def test_it_is_left_behind_a_grace_after_its_time_out(self) -> None:
        result = run(linear(call(Tasked("tasked", self.ignore), S, timeout_s=3.0)))
        assert (result.reason, result.duration_ms) == (Reason.TIMEOUT, 4000.0)

    def test_it_is_left_behind_a_grace_after_a_step_beside_it_failed(self) -> None:
        async def fail(_request: Request) -> object:
            await asyncio.sleep(1)
            raise ValueError("no")

        result = run(graph([call(Tasked("tasked", self.ignore), S), call(Probe("fail", fail), S + 1)], []))
        assert (result.status, result.duration_ms) == (RunStatus.FAILED, 2000.0)


class TestCancellation:
    def test_a_cancellation_that_nobody_asked_for_is_the_components_own_failure(self) -> None:
        result = run(linear(call(failing("odd", asyncio.CancelledError()), S)))
        assert result.status is RunStatus.FAILED
        assert result.error is not None
        assert "nobody had cancelled it" in result.error.message
