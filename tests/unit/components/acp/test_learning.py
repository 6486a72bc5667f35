"""Components on other servers that learn there are told, and gradients come back, over HTTP and gRPC alike."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from stretto.acp import messages as m
from stretto.acp.failure import AcpError, Failure
from stretto.acp.names import Reason, Verb
from stretto.components.acp.component import AcpComponent
from stretto.components.acp.learning import LIMIT_MS
from stretto.components.acp.settings import Pin
from stretto.types.errors import Code, ComponentError
from stretto.types.ids import RunId, StepPath
from stretto.types.learning import Reward
from stretto.types.messages import RunInfo
from stretto.types.protocols import Differentiates, Reflects
from stretto.types.signals import Corrected, Cotangents, Signal
from tests.unit.components.acp.standin import EXECUTOR, StandIn

Make = Callable[..., AcpComponent]

RUN = RunInfo(id=RunId("r"), workflow_run_id="w@1.r", workflow="w", version="1")
SIGNAL = Signal(
    run=RUN,
    path=StepPath("talk[1]/do"),
    reward=None,
    credit=0.25,
    terms=(Reward(name="sentiment", value=None, weight=0.5, reason="no answer"),),
    corrections=(Corrected(pointer="/status", value={"any": [1, None]}, by="ana", reason="wrong"),),
    gradient_handle="h1",
)


@pytest.fixture
def offering(server: StandIn) -> Callable[..., None]:
    """Has the server's component offer these verbs."""

    def offer(*verbs: str) -> None:
        server.told = m.DescribeResponse(cards=(msgspec.structs.replace(EXECUTOR, verbs=("execute", *verbs)),))

    return offer


async def test_what_is_not_offered_cannot_be_asked(make: Make) -> None:
    component = make()
    assert not isinstance(component, Reflects)
    assert not isinstance(component, Differentiates)


async def test_a_signal_arrives_whole(make: Make, server: StandIn, offering: Callable[..., None]) -> None:
    offering("reflect")
    server.answer = lambda _verb, _request: m.ReflectResponse(accepted=True)
    component = make()
    assert isinstance(component, Reflects)
    assert await component.reflect(SIGNAL) is True
    [(verb, told)] = server.asked
    assert verb is Verb.REFLECT
    assert (told.reward, told.credit, told.gradient_handle) == (None, 0.25, "h1")
    assert told.terms == (m.RewardTerm(name="sentiment", weight=0.5, reason="no answer"),)
    [correction] = told.corrections
    assert (correction.pointer, correction.value, correction.by) == ("/status", {"any": [1, None]}, "ana")
    assert (told.envelope.run_id, told.envelope.step_path) == ("r", "talk[1]/do")
    assert told.envelope.component.name == "executor"


async def test_the_same_signal_has_the_same_key_and_another_has_another(
    make: Make, server: StandIn, offering: Callable[..., None]
) -> None:
    offering("reflect")
    server.answer = lambda _verb, _request: m.ReflectResponse(note="full")
    component = make()
    assert isinstance(component, Reflects)
    for signal in (SIGNAL, SIGNAL, msgspec.structs.replace(SIGNAL, reward=1.0)):
        assert await component.reflect(signal) == "full"
    first, again, other = (told.envelope.effect_key for _, told in server.asked)
    assert first == again != other


async def test_a_refusal_is_an_error(make: Make, server: StandIn, offering: Callable[..., None]) -> None:
    offering("reflect")
    refusal = Failure(code=Code.FAILED_PRECONDITION, message="another version", reason=Reason.COMPONENT_CHANGED)
    server.answer = lambda _verb, _request: AcpError(refusal)
    component = make()
    assert isinstance(component, Reflects)
    with pytest.raises(ComponentError, match="another version"):
        await component.reflect(SIGNAL)


async def test_gradients_come_back(make: Make, server: StandIn, offering: Callable[..., None]) -> None:
    offering("vjp")
    server.answer = lambda _verb, request: m.VjpResponse(gradients=request.cotangents + b"!")
    component = make()
    assert isinstance(component, Differentiates)
    asked = Cotangents(run=RUN, path=StepPath("do"), inputs=b"\x00", cotangents=b"\xff", gradient_handle="h")
    assert await component.vjp(asked) == b"\xff!"
    assert server.asked[0][1].gradient_handle == "h"


ASKED = Cotangents(run=RUN, path=StepPath("do"), inputs=b"i", cotangents=b"c", input={"factor": 2**60, "words": ["a"]})


async def test_the_calls_other_fields_and_its_time_go_along(
    make: Make, server: StandIn, offering: Callable[..., None]
) -> None:
    offering("vjp")
    server.answer = lambda _verb, _request: m.VjpResponse(gradients=b"g")
    component = make()
    assert isinstance(component, Differentiates)
    soon = asyncio.get_running_loop().time() + 5.0
    await component.vjp(msgspec.structs.replace(ASKED, deadline=soon))
    await component.vjp(ASKED)
    (_, first), (_, second) = server.asked
    assert (msgspec.json.decode(first.input_json) if first.input_json else first.input) == ASKED.input
    assert 4_000 < first.envelope.remaining_ms <= 5_000
    assert second.envelope.remaining_ms == LIMIT_MS


@pytest.mark.parametrize(("answered_by", "told", "is_right"), [
    ("", "d1", True), ("", "", True), ("", "d2", False), ("d2", "d2", True), ("d2", "d1", False),
])  # fmt: skip
async def test_a_gradient_is_of_who_answered_the_forward_call(
    make: Make, server: StandIn, offering: Callable[..., None], answered_by: str, told: str, is_right: bool
) -> None:
    offering("vjp")
    by = m.Result(component=m.ComponentRef(name="executor", version="1.2.0", digest=told))
    server.answer = lambda _verb, _request: m.VjpResponse(gradients=b"g", result=by)
    component = make(pin=Pin.WARN)
    assert isinstance(component, Differentiates)
    asked = msgspec.structs.replace(ASKED, answered_by=answered_by)
    if is_right:
        assert await component.vjp(asked) == b"g"
    else:
        with pytest.raises(ComponentError, match="it is the gradient of another function") as raised:
            await component.vjp(asked)
        assert not raised.value.retryable
    assert server.asked[0][1].envelope.component.digest == answered_by
