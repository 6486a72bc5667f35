"""Large fields are sent once, and named afterwards, to servers that say that they take that."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from stretto.acp import messages as m
from stretto.acp.failure import AcpError, Failure
from stretto.acp.names import Reason, Verb
from stretto.components.acp.blobs import LEAST_BYTES
from stretto.components.acp.component import AcpComponent
from stretto.testing.request import request_for
from stretto.types.errors import Code, ComponentError
from stretto.types.ids import digest_of
from tests.unit.components.acp.standin import EXECUTOR, Answer, StandIn

Make = Callable[..., AcpComponent]

LARGE = "鎖" * LEAST_BYTES
DONE = m.CallResponse(output={"status": "done"})


@pytest.fixture
def taking(server: StandIn) -> StandIn:
    """The server, which takes large values by digest."""
    server.told = m.DescribeResponse(cards=(msgspec.structs.replace(EXECUTOR, capabilities=("blobs",)),))
    return server


def sent(server: StandIn) -> list[tuple[Any, list[int]]]:
    """Of each request the field, and the sizes of the contents that came along."""
    return [(given(asked)["order"], [len(blob.content) for blob in asked.blobs]) for _, asked in server.asked]


def given(asked: m.CallRequest) -> dict[str, Any]:
    """The input, in whichever of its two forms it came."""
    read: dict[str, Any] = msgspec.json.decode(asked.input_json) if asked.input_json else asked.input
    return read


async def test_a_large_field_is_sent_once_and_named_afterwards(make: Make, taking: StandIn) -> None:
    component = make()
    for _ in range(2):
        await component(request_for(order=LARGE, small=1))
    (first, contents), (second, named) = sent(taking)
    assert first == second == {"$blob": f"sha256:{digest_of(msgspec.json.encode(LARGE))}"}
    assert contents == [len(LARGE.encode()) + 2]
    assert named == [0]
    assert given(taking.asked[0][1])["small"] == 1


async def test_integers_beside_a_large_field_stay_whole(make: Make, taking: StandIn) -> None:
    await make()(request_for(order=LARGE, n=2**60 + 1))
    assert given(taking.asked[0][1])["n"] == 2**60 + 1


async def test_what_the_other_side_forgot_is_sent_again(make: Make, taking: StandIn) -> None:
    component = make()
    await component(request_for(order=LARGE))
    missing = AcpError(Failure(code=Code.FAILED_PRECONDITION, message="forgot", reason=Reason.BLOB_MISSING))

    def forgetful(_verb: Verb, request: m.CallRequest) -> Answer:
        return DONE if request.blobs[0].content else missing

    taking.answer = forgetful
    await component(request_for(order=LARGE))
    assert [bool(contents[0]) for _, contents in sent(taking)] == [True, False, True]


async def test_one_that_never_has_it_fails_as_it_says(make: Make, taking: StandIn) -> None:
    missing = AcpError(Failure(code=Code.FAILED_PRECONDITION, message="forgot", reason=Reason.BLOB_MISSING))
    taking.answer = lambda _verb, _request: missing
    with pytest.raises(ComponentError, match="forgot"):
        await make()(request_for(order=LARGE))
    assert len(taking.asked) == 2


async def test_a_server_that_does_not_say_so_gets_the_whole(make: Make, server: StandIn) -> None:
    await make()(request_for(order=LARGE))
    asked = server.asked[0][1]
    assert given(asked) == {"order": LARGE}
    assert asked.blobs == ()


async def test_contents_of_an_answer_are_put_in_their_places(make: Make, server: StandIn) -> None:
    text = b'{"a":[1,null]}'
    digest = f"sha256:{digest_of(text)}"
    output: dict[str, Any] = {"status": "done", "rows": [{"$blob": digest}], "odd": {"$blob": digest, "more": 1}}
    blob = m.Blob(digest=digest, content=text, media_type="application/json")
    server.answer = lambda _verb, _request: m.CallResponse(output=output, blobs=(blob,))
    response = await make()(request_for(order="W1"))
    assert response.output == {**output, "rows": [{"a": [1, None]}]}


@pytest.mark.parametrize(
    ("media_type", "content", "value"),
    [
        ("application/json; charset=utf-8", b"[1]", [1]),
        ("text/csv", "grüße".encode(), "grüße"),
        ("image/png", b"\x00\xff", "AP8="),
    ],
)
async def test_a_content_is_read_as_its_media_type_says(
    make: Make, server: StandIn, media_type: str, content: bytes, value: Any
) -> None:
    digest = f"sha256:{digest_of(content)}"
    blob = m.Blob(digest=digest, content=content, media_type=media_type)
    server.answer = lambda _verb, _request: m.CallResponse(
        output={"status": "done", "x": {"$blob": digest}}, blobs=(blob,)
    )
    assert (await make()(request_for(order="W1"))).output == {"status": "done", "x": value}


async def test_contents_that_are_named_often_are_bounded(make: Make, server: StandIn) -> None:
    content = b'"%s"' % (b"x" * 100_000)
    digest = f"sha256:{digest_of(content)}"
    named: Any = [{"$blob": digest}] * 1000
    blob = m.Blob(digest=digest, content=content)
    server.answer = lambda _verb, _request: m.CallResponse(output={"status": named}, blobs=(blob,))
    with pytest.raises(ComponentError, match="an output that names contents of more than 8,388,608 bytes in all"):
        await make()(request_for(order="W1"))


@pytest.mark.parametrize(
    ("digest", "content", "said"),
    [
        ("sha256:00", b"1", "whose digest is sha256:"),
        (f"sha256:{digest_of(b'{')}", b"{", "which is no application/json"),
    ],
)
async def test_a_content_that_is_none_is_refused(
    make: Make, server: StandIn, digest: str, content: bytes, said: str
) -> None:
    blob = m.Blob(digest=digest, content=content)
    answer = m.CallResponse(output={"status": {"$blob": digest}}, blobs=(blob,))
    server.answer = lambda _verb, _request: answer
    with pytest.raises(ComponentError, match=said):
        await make()(request_for(order="W1"))
