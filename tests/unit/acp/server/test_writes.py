"""One effect for one key, whatever becomes of a call."""

import asyncio
from typing import Any

import pytest

from stretto.acp.names import Reason
from stretto.acp.server import Desk, Limits
from stretto.testing import run_virtual
from stretto.types.errors import Code, ComponentError, InDoubtError
from stretto.types.messages import Request
from tests.unit.acp.server.desks import WRITES, Confirming, Doing, ask, at_once, output, refused, request


def _raising(*errors: BaseException | None) -> Any:
    """Raises one after the other, and answers where there is None."""
    left = list(errors)

    async def does(asked: Request) -> object:
        error = left.pop(0)
        if error is not None:
            raise error
        return {"said": asked.call.attempt}

    return does


def test_a_write_sent_twice_is_made_once() -> None:
    desk = Doing(at_once, effects=WRITES)

    async def main() -> None:
        server = Desk([desk])
        first = await ask(server, request())
        second = await ask(server, request(attempt=2, previous_attempts=1))
        assert (first.output, first.result.replayed) == (second.output, False)
        assert second.result.replayed
        assert len(desk.asked) == 1

    run_virtual(main())


@pytest.mark.parametrize("other", [request({"n": 2}), request({"n": 1.5})], ids=str)
def test_a_key_stands_for_one_request(other: Any) -> None:
    async def main() -> None:
        server = Desk([Doing(at_once, effects=WRITES)])
        await ask(server, request())
        failure = await refused(server, other)
        assert (failure.code, failure.reason) == (Code.ALREADY_EXISTS, Reason.KEY_CONFLICT)

    run_virtual(main())


def test_the_same_request_written_otherwise_is_the_same() -> None:
    async def main() -> None:
        server = Desk([Doing(at_once, effects=WRITES)])
        await ask(server, request({"a": 1, "b": 2.0}))
        assert (await ask(server, request({"b": 2, "a": 1}))).result.replayed

    run_virtual(main())


def test_a_key_that_is_worked_on_says_when_to_ask_again() -> None:
    async def slow(_: Request) -> object:
        await asyncio.sleep(5)
        return {}

    async def main() -> None:
        server = Desk([Doing(slow, effects=WRITES)])
        first = asyncio.create_task(ask(server, request()))
        await asyncio.sleep(1)
        failure = await refused(server, request())
        assert (failure.code, failure.reason) == (Code.ABORTED, Reason.KEY_IN_PROGRESS)
        assert failure.retry_after_ms == 1000.0
        assert (await refused(server, request(confirm_only=True))).reason == Reason.KEY_IN_PROGRESS
        await first
        assert (await ask(server, request())).result.replayed

    run_virtual(main())


def test_a_write_that_surely_did_not_happen_is_made_when_asked_again() -> None:
    async def main() -> None:
        server = Desk([Doing(_raising(ComponentError("no", Code.INVALID_ARGUMENT), None), effects=WRITES)])
        assert (await refused(server, request())).code is Code.INVALID_ARGUMENT
        assert (await refused(server, request(confirm_only=True))).reason == Reason.NOT_DONE
        assert output(await ask(server, request(attempt=2))) == {"said": 2}

    run_virtual(main())


@pytest.mark.parametrize(
    "error", [ComponentError("gone", Code.UNAVAILABLE), ValueError("odd"), InDoubtError("who knows")], ids=str
)
def test_a_write_that_may_have_happened_is_not_made_again(error: Exception) -> None:
    desk = Doing(_raising(error), effects=WRITES)

    async def main() -> None:
        server = Desk([desk])
        await refused(server, request())
        for asked in (request(attempt=2), request(confirm_only=True), request(attempt=3)):
            failure = await refused(server, asked)
            assert (failure.code, failure.reason) == (Code.ABORTED, Reason.IN_DOUBT)
        assert len(desk.asked) == 1

    run_virtual(main())


def test_an_idempotent_component_is_asked_again() -> None:
    async def main() -> None:
        does = _raising(ComponentError("gone", Code.UNAVAILABLE), None)
        server = Desk([Doing(does, effects=WRITES, idempotent=True)])
        await refused(server, request())
        assert output(await ask(server, request(attempt=2))) == {"said": 2}

    run_virtual(main())


def test_a_component_that_can_tell_is_asked_before_it_is_made_again() -> None:
    desk = Confirming(_raising(ComponentError("gone", Code.UNAVAILABLE), None), effects=WRITES)

    async def main() -> None:
        server = Desk([desk])
        await refused(server, request())
        desk.said = {"said": "it happened"}
        answer = await ask(server, request(attempt=2))
        assert (output(answer), answer.result.replayed) == ({"said": "it happened"}, True)
        assert len(desk.asked) == 1

    run_virtual(main())


def test_one_that_says_that_it_did_not_happen_makes_it() -> None:
    desk = Confirming(_raising(ComponentError("gone", Code.UNAVAILABLE), None), effects=WRITES)

    async def main() -> None:
        server = Desk([desk])
        await refused(server, request())
        assert output(await ask(server, request(attempt=2))) == {"said": 2}

    run_virtual(main())


def test_asked_about_what_was_never_sent_the_component_says_so_and_the_write_is_free() -> None:
    desk = Confirming(at_once, effects=WRITES)

    async def main() -> None:
        server = Desk([desk])
        assert (await refused(server, request(confirm_only=True))).reason == Reason.NOT_DONE
        assert not desk.asked
        assert not (await ask(server, request())).result.replayed

    run_virtual(main())


def test_one_that_cannot_tell_leaves_it_in_doubt_and_the_question_leaves_nothing() -> None:
    desk = Confirming(at_once, effects=WRITES)
    desk.said = InDoubtError("the ledger is down")

    async def main() -> None:
        server = Desk([desk])
        failure = await refused(server, request(confirm_only=True))
        assert failure.reason == Reason.IN_DOUBT
        assert "the ledger is down" in failure.message
        await ask(server, request())

    run_virtual(main())


def test_a_caller_that_hangs_up_cancels_the_component_and_the_key_tells() -> None:
    ended: list[str] = []

    async def slow(_: Request) -> object:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return {}

    async def main() -> None:
        server = Desk([Doing(slow, effects=WRITES)])
        call = asyncio.create_task(ask(server, request()))
        await asyncio.sleep(1)
        call.cancel()
        await asyncio.wait([call])
        await asyncio.sleep(0)
        assert ended == ["cancelled"]
        assert (await refused(server, request(confirm_only=True))).reason == Reason.IN_DOUBT

    run_virtual(main())


def test_a_write_that_is_done_though_its_caller_hung_up_is_told() -> None:
    async def stubborn(_: Request) -> object:
        try:
            await asyncio.sleep(2)
        except asyncio.CancelledError:
            await asyncio.sleep(1)
        return {"done": True}

    async def main() -> None:
        server = Desk([Doing(stubborn, effects=WRITES)])
        call = asyncio.create_task(ask(server, request()))
        await asyncio.sleep(1)
        call.cancel()
        await asyncio.wait([call])
        assert (await refused(server, request(confirm_only=True))).reason == Reason.KEY_IN_PROGRESS
        await asyncio.sleep(2)
        answer = await ask(server, request(confirm_only=True))
        assert (output(answer), answer.result.replayed) == ({"done": True}, True)

    run_virtual(main())


def test_a_write_that_waited_for_a_place_when_its_caller_hung_up_was_not_done() -> None:
    async def slow(_: Request) -> object:
        await asyncio.sleep(5)
        return {}

    async def main() -> None:
        server = Desk([Doing(slow, effects=WRITES)], Limits(max_concurrent=1))
        first = asyncio.create_task(ask(server, request(effect_key="one")))
        await asyncio.sleep(1)
        second = asyncio.create_task(ask(server, request(effect_key="two")))
        await asyncio.sleep(1)
        second.cancel()
        await asyncio.wait([second])
        assert (await refused(server, request(effect_key="two", confirm_only=True))).reason == Reason.NOT_DONE
        await first

    run_virtual(main())


def test_a_write_whose_answer_breaks_its_schema_happened() -> None:
    async def main() -> None:
        wants = {"type": "object", "required": ["receipt"]}
        server = Desk([Doing(at_once, effects=WRITES, output=wants)])
        failure = await refused(server, request())
        assert failure.reason == Reason.IN_DOUBT
        assert "so it happened" in failure.message

    run_virtual(main())


def test_a_late_write_is_taken() -> None:
    async def late(_: Request) -> object:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return {"done": True}
        return {}

    async def main() -> None:
        server = Desk([Doing(late, effects=WRITES)])
        assert output(await ask(server, request(remaining_ms=1000))) == {"done": True}

    run_virtual(main())


def test_keys_are_forgotten_by_number_and_age_the_oldest_first() -> None:
    desk = Doing(at_once, effects=WRITES)

    async def main() -> None:
        server = Desk([desk], Limits(max_keys=2, key_age_s=100.0))
        for key in ("one", "two", "three"):
            await ask(server, request(effect_key=key))
        assert (await ask(server, request(effect_key="two"))).result.replayed
        assert not (await ask(server, request(effect_key="one"))).result.replayed
        await asyncio.sleep(101)
        await ask(server, request(effect_key="four"))
        assert not (await ask(server, request(effect_key="one"))).result.replayed

    run_virtual(main())


def test_answers_are_forgotten_by_size() -> None:
    async def large(_: Request) -> object:
        return {"filler": "x" * 1000}

    async def main() -> None:
        server = Desk([Doing(large, effects=WRITES)], Limits(max_key_bytes=4000))
        for key in "abcd":
            await ask(server, request(effect_key=key))
        assert not (await ask(server, request(effect_key="a"))).result.replayed
        assert (await ask(server, request(effect_key="d"))).result.replayed

    run_virtual(main())
