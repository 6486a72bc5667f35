"""An answer under another digest than the card's: refused, told of in the log, or taken, as `pin` says."""

import logging
from collections.abc import Callable

import pytest

from stretto.acp import messages as m
from stretto.components.acp.component import AcpComponent
from stretto.components.acp.settings import Pin
from stretto.engine.effects import may_have_happened
from stretto.testing.request import request_for
from stretto.types.errors import ComponentError, InDoubtError
from tests.unit.components.acp.standin import StandIn

Make = Callable[..., AcpComponent]

OTHER = m.ComponentRef(name="executor", version="1.3.0", digest="d2")
ANSWERED = {"acp": {"answered_by": {"version": "1.3.0", "digest": "d2"}}}


def answering_as(server: StandIn, ref: m.ComponentRef) -> None:
    told = m.CallResponse(output={"status": "done"}, result=m.Result(component=ref))
    server.answer = lambda _verb, _request: told


async def test_another_is_refused_and_a_write_left_in_doubt(make: Make, server: StandIn) -> None:
    answering_as(server, OTHER)
    component = make(pin=Pin.DIGEST)
    with pytest.raises(
        ComponentError, match=r"answered as executor 1\.3\.0, digest d2, .* pinned to .*, digest d1"
    ) as no:
        await component(request_for(order="W1"))
    assert may_have_happened(no.value)
    assert not no.value.retryable
    with pytest.raises(InDoubtError, match="digest d2"):
        await component.confirm(request_for(order="W1"))


async def test_another_is_recorded_and_told_of_once(
    make: Make, server: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    answering_as(server, OTHER)
    component = make(pin=Pin.WARN)
    with caplog.at_level(logging.WARNING):
        answers = [await component(request_for(order="W1")) for _ in range(3)]
    assert [answer.evidence for answer in answers] == [ANSWERED] * 3
    [warning] = [record.getMessage() for record in caplog.records]
    assert "answers as executor 1.3.0, digest d2, and its card says executor 1.2.0, digest d1" in warning
    assert server.asked[0][1].envelope.component.digest == ""


async def test_another_is_taken_and_recorded_without_a_pin(
    make: Make, server: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    answering_as(server, OTHER)
    with caplog.at_level(logging.WARNING):
        answer = await make(pin=Pin.NONE)(request_for(order="W1"))
    assert answer.evidence == ANSWERED
    assert not caplog.records


@pytest.mark.parametrize("ref", [m.ComponentRef(), m.ComponentRef(name="executor", version="1.2.0", digest="d1")])
async def test_the_cards_own_and_one_that_does_not_say_are_taken(
    make: Make, server: StandIn, ref: m.ComponentRef
) -> None:
    answering_as(server, ref)
    assert (await make()(request_for(order="W1"))).evidence == {}
