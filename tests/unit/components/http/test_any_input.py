"""Whatever comes in, and whatever a service answers: a request, an output, or an error that says what was wrong."""

from typing import Any, Final

import pytest
from hypothesis import given, strategies as st
from multidict import CIMultiDict

from stretto.components.http.answering import Asking, Exchange, checked, response_of
from stretto.components.http.exchange import Outgoing
from stretto.components.http.failures import peer_of
from stretto.components.http.requests import request_of
from stretto.components.http.scope import answered, frame_of
from stretto.components.http.secrets import Secrets
from stretto.components.http.service import HttpService
from stretto.components.waiting import Wait
from stretto.components.web.reply import Reply
from stretto.testing import run_virtual
from stretto.testing.request import request_for
from stretto.types.errors import ComponentError
from stretto.types.json import Json
from tests.unit.components.http.declaring import service

JSON: Final = service(
    """
    url: http://h/{a}/x
    query: { q: "input.b", r: "input.c" }
    headers: { X-A: "input.a", X-B: "input.b" }
    json: { a: "input.a", b: ["input.b"], whole: "input" }
    response: { map: { state: response.body.state, size: "size(response.body.items)", next: response.links.next } }
    errors: [{ when: "response.body.ok == false || response.body.n > 3", code: aborted, message: response.body.why }]
    """
)
FORM: Final = service("url: http://h/x\nform: { a: input.a, b: input.b, c: input.c }\nresponse: { format: text }")
SOAP: Final = service(
    """
    url: http://h/x
    soap:
      header: '<k at="{a}">{b}</k>'
      body: '<m xmlns:s="urn:stretto"><i s:each="c" n="{item}"/><t>{a} and {b}</t></m>'
    response:
      namespaces: { b: urn:b }
      xpath: { n: { path: "//b:n", type: "int?" }, l: { each: //l, fields: { f: "@f" } }, t: "string(//t)" }
    errors: [{ when: "response.body.n > 3", code: aborted }]
    """
)
SERVICES: Final = pytest.mark.parametrize("asking", [JSON, FORM, SOAP], ids=["json", "form", "soap"])

_SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
_VALUES: st.SearchStrategy[Json] = st.recursive(
    _SCALARS | st.text(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)
_BODIES = (
    st.binary()
    | st.text().map(str.encode)
    | st.sampled_from(
        [
            b'{"state": "x", "items": [1]}',
            b'{"ok": false, "why": 3}',
            b'{"n": "a", "items": 3}',
            b"[]",
            b"null",
            b"<a><t>x</t><l f='1'/><n xmlns='urn:b'>7</n></a>",
            b"<s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><s:Body><s:Fault/></s:Body></s:Envelope>",
            b"<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
        ]
    )
)
_HEADERS = st.dictionaries(
    st.sampled_from(["Content-Type", "Link", "Retry-After", "Location"]),
    st.text(max_size=40)
    | st.sampled_from(['text/xml; charset="x', "application/json; charset=utf-16", "<a>;rel=next", "-1", "1e400"]),
    max_size=3,
)


@SERVICES
@given(data=st.fixed_dictionaries({}, optional={"a": _VALUES, "b": _VALUES, "c": _VALUES}))
def test_an_input_makes_a_request_or_is_refused_before_it_is_sent(asking: HttpService, data: dict[str, Any]) -> None:
    outgoing = made(asking, data)
    if isinstance(outgoing, ComponentError):
        assert not outgoing.sent
        return
    assert outgoing.url.isascii()
    assert outgoing.url.startswith("http://h/")
    assert not any(mark in value for value in outgoing.headers.values() for mark in "\r\n\0")


@SERVICES
@given(status=st.integers(100, 599), headers=_HEADERS, body=_BODIES)
def test_an_answer_makes_an_output_or_an_error(
    asking: HttpService, status: int, headers: dict[str, str], body: bytes
) -> None:
    output = made_of(asking, Reply(status=status, headers=CIMultiDict(headers), body=body))
    if isinstance(output, ComponentError):
        assert len(str(output)) < 2_000
        assert output.sent
        return
    assert isinstance(output, dict)
    assert 200 <= status < 300


def made(asking: HttpService, data: dict[str, Any]) -> Outgoing | ComponentError:
    """The request of an input, or why there is none."""
    action, call = asking._actions[""], request_for(**data).call
    try:
        return request_of("it", action, "Key", call, frame_of(data, "run/step"), Secrets("it"))
    except ComponentError as error:
        return error


def made_of(asking: HttpService, reply: Reply) -> object:
    """The output of an answer, or the error that it is."""

    async def answering() -> object:
        frame = frame_of({"a": "x"}, "run/step")
        asked = Asking(action=asking._actions[""], frame=frame, secrets=Secrets("it"), waited=Wait())
        exchange = Exchange(asking=asked, peer=peer_of("it", "http://h/x"), reply=reply)
        return response_of(exchange, answered(frame, checked(exchange).value)).output

    try:
        return run_virtual(answering())
    except ComponentError as error:
        return error
