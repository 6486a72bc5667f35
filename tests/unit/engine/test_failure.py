"""What an exception means: whose it is, and what of its text is kept."""

import asyncio
import signal
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from stretto.engine.alarm import Watch
from stretto.engine.engine import Engine
from stretto.engine.failure import Whose, as_component_error, error_info, whose
from stretto.engine.request import RunRequest
from stretto.plan.model import Retry
from stretto.record.codec import decode_run, encode_run
from stretto.record.texts import MESSAGE_CHARS, TEXT_CHARS, recordable, text_of
from stretto.testing import run_virtual
from stretto.types.enums import Effect, Reason, RunStatus
from stretto.types.errors import ComponentError, ContractError, Violation
from stretto.types.messages import Request
from tests.unit.engine.plans import Ledger, Probe, S, call, failing, linear, plan, run, step

WRITE = {"*": Effect.WRITE}

ODDITIES = [SystemExit(0), GeneratorExit(), BaseException("bare")]


class Unconstructed(ComponentError):
    def __init__(self) -> None:
        """Forget the constructor of the class above."""


class Unreadable(ComponentError):
    def __str__(self) -> str:
        raise ValueError("no text")


class Codeless(ComponentError):
    code = None  # type: ignore[assignment]  # what users give


class Surrogate(ComponentError):
    code = "shop.\ud800"


async def whose_is(error: BaseException, *, rings: int, cancelled: int) -> tuple[Whose, int]:
    """Whose it is after so many rings and cancellations by others; how many of them still stand."""
    task = asyncio.current_task()
    assert task is not None
    alarm = Watch(asyncio.get_running_loop()).alarm()
    for _ in range(rings + cancelled):
        task.cancel()
    alarm.rang = rings
    with pytest.raises(asyncio.CancelledError):
        await asyncio.sleep(0)
    return whose(error, alarm), alarm.cancellations


class TestWhose:
    @pytest.mark.parametrize(
        ("error", "rings", "cancelled", "expected"),
        [
            (asyncio.CancelledError(), 1, 0, Whose.DEADLINE),
            (asyncio.CancelledError(), 2, 0, Whose.DEADLINE),
            (asyncio.CancelledError(), 0, 1, Whose.OUTSIDE),
            (asyncio.CancelledError(), 1, 1, Whose.OUTSIDE),
            (GeneratorExit(), 0, 1, Whose.OUTSIDE),
            (KeyboardInterrupt(), 1, 0, Whose.OUTSIDE),
            (ValueError(), 0, 1, Whose.COMPONENT),
            (ValueError(), 1, 0, Whose.COMPONENT),  # it made another exception of the time-out's cancellation
            (ValueError(), 2, 1, Whose.COMPONENT),
            (GeneratorExit(), 1, 0, Whose.COMPONENT),
            (GeneratorExit(), 1, 1, Whose.OUTSIDE),
        ],
    )
    def test_an_exception_is_the_runs_before_it_is_the_deadlines(
        self, error: BaseException, rings: int, cancelled: int, expected: Whose
    ) -> None:
        found, standing = run_virtual(whose_is(error, rings=rings, cancelled=cancelled))
        taken_back = 0 if isinstance(error, KeyboardInterrupt) else rings
        assert (found, standing) == (expected, rings + cancelled - taken_back)

    @pytest.mark.parametrize("error", ODDITIES, ids=lambda error: type(error).__name__)
    def test_what_is_no_ordinary_exception_fails_the_step_at_once(self, error: BaseException) -> None:
        odd = failing("odd", error)
        result = run(linear(call(odd, S, retry=Retry(max_attempts=3))))
        assert (result.status, result.reason) == (RunStatus.FAILED, Reason.ERROR)
        assert result.error is not None
        assert (result.error.rpc_code, len(odd.requests)) == ("internal", 1)
        assert f"component 'odd' raised {type(error).__name__}" in result.error.message

    @pytest.mark.parametrize("error", ODDITIES, ids=lambda error: type(error).__name__)
    def test_a_write_that_ends_so_is_in_doubt(self, error: BaseException) -> None:
        assert run(linear(call(failing("pay", error, effects=WRITE), S))).status is RunStatus.PARKED

    @pytest.mark.parametrize("error", ODDITIES, ids=lambda error: type(error).__name__)
    def test_a_confirm_that_ends_so_leaves_the_doubt(self, error: BaseException) -> None:
        class Confirming(Probe):
            async def confirm(self, _request: Request) -> None:
                raise error

        async def lose(_request: Request) -> object:
            raise OSError("the line went dead")

        result = run(linear(call(Confirming("pay", lose, effects=WRITE, confirms=True), S)))
        assert result.status is RunStatus.PARKED
        assert result.error is not None
        assert f"asking 'pay' failed: {type(error).__name__}" in result.error.message

    @pytest.mark.parametrize(
        ("make", "says"),
        [
            (lambda: ComponentError("busy", 503), "code 503; expected a stretto.Code"),  # type: ignore[arg-type]  # what users give
            (lambda: ComponentError("busy", retry_after_s="3"), "retry_after_s='3'"),  # type: ignore[arg-type]  # what users give
            (lambda: ComponentError("busy", retry_after_s=float("nan")), "retry_after_s=nan"),
            (lambda: ComponentError("busy", retry_after_s=10**400), "retry_after_s=1000"),
            (lambda: ComponentError("busy", "unavailable"), "busy"),  # type: ignore[arg-type]  # what users give
            (lambda: Unconstructed(), "no message"),
            (lambda: Unreadable("busy"), "its text cannot be read"),
            (lambda: Codeless("busy"), "busy"),
            (lambda: Surrogate("busy"), "busy"),
        ],
    )
    def test_an_odd_component_error_fails_its_step_and_loses_no_run(
        self, make: Callable[[], Exception], says: str
    ) -> None:
        async def answer(_request: Request) -> object:
            raise make()

        result = run(linear(call(Probe("odd", answer), S, retry=Retry(max_attempts=2))))
        assert result.status is RunStatus.FAILED
        assert result.error is not None
        assert says in result.error.message
        assert decode_run(encode_run(result)).error == result.error

    def test_ctrl_c_seals_the_run_as_cancelled_and_a_second_one_ends_the_program(self) -> None:
        for times, status in ((1, RunStatus.CANCELLED), (2, RunStatus.FAILED)):
            ledger = Ledger()
            with pytest.raises(KeyboardInterrupt):
                run(linear(call(Probe("pressed", pressing(times)), S)), ledger=ledger)
            assert [kept.status for kept in ledger.runs] == [status]
            assert ledger.runs[0].error is None

    def test_ctrl_c_ends_the_program_also_when_nobody_handles_the_signal(self) -> None:
        loop = asyncio.new_event_loop()
        try:
            engine = Engine(Ledger())
            body = linear(call(Probe("pressed", pressing(1)), S))
            with pytest.raises(KeyboardInterrupt):
                loop.run_until_complete(engine.run(plan(body), RunRequest(input={})))
        finally:
            loop.close()

    def test_a_nested_call_that_is_given_up_with_its_caller_is_closed_and_not_called_a_failure(self) -> None:
        closed: list[str] = []

        async def stubborn(_request: Request) -> object:
            while True:
                try:
                    await asyncio.sleep(100)
                except asyncio.CancelledError:
                    continue
                except GeneratorExit:
                    closed.append("inner")
                    raise

        async def outer(request: Request) -> object:
            assert request.call.caller is not None
            return await request.call.caller.call("inner", {})

        body = linear(call(Probe("outer", outer), S, calls_others=True, timeout_s=2.0))
        result = run(body, nested={"inner": call(Probe("inner", stubborn), S + 1)})
        assert (result.reason, closed) == (Reason.TIMEOUT, ["inner"])
        assert [record.path for record in result.steps] == ["outer"]

    def test_a_run_whose_task_is_dropped_is_closed(self) -> None:
        async def main() -> Ledger:
            ledger = Ledger()
            waiting = Probe("waiting", lambda _request: asyncio.Event().wait())
            running = Engine(ledger).run(plan(linear(call(waiting, S))), RunRequest(input={}))
            task = asyncio.ensure_future(running)
            await asyncio.sleep(1)
            running.close()
            task.cancel()
            return ledger

        (kept,) = run_virtual(main()).runs
        assert (kept.status, kept.error, kept.steps) == (RunStatus.FAILED, None, [])


class TestText:
    @pytest.mark.parametrize(
        ("text", "kept"),
        [
            ("", ""),
            ("short", "short"),
            ("x" * 4000, "x" * 4000),
            ("x" * 4001, "x" * 4000 + "… (1 more characters)"),
            ("é" * 10_000_000, "é" * 4000 + "… (9,996,000 more characters)"),
            ("a\0b", "a\0b"),
            ("a\ud800b\udc00", "a\ufffdb\ufffd"),
            ("\ud83d\ude00", "\U0001f600"),
            ("x" * 3999 + "\U0001f600y", "x" * 3999 + "\U0001f600… (1 more characters)"),
        ],
    )
    def test_a_recordable_text_is_short_and_utf_8(self, text: str, kept: str) -> None:
        assert recordable(text) == kept
        kept.encode()

    def test_whatever_an_error_says_its_record_is_small(self) -> None:
        violations = [Violation(pointer="/" + "k" * 10**6, message="m" * 10**6)] * 20
        for error in (ContractError("c" * 10**7, violations), as_component_error("loud", ValueError("v" * 10**7))):
            info = error_info(error, "step")
            assert len(info.message) <= MESSAGE_CHARS + 40
            assert len(msgspec.json.encode(info)) < 20 * 2 * (TEXT_CHARS + 100) + MESSAGE_CHARS + 100

    def test_a_run_keeps_the_cut_text_in_its_attempt_its_step_and_its_own_error(self) -> None:
        result = run(linear(call(failing("loud", ComponentError("x" * 10**7)), S, retry=Retry(max_attempts=2))))
        record = step(result, "loud")
        errors = [result.error, record.error, *(attempt.error for attempt in record.attempts)]
        assert len(errors) == 4
        assert {error.message[-28:] for error in errors if error is not None} == {
            "x… (9,996,000 more characters)"[-28:]
        }

    def test_an_exception_without_a_text_says_so(self) -> None:
        assert text_of(ValueError()) == "no message"


def pressing(times: int) -> Callable[[Request], Awaitable[object]]:
    """Presses Ctrl-C so many times."""

    async def answer(_request: Request) -> object:
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(10)
        return {}

    return answer
