"""A server answers what is none, or lies: the error says what came, and whether a write may have happened."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stretto.acp import json_form, messages as m
from stretto.acp.failure import AcpError, Failure
from stretto.acp.names import Reason
from stretto.components.acp.component import AcpComponent
from stretto.engine.effects import may_have_happened
from stretto.testing.request import request_for
from stretto.types.errors import Code, ComponentError, InDoubtError
from tests.unit.components.acp.raw_server import OK, RawServer, reply
from tests.unit.components.acp.standin import EXECUTOR, Answer, StandIn

Make = Callable[..., AcpComponent]

PROBLEM = "application/problem+json"


@pytest.mark.parametrize(
    ("sent", "code", "is_in_doubt", "said"),
    [
        (reply("201 Created", OK), Code.INTERNAL, True, "answered 201"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", Code.INTERNAL, True, "answered 204: nothing"),
        (reply("302 Found", Location="http://elsewhere/"), Code.UNKNOWN, True, "it leads to http://elsewhere/"),
        (reply("307 X", Location="/login"), Code.FAILED_PRECONDITION, False, "it leads to /login: set the address"),
        (reply("200 OK", b"<p>log in</p>", "text/html"), Code.INTERNAL, True, "answered text/html; expected"),
        (reply("200 OK", b'{"code":"internal"}', PROBLEM), Code.INTERNAL, True, f"answered {PROBLEM}; expected"),
        (reply("200 OK", b"no gzip", Content_Encoding="gzip"), Code.UNAVAILABLE, True, "was lost before its answer"),
        (reply("200 OK", gzip.compress(b" " * 9_000_000), Content_Encoding="gzip"), Code.DATA_LOSS, True, "the limit"),
        (reply("200 OK", b'{"output":' + b"[" * 100_000), Code.INTERNAL, True, "nested too deeply"),
        (reply("500 X", b"[" * 100_000, PROBLEM), Code.INTERNAL, True, "answered 500: [["),
        (reply("500 X", b'{"code":"not_found","detail":"d"}', PROBLEM), Code.INTERNAL, True, ": d"),
        (reply("503 X", b'{"code":"resource_exhausted","detail":"d"}', PROBLEM), Code.UNAVAILABLE, True, ": d"),
        (reply("409 X", b'{"code":"aborted","reason":"IN_DOUBT","metadata":[]}', PROBLEM), Code.ABORTED, True, ""),
        (reply("404 X", b'{"code":"not_found","detail":"d"}', PROBLEM), Code.NOT_FOUND, False, ": d"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{", Code.UNAVAILABLE, True, "lost before its answer was whole"),
        (b"SSH-2.0-x\r\n", Code.INTERNAL, True, "answered what is no HTTP: Bad status line"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20_000, Code.INTERNAL, True, "answered what is no HTTP"),
        (b"", Code.UNAVAILABLE, True, "lost before its answer was whole"),
    ],
)
async def test_what_is_no_answer_is_told(sent: bytes, code: Code, is_in_doubt: bool, said: str, tmp_path: Path) -> None:
    with RawServer(sent, closes=True) as server:
        component = server.component(tmp_path)
        with pytest.raises(ComponentError) as caught:
            await component(request_for(order="W1"))
        await component.close()
    assert caught.value.rpc_code is code
    assert may_have_happened(caught.value) is is_in_doubt
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + OK,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(OK), OK),
        b"HTTP/1.1 103 Early Hints\r\n\r\n" + reply("200 OK", OK),
        reply("200 OK", OK, "Application/JSON ; charset=utf-8"),
    ],
)
async def test_an_answer_in_an_unusual_form_is_one(sent: bytes, tmp_path: Path) -> None:
    with RawServer(sent, closes=True) as server:
        component = server.component(tmp_path)
        assert (await component(request_for(order="W1"))).output == {"status": "done"}
        await component.close()


async def test_a_second_answer_is_not_that_of_the_next_call(tmp_path: Path) -> None:
    twice = reply("200 OK", OK) + reply("200 OK", b'{"output":{"status":"another"}}')
    with RawServer(twice, reply("200 OK", OK)) as server:
        component = server.component(tmp_path)
        answers = [await component(request_for(order="W1")) for _ in range(2)]
        await component.close()
    assert [answer.output for answer in answers] == [{"status": "done"}] * 2


async def test_an_answer_beyond_the_limit_leaves_a_write_in_doubt(make: Make, server: StandIn, tmp_path: Path) -> None:
    (tmp_path / "card.json").write_bytes(json_form.encode(m.DescribeResponse(cards=(EXECUTOR,))))
    server.answer = lambda _verb, _request: m.CallResponse(output={"status": "x" * 5000})
    with pytest.raises(ComponentError, match=r"answered more than .*; let it answer less, or raise") as caught:
        await make(card=Path("card.json"), max_response_bytes=1000)(request_for(order="W1"))
    assert may_have_happened(caught.value)
    assert not caught.value.retryable


async def test_an_integer_keeps_its_digits_beyond_64_bits(make: Make, server: StandIn) -> None:
    server.answer = lambda _verb, _request: m.CallResponse(output_json='{"status": 123456789012345678901234567890}')
    response = await make()(request_for(order="W1"))
    assert response.output == {"status": 123456789012345678901234567890}


async def test_a_failure_beyond_what_is_read_leaves_a_write_in_doubt(make: Make, server: StandIn) -> None:
    server.answer = lambda _verb, _request: AcpError(Failure(code=Code.UNAVAILABLE, message="z" * 100_000))
    with pytest.raises(ComponentError) as caught:
        await make()(request_for(order="W1"))
    assert may_have_happened(caught.value)


async def test_a_write_that_is_being_worked_on_may_happen(make: Make, server: StandIn) -> None:
    busy = Failure(code=Code.ABORTED, message="busy", reason=Reason.KEY_IN_PROGRESS, retry_after_ms=10.0)
    server.answer = lambda _verb, _request: AcpError(busy)
    with pytest.raises(ComponentError, match="busy") as caught:
        await make()(request_for(order="W1"))
    assert may_have_happened(caught.value)
    assert caught.value.retryable


@pytest.mark.parametrize(
    "reason",
    [
        Reason.ENVELOPE,
        Reason.VERSION_UNSUPPORTED,
        Reason.COMPONENT_CHANGED,
        Reason.MIRROR_WRITE,
        Reason.TOO_LARGE,
        Reason.SHED,
        Reason.DRAINING,
        Reason.DEADLINE_PASSED,
        Reason.KEY_CONFLICT,
        Reason.UNAUTHENTICATED,
    ],
)
async def test_a_write_that_was_refused_before_anybody_was_asked_is_not_in_doubt(
    make: Make, server: StandIn, reason: Reason
) -> None:
    code, metadata = _REFUSED[reason]
    server.answer = lambda _verb, _request: AcpError(Failure(code=code, message="no", reason=reason, metadata=metadata))
    with pytest.raises(ComponentError, match="no") as caught:
        await make()(request_for(order="W1"))
    assert not may_have_happened(caught.value)


_REFUSED: dict[Reason, tuple[Code, dict[str, str]]] = {
    Reason.ENVELOPE: (Code.INVALID_ARGUMENT, {}),
    Reason.VERSION_UNSUPPORTED: (Code.FAILED_PRECONDITION, {"supported_versions": "2.0"}),
    Reason.COMPONENT_CHANGED: (Code.FAILED_PRECONDITION, {"digest": "d2"}),
    Reason.MIRROR_WRITE: (Code.FAILED_PRECONDITION, {}),
    Reason.TOO_LARGE: (Code.INVALID_ARGUMENT, {}),
    Reason.SHED: (Code.RESOURCE_EXHAUSTED, {}),
    Reason.DRAINING: (Code.UNAVAILABLE, {"sent": "no"}),
    Reason.DEADLINE_PASSED: (Code.DEADLINE_EXCEEDED, {"sent": "no"}),
    Reason.KEY_CONFLICT: (Code.ALREADY_EXISTS, {}),
    Reason.UNAUTHENTICATED: (Code.UNAUTHENTICATED, {}),
}


@pytest.mark.parametrize("reason", [Reason.DEADLINE_PASSED, Reason.DRAINING, Reason.IN_DOUBT])
async def test_a_write_that_the_component_may_have_begun_is_in_doubt(
    make: Make, server: StandIn, reason: Reason
) -> None:
    code = Code.ABORTED if reason is Reason.IN_DOUBT else _REFUSED[reason][0]
    server.answer = lambda _verb, _request: AcpError(Failure(code=code, message="no", reason=reason))
    with pytest.raises(ComponentError) as caught:
        await make()(request_for(order="W1"))
    assert may_have_happened(caught.value)
    assert isinstance(caught.value, InDoubtError) is (reason is Reason.IN_DOUBT)


async def test_what_a_server_tells_of_another_that_it_could_not_reach_is_its_own_failure(
    make: Make, server: StandIn
) -> None:
    told = "failed to connect to all addresses; last error: ipv4:10.0.0.9:1: Connection refused"
    server.answer = lambda _verb, _request: AcpError(Failure(code=Code.UNAVAILABLE, message=told))
    with pytest.raises(ComponentError, match="failed to connect") as caught:
        await make()(request_for(order="W1"))
    assert may_have_happened(caught.value)


async def test_a_token_that_is_quoted_with_escapes_is_blotted_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "a/long+secret==")
    quoted = b'{"output":{"status":"a\\/long+secret==","url":"?t=a%2Flong%2Bsecret%3D%3D"}}'
    with RawServer(reply("200 OK", quoted)) as server:
        component = server.component(tmp_path, token_env="SHOP_TOKEN")
        response = await component(request_for(order="W1"))
        await component.close()
    assert "secret" not in str(response.output)


async def test_a_token_that_is_quoted_is_blotted_out(
    make: Make, server: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "a-long-secret")
    component = make(token_env="SHOP_TOKEN")
    quoted: list[Answer] = [
        AcpError(Failure(code=Code.UNAUTHENTICATED, message="who is a-long-secret?", metadata={"t": "a-long-secret"})),
        m.CallResponse(result=m.Result(evidence={"token": "a-long-secret"}), output={"status": "a-long-secret"}),
    ]
    server.answer = lambda _verb, _request: quoted.pop(0)
    with pytest.raises(ComponentError, match=r"who is \*{13}\?"):
        await component(request_for(order="W1"))
    response = await component(request_for(order="W1"))
    assert response.output == {"status": "*" * 13}
    assert response.evidence == {"token": "*" * 13}


@pytest.mark.parametrize("spent", [{"inputTokens": 10**30}, {"inputTokens": -1}, {"cost": -0.5}])
async def test_what_nobody_can_have_spent_is_no_answer(spent: dict[str, Any], tmp_path: Path) -> None:
    told = msgspec.json.encode({"result": {"usage": spent}, "output": {"status": "done"}})
    with RawServer(reply("200 OK", told)) as server:
        component = server.component(tmp_path)
        with pytest.raises(ComponentError, match="says that it spent"):
            await component(request_for(order="W1"))
        await component.close()


async def test_a_wait_or_a_time_that_cannot_be_is_not_believed(make: Make, server: StandIn) -> None:
    component = make()
    server.answer = lambda _verb, _request: m.CallResponse(result=m.Result(queue_ms=1e300), output={"status": "x"})
    assert (await component(request_for(order="W1"))).queue_ms < 60_000
    early = Failure(code=Code.UNAVAILABLE, message="x", retry_after_ms=-5.0)
    server.answer = lambda _verb, _request: AcpError(early)
    with pytest.raises(ComponentError) as caught:
        await component(request_for(order="W1"))
    assert caught.value.retry_after_s == 0.0


@pytest.mark.parametrize("url", ["grpc"], indirect=True)  # JSON has none
async def test_times_that_are_no_numbers_are_left_out(server: StandIn, make: Make) -> None:
    result = m.Result(service_ms=float("nan"), queue_ms=float("inf"))
    server.answer = lambda _verb, _request: m.CallResponse(result=result, output={"status": "x"})
    response = await make()(request_for(order="W1"))
    assert (response.evidence, response.queue_ms) == ({}, 0.0)
