"""Asking a component: its time-out, and cancellations that nobody asked for."""

import asyncio

from stretto.types.enums import Reason, RunStatus
from stretto.types.messages import Request
from tests.unit.engine.plans import Probe, S, call, failing, linear, run


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
        async def stubborn(_request: Request) -> object:
            while True:
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    continue

        result = run(linear(call(Probe("stubborn", stubborn), S, timeout_s=3.0)))
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


class TestCancellation:
    def test_a_cancellation_that_nobody_asked_for_is_the_components_own_failure(self) -> None:
        result = run(linear(call(failing("odd", asyncio.CancelledError()), S)))
        assert result.status is RunStatus.FAILED
        assert result.error is not None
        assert "nobody had cancelled it" in result.error.message
