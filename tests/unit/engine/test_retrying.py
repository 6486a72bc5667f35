"""Retries: of answers that count as none, and of calls inside calls. On a virtual clock."""

import asyncio
from typing import Any

import pytest

from stretto.plan.model import CallOp, Fallback, ProtectionRules, Retry
from stretto.types.enums import Effect, Reason, RunStatus, StepStatus
from stretto.types.errors import Code, ComponentError, ExpressionError
from stretto.types.messages import Request, Response, Usage
from stretto.types.protection import QuotaRule
from tests.unit.engine.plans import Probe, S, call, deadline, failing, linear, run

EMPTY = {"text": ""}
GONE = ComponentError("gone", Code.UNAVAILABLE)


def asks_again(probe: Probe, attempts: int = 3, **fields: Any) -> CallOp:
    """A call whose answer counts as none while its text is empty."""
    return call(
        probe,
        S,
        rejects=lambda frame: frame[0]["text"] == "",
        rejects_source="output.text == ''",
        retry=Retry(attempts, base_s=0.0),
        **fields,
    )


class TestAnAnswerThatCountsAsNone:
    def test_is_asked_for_again(self) -> None:
        result = run(linear(asks_again(failing("api", EMPTY, EMPTY, {"text": "here"}))))
        assert (result.status, result.retries) == (RunStatus.OK, 2)
        errors = [attempt.error for attempt in result.steps[0].attempts]
        assert [error and error.code for error in errors] == ["component.rejected", "component.rejected", None]
        assert errors[0] is not None
        assert "`output.text == ''` reads true of it" in errors[0].message

    def test_fails_the_step_in_the_end_and_the_fallback_answers(self) -> None:
        result = run(linear(asks_again(failing("api", EMPTY), fallback=Fallback(output=b'{"text": "later"}'))))
        assert (result.status, result.reason) == (RunStatus.DEGRADED, Reason.CONTRACT)
        assert result.steps[0].output_value == {"text": "later"}

    def test_is_paid_for(self) -> None:
        empty = Response(output=EMPTY, usage=Usage(input_tokens=7, output_tokens=1, cost=0.5))
        full = Response(output={"text": "a"}, usage=Usage(input_tokens=7, output_tokens=2, cost=0.5))
        result = run(linear(asks_again(failing("api", empty, full))))
        assert result.usage == Usage(input_tokens=14, output_tokens=3, cost=1.0)
        assert result.steps[0].usage == result.usage

    def test_is_also_one_of_which_the_condition_has_no_value(self) -> None:
        def is_none(frame: list[Any]) -> bool:
            if frame[0]["text"] is None:
                raise ExpressionError("isJson() does not take null")
            return False

        op = call(failing("api", {"text": None}, {"text": "{}"}), S, rejects=is_none, retry=Retry(2, base_s=0.0))
        result = run(linear(op))
        assert (result.status, result.retries) == (RunStatus.OK, 1)

    def test_tells_nothing_of_the_attempt_after_it(self) -> None:
        used = Usage(input_tokens=7, cost=0.5)
        empty = Response(output=EMPTY, usage=used, queue_ms=900.0, evidence={"of": "the first"})
        probe = failing("api", empty, GONE)
        step = run(linear(asks_again(probe, 2, fallback=Fallback(output=b"{}")))).steps[0]
        assert (step.status, step.usage, step.queue_ms, step.evidence) == (StepStatus.FALLBACK, used, 0.0, {})

    def test_is_asked_for_once_more_only_within_the_quota_and_the_budget(self) -> None:
        probe = failing("api", EMPTY)
        rules = {"api": ProtectionRules(quota=QuotaRule(ratio=0.0, floor=1))}
        result = run(linear(asks_again(probe)), protections=rules, components={"api": probe})
        assert len(probe.requests) == 2
        assert "retry_withheld" in result.steps[0].evidence
        probe = failing("api", EMPTY)
        run(linear(asks_again(probe)), budget=deadline(9.0, retries=0))
        assert len(probe.requests) == 1

    def test_of_a_write_stands(self) -> None:
        probe = failing("api", EMPTY, effects={"*": Effect.WRITE})
        result = run(linear(asks_again(probe)))
        assert (result.status, len(probe.requests)) == (RunStatus.OK, 1)

    def test_may_be_judged_by_what_was_asked(self) -> None:
        op = call(
            failing("api", {"of": 1}, {"of": 2}),
            S,
            {"n": lambda _: 2},
            rejects=lambda frame: frame[0]["of"] != frame[1]["n"],
            retry=Retry(2, base_s=0.0),
        )
        assert run(linear(op)).steps[0].output_value == {"of": 2}


def late(after_s: float, code: Code = Code.DEADLINE_EXCEEDED) -> Probe:
    """One that gives up by itself, as a server does that was told the deadline."""

    async def gives_up(_: Request) -> object:
        await asyncio.sleep(after_s)
        raise ComponentError("it did not answer in time", code)

    return Probe("api", gives_up)


class TestTooLate:
    @pytest.mark.parametrize(
        ("after_s", "timeout_s", "made"),
        [
            (9.5, None, 1),
            (9.5, 60.0, 1),  # of which the run's own time is less
            (3.0, None, 3),
            (4.0, 4.5, 3),  # the step's time-out, and not the run's, was what it had
            (0.1, None, 5),
        ],
    )
    def test_with_all_the_time_that_is_left_it_is_not_made_again_in_less(
        self, after_s: float, timeout_s: float | None, made: int
    ) -> None:
        probe = late(after_s)
        op = call(probe, S, timeout_s=timeout_s, retry=Retry(5, base_s=0.0))
        result = run(linear(op), budget=deadline(10.0))
        assert len(probe.requests) == made
        assert ("retry_withheld" in result.steps[0].evidence) is (made < 5 and timeout_s != 4.5)

    def test_another_failure_is_tried_again_in_any_time(self) -> None:
        probe = late(9.5, Code.UNAVAILABLE)
        run(linear(call(probe, S, retry=Retry(5, base_s=0.0))), budget=deadline(10.0))
        assert len(probe.requests) == 2


class TestAttemptsTravelWithTheCall:
    def test_each_attempt_is_told_of_those_before_it(self) -> None:
        probe = failing("api", GONE, GONE, {})
        run(linear(call(probe, S, retry=Retry(3, base_s=0.0))))
        assert [request.call.previous_attempts for request in probe.requests] == [0, 1, 2]

    @pytest.mark.parametrize("attempts", [1, 2, 3, 5])
    def test_layers_that_each_try_again_do_not_multiply(self, attempts: int) -> None:
        """A triangle at most, and a line where only the innermost fails: `attempts` squared without."""
        inner = failing("inner", GONE)

        async def outer(request: Request) -> object:
            assert request.call.caller is not None
            try:
                await request.call.caller.call("inner", {})
            except ComponentError as error:
                raise ComponentError("no answer from inside", Code.UNAVAILABLE) from error
            return {}

        retry = Retry(attempts, base_s=0.0)
        op = call(Probe("outer", outer), S, calls_others=True, retry=retry)
        run(linear(op), nested={"inner": call(inner, S + 1, retry=retry)})
        before = [request.call.previous_attempts for request in inner.requests]
        assert len(before) == attempts * (attempts + 1) // 2
        assert max(before) == attempts - 1

    def test_what_failed_inside_is_not_tried_again_outside(self) -> None:
        inner = failing("inner", GONE)

        async def outer(request: Request) -> object:
            assert request.call.caller is not None
            return await request.call.caller.call("inner", {})

        retry = Retry(3, base_s=0.0)
        op = call(Probe("outer", outer), S, calls_others=True, retry=retry)
        result = run(linear(op), nested={"inner": call(inner, S + 1, retry=retry)})
        assert (len(inner.requests), result.steps[-1].status) == (3, StepStatus.FAILED)


def test_an_answer_that_breaks_its_schema_is_paid_for() -> None:
    used = Usage(input_tokens=7, output_tokens=1, cost=0.5)
    probe = failing("api", Response(output=[], usage=used))
    result = run(linear(call(probe, S, fallback=Fallback(output=b"{}"))))
    assert (result.reason, result.usage, result.steps[0].usage) == (Reason.CONTRACT, used, used)


def test_a_retry_that_cannot_end_in_time_is_not_made() -> None:
    probe = failing("api", ComponentError("busy", Code.UNAVAILABLE, retry_after_s=5.0))
    result = run(linear(call(probe, S, retry=Retry(9))), budget=deadline(4.0))
    assert (len(probe.requests), result.duration_ms) == (1, 0.0)
