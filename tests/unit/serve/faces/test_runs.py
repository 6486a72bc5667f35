"""Workflows asked in Stretto's own words."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from stretto.acp.server.tokens import Tokens
from stretto.store.sqlite import Store
from tests.unit.serve.acp_living import post
from tests.unit.serve.faces.served_faces import DEGRADED, READING, WRITING, served_faces, workflows_in

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

GOOD: dict[str, Any] = {"input": {"query": "hello"}}


async def test_a_run_is_made_and_told(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        async with served_faces(workflows_in(tmp_path / "wf", store, READING, DEGRADED), tools=False) as (_, url):
            body = {**GOOD, "labels": {"task": "t", "caller_hops": "9"}, "seed": 7, "deadline_ms": 5000}
            status, _, told = await post(f"{url}/v1/workflows/reading/runs", body)
            _, _, degraded = await post(f"{url}/v1/workflows/degraded/runs", {"input": {"query": "bug"}})
        run = store.get(told["run_id"])
    assert (status, told["status"], told["output"]) == (200, "ok", {"reply": "hello (0 before)"})
    assert told["usage"]["inputTokens"] == 7
    assert (run.labels, run.seed) == ({"task": "t", "caller_hops": "9"}, 7)  # which is nobody's word but the client's
    assert run.budget is not None
    assert run.budget.deadline_ms is not None
    assert run.budget.deadline_ms <= 5000
    assert degraded["status"] == "degraded"


@pytest.mark.parametrize(
    ("path", "body", "status", "reason", "says"),
    [
        ("reading", b"{", 400, "MALFORMED", "asks for no run"),
        ("reading", b"[]", 400, "MALFORMED", "Expected `object`"),
        ("reading", {}, 400, "MALFORMED", "missing required field `input`"),
        ("reading", {**GOOD, "inputs": {}}, 400, "MALFORMED", "unknown field `inputs`"),
        ("reading", {"input": {"query": 7}}, 400, "CONTRACT", "breaks its schema"),
        ("writing", {"input": {"query": "x", "history": [{"n": 2**70}]}}, 400, "MALFORMED", "string, at /history/0/n"),
        ("reading", {**GOOD, "deadline_ms": -1}, 400, "MALFORMED", "Expected `int` >= 0 - at `$.deadline_ms`"),
        ("reading", {**GOOD, "seed": 2**63}, 400, "MALFORMED", "at `$.seed`"),
        ("reading", {**GOOD, "deadline_ms": 0}, 504, "DEADLINE_PASSED", "none was left"),
        ("readin", GOOD, 404, "COMPONENT_UNKNOWN", "did you mean 'reading'?"),
    ],
)
async def test_what_is_wrong_is_told(tmp_path: Path, path: str, body: Any, status: int, reason: str, says: str) -> None:
    with Store(tmp_path / "runs.db") as store:
        async with served_faces(workflows_in(tmp_path / "wf", store, READING, WRITING), tools=False) as (_, url):
            found, headers, told = await post(f"{url}/v1/workflows/{path}/runs", body)
    assert (found, told["reason"], headers["Content-Type"]) == (status, reason, "application/problem+json")
    assert says in told["detail"]


@pytest.mark.parametrize("path", ["/", "/v1/workflows", "/v1/workflows/reading/runs/"])
async def test_a_path_that_is_not_there_is_told_which_are(tmp_path: Path, path: str) -> None:
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(workflows_in(tmp_path / "wf", store, READING), tools=False) as (_, url),
            aiohttp.ClientSession() as session,
            session.get(f"{url}{path}") as reply,
        ):
            told = await reply.json()
    assert reply.status == 404
    beside = "beside them POST /v1/workflows/NAME/runs, POST /v1/chat/completions, GET /v1/models"
    assert told["detail"].startswith(f"GET {path} is not served; served are POST /acp/v1/{{plan|execute")
    assert told["detail"].endswith(beside)


async def test_it_is_asked_by_post_and_with_a_token(tmp_path: Path) -> None:
    tokens = Tokens(("a-token-of-sixteen-or-more",))
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(workflows_in(tmp_path / "wf", store, READING), tokens=tokens, tools=False) as (_, url),
            aiohttp.ClientSession(headers={"authorization": "Bearer a-token-of-sixteen-or-more"}) as session,
            session.get(f"{url}/v1/workflows/reading/runs") as reply,
        ):
            assert (await post(f"{url}/v1/workflows/reading/runs", GOOD))[0] == 401
    assert (reply.status, reply.headers["allow"]) == (400, "POST")


async def test_its_trace_and_baggage_go_with_the_run(tmp_path: Path) -> None:
    body = {**GOOD, "baggage": {"customer": "secret"}, "deadline_ms": 10**12}
    headers = [("traceparent", TRACE), ("tracestate", "a=1"), ("tracestate", "b=2 , c=3")]
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(workflows_in(tmp_path / "wf", store, READING), tools=False) as (_, url),
            aiohttp.ClientSession() as session,
            session.post(f"{url}/v1/workflows/reading/runs", json=body, headers=headers) as reply,
        ):
            told = await reply.json()
        run = store.get(told["run_id"])
    assert (run.traceparent, run.tracestate, run.baggage) == (TRACE, "a=1,b=2,c=3", ("customer",))


async def test_an_idempotency_key_that_is_too_long_is_told_as_such(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(workflows_in(tmp_path / "wf", store, WRITING), tools=False) as (_, url),
            aiohttp.ClientSession(headers={"idempotency-key": "k" * 1001}) as session,
            session.post(f"{url}/v1/workflows/writing/runs", json=GOOD) as reply,
        ):
            told = await reply.json()
    assert (reply.status, told["detail"]) == (400, "the idempotency key has 1,001 characters; expected at most 1,000")


@pytest.mark.parametrize("path", ["v1/workflows/reading/runs", "v1/chat/completions", "acp/v1/execute"])
@pytest.mark.parametrize(
    ("origin", "is_taken"),
    [("http://localhost:3000", True), ("http://[::1]", True), ("http://evil.example:8080", False), ("null", False)],
)
async def test_a_web_page_from_elsewhere_is_refused_where_no_token_is_asked_for(
    tmp_path: Path, path: str, origin: str, is_taken: bool
) -> None:
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(workflows_in(tmp_path / "wf", store, READING), tools=False) as (_, url),
            aiohttp.ClientSession(headers={"origin": origin}) as session,
            session.post(f"{url}/{path}", data=b"{", headers={"content-type": "application/json"}) as reply,
        ):
            told = await reply.text()
    assert (reply.status, "only pages from this machine" in told) == ((400, False) if is_taken else (403, True))
