"""Workflows as tools: what a client of the official SDK sees of them."""

from pathlib import Path

import aiohttp
import mcp_types as t
import pytest
from mcp import Client

from stretto.acp.server.tokens import Tokens
from stretto.serve.faces.tools import ERROR, RUN
from stretto.store.sqlite import Store
from stretto.types.enums import RunStatus
from tests.unit.serve.faces.served_faces import READING, WRITING, given_up, served_faces, workflows_in

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def test_each_workflow_is_a_tool_with_its_schemas(tmp_path: Path) -> None:
    described = READING.replace("version: 1.2.0", "version: 1.2.0\ndescription: Looks things up.")
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(workflows_in(tmp_path / "wf", store, described, WRITING)) as (_, url),
            Client(f"{url}/mcp") as client,
        ):
            reading, writing = (await client.list_tools()).tools
    assert (reading.description, writing.description) == ("Looks things up.", "Workflow writing 1.0.0")
    assert (reading.name, reading.input_schema["required"]) == ("reading", ["query"])
    assert reading.output_schema is not None
    assert reading.output_schema["required"] == ["reply"]
    assert reading.annotations is not None
    assert writing.annotations is not None
    assert (reading.annotations.read_only_hint, writing.annotations.read_only_hint) == (True, False)
    assert (reading.annotations.idempotent_hint, writing.annotations.idempotent_hint) == (True, False)
    assert (reading.meta, writing.meta) == (None, {"stretto/idempotent": True})


async def test_an_answer_names_its_run_and_a_key_makes_it_once(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(workflows_in(tmp_path / "wf", store, READING, WRITING)) as (_, url),
            Client(f"{url}/mcp") as client,
        ):
            meta: t.RequestParamsMeta = {"stretto/effect-key": "k", "traceparent": TRACE, "tracestate": "a=1"}  # type: ignore[typeddict-unknown-key]  # open by its schema
            told = [await client.call_tool("writing", {"query": "pay"}, meta=meta) for _ in range(2)]
        (summary,) = store.list()
        run = store.get(summary.id)
    assert [each.structured_content for each in told] == [{"reply": "pay (0 before)"}] * 2
    assert [each.meta and each.meta[RUN] for each in told] == [
        {"run_id": run.id, "outcome": "ok", "replayed": replayed} for replayed in (False, True)
    ]
    assert (run.traceparent, run.tracestate) == (TRACE, "a=1")


async def test_one_key_is_one_run_by_whatever_face_it_comes(tmp_path: Path) -> None:
    meta: t.RequestParamsMeta = {"stretto/effect-key": "k"}  # type: ignore[typeddict-unknown-key]  # open by its schema
    chat = {"model": "writing", "messages": [{"role": "user", "content": "pay"}]}
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(workflows_in(tmp_path / "wf", store, WRITING)) as (_, url),
            Client(f"{url}/mcp") as client,
            aiohttp.ClientSession(headers={"idempotency-key": "k"}) as session,
        ):
            told = await client.call_tool("writing", {"query": "pay"}, meta=meta)
            async with session.post(f"{url}/v1/workflows/writing/runs", json={"input": {"query": "pay"}}) as reply:
                again = await reply.json()
            async with session.post(f"{url}/v1/chat/completions", json=chat) as other:
                refused = await other.json()
        (run,) = store.list()
    assert told.structured_content == again["output"]
    assert (again["run_id"], again["replayed"]) == (run.id, True)
    assert (other.status, refused["error"]["code"]) == (409, "key_conflict")  # a history, if an empty one, is more


async def test_a_failure_tells_programs_all_of_it(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(workflows_in(tmp_path / "wf", store, READING)) as (_, url),
            Client(f"{url}/mcp") as client,
        ):
            failed = await client.call_tool("reading", {"query": "fails unavailable"})
            refused = await client.call_tool("reading", {"word": "hello"})
        (summary,) = store.list()
    assert failed.meta is not None
    assert failed.meta[ERROR] == {
        "code": "unavailable",
        "reason": "",
        "retryable": True,
        "retry_after_ms": None,
        "run_id": summary.id,
        "violations": [],
    }
    assert refused.meta is not None
    assert refused.meta[ERROR]["reason"] == "CONTRACT"
    assert [each["pointer"] for each in refused.meta[ERROR]["violations"]] == ["", ""]


async def test_a_call_that_is_cancelled_cancels_the_run(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(workflows_in(tmp_path / "wf", store, WRITING)) as (_, url),
            Client(f"{url}/mcp") as client,
        ):
            call = client.call_tool("writing", {"query": "hang"})
            assert await given_up(store, call) == [RunStatus.CANCELLED]


async def test_whoever_has_no_token_is_refused(tmp_path: Path) -> None:
    tokens = Tokens(("a-token-of-sixteen-or-more",))
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(workflows_in(tmp_path / "wf", store, READING), tokens=tokens) as (_, url),
            aiohttp.ClientSession() as session,
            session.post(f"{url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}) as reply,
        ):
            told = await reply.json(content_type=None)
    assert (reply.status, told["reason"], reply.headers["www-authenticate"]) == (401, "UNAUTHENTICATED", "Bearer")


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"jsonrpc": "2.0", "id": 1}'])
async def test_what_is_no_message_is_refused(tmp_path: Path, body: bytes) -> None:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(workflows_in(tmp_path / "wf", store, READING)) as (_, url),
            aiohttp.ClientSession(headers=headers) as session,
            session.post(f"{url}/mcp", data=body) as reply,
        ):
            told = await reply.json(content_type=None)
    assert reply.status == 400
    assert told["error"]["code"] in (t.PARSE_ERROR, t.INVALID_REQUEST, t.INVALID_PARAMS)


async def test_a_web_page_that_took_another_name_for_this_machine_is_refused(tmp_path: Path) -> None:
    headers = {"host": "evil.example:80", "accept": "application/json, text/event-stream"}
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(workflows_in(tmp_path / "wf", store, READING)) as (_, url),
            aiohttp.ClientSession(headers=headers) as session,
            session.post(f"{url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}) as reply,
        ):
            assert reply.status == 421
