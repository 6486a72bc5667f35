"""A step asks a component on another server, over HTTP and over gRPC alike."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from stretto.acp import messages as m
from stretto.acp.failure import AcpError, Failure
from stretto.acp.names import Reason, Verb
from stretto.components.acp.component import AcpComponent
from stretto.testing.request import request_for
from stretto.types.enums import Effect, Outcome
from stretto.types.errors import (
    BreakerOpenError,
    Code,
    ComponentError,
    ContractError,
    InDoubtError,
    UsageError,
    Violation,
)
from stretto.types.messages import Usage
from tests.unit.components.acp.standin import EXECUTOR, Answer, StandIn

Make = Callable[..., AcpComponent]


async def test_its_card_is_what_the_server_says(make: Make) -> None:
    card = make().card
    assert (card.name, card.version, card.kind) == ("shop", "1.2.0", "acp")
    assert card.input == EXECUTOR.input
    assert card.effects == {"*": Effect.WRITE}
    assert card.idempotent
    assert card.confirms


async def test_what_it_is_asked_holds_the_whole_envelope(make: Make, server: StandIn) -> None:
    deadline = asyncio.get_running_loop().time() + 2.0
    request = request_for(
        order="W1", _run="r1", _path="talk[2]/shop", _attempt=2, _effect=Effect.WRITE, _seed=2**60, _deadline=deadline
    )
    await make()(request)
    [(verb, asked)] = server.asked
    envelope = asked.envelope
    assert verb is Verb.EXECUTE
    assert (envelope.protocol, envelope.run_id, envelope.step_path) == ("1.0", "r1", "talk[2]/shop")
    assert (envelope.attempt, envelope.effect, envelope.effect_key) == (2, "write", "r1/talk[2]/shop")
    assert envelope.component == m.ComponentRef(name="executor", version="1.2.0", digest="d1")
    assert int(envelope.seed) == 2**60
    assert 1000 < envelope.remaining_ms <= 2000
    assert envelope.budget == m.BudgetLeft()


async def test_the_input_arrives_as_it_is(make: Make, server: StandIn) -> None:
    order = {"text": "鎖 \u0000 \U0001f512", "many": [1, 2.5, None, True, {"a": []}], "n": 3}
    await make()(request_for(order=order))
    asked = server.asked[0][1]
    given = msgspec.json.decode(asked.input_json) if asked.input_json else asked.input
    assert given == {"order": order}


async def test_the_answer_says_what_it_took(make: Make, server: StandIn) -> None:
    spent = m.Spent(input_tokens=3, output_tokens=4, cost=0.5)
    result = m.Result(
        outcome="partial", usage=spent, queue_ms=0.01, evidence={"why": "late"}, replayed=True, run_id="r9"
    )
    server.answer = lambda _verb, _request: m.CallResponse(result=result, output={"status": "done"})
    response = await make()(request_for(order="W1"))
    assert response.output == {"status": "done"}
    assert response.outcome is Outcome.PARTIAL
    assert response.usage == Usage(input_tokens=3, output_tokens=4, cost=0.5)
    assert response.queue_ms >= 0.01
    assert response.evidence == {"why": "late", "acp": {"replayed": True, "run_id": "r9"}}


async def test_a_plan_says_what_it_wants_done_in_its_output(make: Make, server: StandIn) -> None:
    server.told = m.DescribeResponse(protocols=("1.0",), cards=(m.WireCard(name="planner", verbs=("plan", "reflect")),))
    wanted = m.ExecuteAction(action="pay", input={"amount": 5})
    server.answer = lambda _verb, _request: m.CallResponse(output={"why": "due"}, execute_action=wanted)
    response = await make()(request_for(goal="rent"))
    assert server.asked[0][0] is Verb.PLAN
    assert response.output == {"why": "due", "execute_action": {"action": "pay", "input": {"amount": 5}}}


async def test_its_failure_is_the_error_that_it_was(make: Make, server: StandIn) -> None:
    broken = (Violation(pointer="/order", message="is 3"),)
    failure = Failure(code=Code.FAILED_PRECONDITION, message="its input", reason=Reason.CONTRACT, violations=broken)
    server.answer = lambda _verb, _request: AcpError(failure)
    with pytest.raises(ContractError, match=r"the server of component 'shop' at 127\.0\.0\.1:") as caught:
        await make()(request_for(order="W1"))
    assert caught.value.violations == broken


@pytest.mark.parametrize(
    ("failure", "kind", "retry_after_s"),
    [
        (Failure(code=Code.UNAVAILABLE, message="full", retry_after_ms=1500.0), ComponentError, 1.5),
        (Failure(code=Code.UNAVAILABLE, message="x", reason=Reason.BREAKER_OPEN), BreakerOpenError, None),
    ],
)
async def test_how_long_to_wait_and_whether_to_try_again_come_along(
    make: Make, server: StandIn, failure: Failure, kind: type[ComponentError], retry_after_s: float | None
) -> None:
    server.answer = lambda _verb, _request: AcpError(failure)
    with pytest.raises(kind) as caught:
        await make()(request_for(order="W1"))
    assert caught.value.retry_after_s == retry_after_s
    assert caught.value.retryable is (kind is ComponentError)


async def test_a_cancelled_call_is_cancelled_there(make: Make, server: StandIn) -> None:
    server.hangs = True
    component = make()
    calling = asyncio.ensure_future(component(request_for(order="W1")))
    assert await asyncio.to_thread(server.heard.wait, 10)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert await asyncio.to_thread(server.cancelled.wait, 10)


async def test_a_write_in_doubt_is_asked_for(make: Make, server: StandIn) -> None:
    component = make()
    response = await component.confirm(request_for(order="W1"))
    assert response is not None
    assert response.output == {"status": "done"}
    assert server.asked[0][1].confirm_only


async def test_a_write_whose_time_is_over_is_asked_for_all_the_same(make: Make, server: StandIn) -> None:
    over = asyncio.get_running_loop().time() - 1.0
    assert await make().confirm(request_for(order="W1", _deadline=over)) is not None
    assert server.asked[0][1].envelope.remaining_ms is None


async def test_a_write_that_is_being_worked_on_is_asked_for_until_it_has_ended(make: Make, server: StandIn) -> None:
    busy = AcpError(Failure(code=Code.ABORTED, message="", reason=Reason.KEY_IN_PROGRESS, retry_after_ms=1.0))
    answers: list[Answer] = [busy, busy, m.CallResponse(output={"status": "done"})]
    server.answer = lambda _verb, _request: answers.pop(0)
    response = await make().confirm(request_for(order="W1"))
    assert response is not None
    assert response.output == {"status": "done"}


async def test_it_is_asked_for_soon_whatever_time_the_server_thinks_of(make: Make, server: StandIn) -> None:
    later = AcpError(Failure(code=Code.ABORTED, message="", reason=Reason.KEY_IN_PROGRESS, retry_after_ms=60_000.0))
    answers: list[Answer] = [later, later, m.CallResponse(output={"status": "done"})]
    server.answer = lambda _verb, _request: answers.pop(0)
    response = await make().confirm(request_for(order="W1"))
    assert response is not None
    assert response.output == {"status": "done"}


async def test_one_that_never_ends_stays_in_doubt(make: Make, server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.components.acp.component.ASKED_FOR_S", 0.05)
    busy = Failure(code=Code.ABORTED, message="busy", reason=Reason.KEY_IN_PROGRESS, retry_after_ms=10.0)
    server.answer = lambda _verb, _request: AcpError(busy)
    with pytest.raises(InDoubtError, match="cannot tell what became of it: busy"):
        await make().confirm(request_for(order="W1"))
    assert len(server.asked) > 1


async def test_a_write_that_surely_did_not_happen_is_none(make: Make, server: StandIn) -> None:
    not_done = Failure(code=Code.NOT_FOUND, message="never heard of it", reason=Reason.NOT_DONE)
    server.answer = lambda _verb, _request: AcpError(not_done)
    assert await make().confirm(request_for(order="W1")) is None


async def test_what_nobody_can_tell_stays_in_doubt(make: Make, server: StandIn) -> None:
    server.answer = lambda _verb, _request: AcpError(Failure(code=Code.NOT_FOUND, message="no such place"))
    with pytest.raises(InDoubtError, match="no such place"):
        await make().confirm(request_for(order="W1"))


async def test_garbage_is_no_answer(make: Make, server: StandIn) -> None:
    server.answer = lambda _verb, _request: b"<html>\xff</html>"
    with pytest.raises(ComponentError, match="no ExecuteResponse") as caught:
        await make()(request_for(order="W1"))
    assert caught.value.rpc_code is Code.INTERNAL


async def test_a_server_that_is_away_was_never_asked(make: Make, server: StandIn) -> None:
    component = make()
    server.stop()
    with pytest.raises(ComponentError) as caught:
        await component(request_for(order="W1"))
    assert caught.value.rpc_code is Code.UNAVAILABLE
    assert not caught.value.sent


@pytest.mark.parametrize("url", ["grpc"], indirect=True)
async def test_a_server_that_came_back_is_asked_as_soon_as_a_step_tries_again(make: Make, server: StandIn) -> None:
    component = make()
    await component(request_for(order="W1"))
    server.stop()
    back, now = StandIn(), asyncio.get_running_loop().time
    back.grpc_port = server.grpc_port
    with pytest.raises(ComponentError):
        await component(request_for(order="W1"))
    with back:
        began, answered = now(), False
        while not answered and now() < began + 10:
            try:
                answered = bool((await component(request_for(order="W1"))).output)
            except ComponentError:
                await asyncio.sleep(0.01)
    assert answered
    assert now() < began + 0.8  # gRPC's own wait is a second, 20 % less or more, and grows to two minutes


async def test_a_token_is_sent_and_one_that_is_not_set_is_told(
    make: Make, server: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "secret")
    component = make(token_env="SHOP_TOKEN")
    await component(request_for(order="W1", _traceparent="00-1-2-01", _tracestate="v=1"))
    assert server.headers[0]["authorization"] == "Bearer secret"
    assert (server.headers[0]["traceparent"], server.headers[0]["tracestate"]) == ("00-1-2-01", "v=1")
    envelope = server.asked[0][1].envelope
    assert (envelope.traceparent, envelope.tracestate) == ("00-1-2-01", "v=1")
    monkeypatch.delenv("SHOP_TOKEN")
    with pytest.raises(ComponentError, match=r"takes its token from \$SHOP_TOKEN, which is not set"):
        await component(request_for(order="W1"))


@pytest.mark.parametrize(
    ("cards", "said"),
    [
        ((), "should have one component; it has none"),
        ((EXECUTOR, m.WireCard(name="b")), "it has 2: executor, b; name one: #executor after the address"),
        ((m.WireCard(name="a", verbs=("vjp",)),), "does not offer any verb of a step; its card says vjp"),
        ((m.WireCard(name="a", verbs=("plan",), effects={"*": "maybe"}),), "'maybe' is not a valid Effect"),
        ((m.WireCard(name="a", verbs=("plan",), input={"type": "objekt"}),), "what is no JSON Schema 2020-12"),
    ],
)
async def test_a_card_that_no_step_can_use_is_refused_at_load(
    make: Make, server: StandIn, cards: tuple[m.WireCard, ...], said: str
) -> None:
    server.told = m.DescribeResponse(protocols=("1.0",), cards=cards)
    with pytest.raises(UsageError, match=said.replace("(", r"\(").replace("#", r"\#")):
        make()


async def test_a_server_of_another_major_version_is_refused_at_load(make: Make, server: StandIn) -> None:
    server.told = m.DescribeResponse(protocols=("2.0", "3.1"), cards=(EXECUTOR,))
    with pytest.raises(UsageError, match=r"speaks the protocol in versions 2.0, 3.1; expected 1.x"):
        make()


async def test_one_of_several_is_named_in_the_address(make: Make, server: StandIn, url: str) -> None:
    server.told = m.DescribeResponse(protocols=("1.1",), cards=(m.WireCard(name="b", verbs=("plan",)), EXECUTOR))
    assert make(url=f"{url}#executor").card.version == "1.2.0"
    with pytest.raises(UsageError, match="has no component 'c'; it has b, executor"):
        make(url=f"{url}#c")


async def test_a_card_that_claims_something_else_has_another_digest(make: Make, server: StandIn) -> None:
    before = make().card.digest
    assert make().card.digest == before
    server.told = m.DescribeResponse(cards=(msgspec.structs.replace(EXECUTOR, digest="d2"),))
    assert make().card.digest != before
