"""The protocol over HTTP: one call, and each way in which a request may be wrong."""

import gc
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from stretto.acp.server import Limits
from tests.unit.serve.acp_living import add, envelope, made, post, served

_GOOD = {"envelope": envelope(), "input": {"a": 1, "b": 2}}


async def test_a_call_is_answered() -> None:
    async with served(made(add)) as (_, url):
        status, headers, body = await post(f"{url}/acp/v1/execute", _GOOD)
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert body["output"] == {"sum": 3}
    assert body["result"]["outcome"] == "ok"
    assert body["result"]["component"]["name"] == "add"


def _with(**fields: Any) -> dict[str, Any]:
    return {**_GOOD, "envelope": envelope(**fields)}


_DEEP = b'{"input": ' + b'{"a":' * 2000 + b"1" + b"}" * 2001


@pytest.fixture
def usual_recursion() -> Iterator[None]:
    """Python's own limit, which Hypothesis raises in other tests and may leave."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


_NAME = f"sha256:{'0' * 64}"


@pytest.mark.usefixtures("usual_recursion")
@pytest.mark.parametrize(
    ("body", "status", "code", "reason", "says"),
    [
        (b"{", 400, "invalid_argument", "MALFORMED", "the body is no ExecuteRequest"),
        (b"[]", 400, "invalid_argument", "MALFORMED", "Expected `object`"),
        (_DEEP, 400, "invalid_argument", "MALFORMED", "the body is no"),
        (b'{"input": {"a": "\xff"}}', 400, "invalid_argument", "MALFORMED", "UTF-8"),
        (b'{"input": {"a": 1e999}}', 400, "invalid_argument", "MALFORMED", "out of range"),
        ({**_GOOD, "inputJson": "{"}, 400, "invalid_argument", "MALFORMED", "inputJson"),
        ({**_GOOD, "inputJson": "[]"}, 400, "invalid_argument", "MALFORMED", "no JSON object"),
        (_with(attempt="one"), 400, "invalid_argument", "MALFORMED", "attempt"),
        ({"input": {"a": 1, "b": 2}}, 400, "invalid_argument", "ENVELOPE", "/envelope/protocol is missing"),
        (_with(protocol="one"), 400, "invalid_argument", "ENVELOPE", "expected major.minor"),
        (_with(runId=""), 400, "invalid_argument", "ENVELOPE", "/envelope/runId is missing"),
        (_with(attempt=0), 400, "invalid_argument", "ENVELOPE", "/envelope/attempt is 0"),
        (_with(remainingMs=-1), 400, "invalid_argument", "ENVELOPE", "/envelope/remainingMs is -1"),
        (_with(remainingMs=2**32), 400, "invalid_argument", "ENVELOPE", "expected 0 or more, at most 4294967295"),
        (_with(attempt=2**32), 400, "invalid_argument", "ENVELOPE", "at most 4294967295 for later ones"),
        (_with(seed="ten"), 400, "invalid_argument", "ENVELOPE", "/envelope/seed is 'ten'"),
        (_with(seed="1_0"), 400, "invalid_argument", "ENVELOPE", "/envelope/seed is '1_0'"),
        (_with(seed="\u0661"), 400, "invalid_argument", "ENVELOPE", "/envelope/seed is '\u0661'"),
        (_with(seed=str(2**63)), 400, "invalid_argument", "ENVELOPE", "expected an integer of 64 bits"),
        (_with(budget={"tokens": 2**32}), 400, "invalid_argument", "ENVELOPE", "/envelope/budget/tokens is 4294967296"),
        (_with(runId="r\r\nX: 1"), 400, "invalid_argument", "ENVELOPE", "/envelope/runId is 'r\\r\\nX: 1'"),
        (_with(effectKey="k\0"), 400, "invalid_argument", "ENVELOPE", "/envelope/effectKey is 'k\\x00'; expected no"),
        (_with(workflowRunId="w\n"), 400, "invalid_argument", "ENVELOPE", "goes into headers and logs"),
        (_with(budget={"cost": -1}), 400, "invalid_argument", "ENVELOPE", "/envelope/budget/cost is -1"),
        (_with(protocol="2.0"), 400, "failed_precondition", "VERSION_UNSUPPORTED", "spoken are 1.0"),
        (_with(component={"name": "ad"}), 404, "not_found", "COMPONENT_UNKNOWN", "did you mean 'add'?"),
        (_with(component={"digest": "0"}), 400, "failed_precondition", "COMPONENT_CHANGED", "is pinned to 0"),
        (_with(remainingMs=0), 504, "deadline_exceeded", "DEADLINE_PASSED", "none was left"),
        (_with(effect="write"), 400, "invalid_argument", "ENVELOPE", "/envelope/effectKey is missing"),
        (
            _with(effect="write", effectKey="k", variant={"mirror": True}),
            *(400, "failed_precondition", "MIRROR_WRITE", "a mirror must change nothing"),
        ),
        ({**_GOOD, "input": {"a": {"$blob": "sha256:0"}}}, 400, "invalid_argument", "MALFORMED", "names the content"),
        ({**_GOOD, "input": {"a": {"$blob": _NAME}}}, 400, "failed_precondition", "BLOB_MISSING", _NAME),
        ({**_GOOD, "input": {"a": 1}}, 400, "invalid_argument", "CONTRACT", '"b" is a required property'),
        ({**_GOOD, "filler": "x" * 5000}, 400, "invalid_argument", "TOO_LARGE", "larger than 4,000 bytes"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
async def test_what_is_wrong_is_told(body: Any, status: int, code: str, reason: str, says: str) -> None:
    async with served(made(add), Limits(max_request_bytes=4000 if reason == "TOO_LARGE" else 100_000)) as (_, url):
        found, headers, problem = await post(f"{url}/acp/v1/execute", body)
        again = await post(f"{url}/acp/v1/execute", _GOOD)
    assert (found, problem["code"], problem["reason"]) == (status, code, reason)
    assert headers["Content-Type"] == "application/problem+json"
    assert says in problem["detail"]
    assert "Traceback" not in problem["detail"]
    assert again[0] == 200


async def test_a_call_leaves_nothing_to_pythons_collector() -> None:
    async with served(made(add)) as (_, url):
        await post(f"{url}/acp/v1/execute", _GOOD)
        gc.collect()
        gc.disable()
        try:
            for _ in range(3):
                await post(f"{url}/acp/v1/execute", _GOOD)
            kept = [each for each in gc.get_objects() if type(each) is RequestResponseCycle]  # torch's warn if asked
        finally:
            gc.enable()
    assert len(kept) <= 1  # that of a connection which is not told yet that it has ended


async def test_fields_of_a_newer_minor_version_are_passed_over() -> None:
    body = {"envelope": envelope(protocol="1.7", hue="blue", effect="muse"), "input": {"a": 1, "b": 2}, "more": [1]}
    async with served(made(add)) as (_, url):
        status, _, found = await post(f"{url}/acp/v1/execute", body)
    assert (status, found["output"]) == (200, {"sum": 3})
