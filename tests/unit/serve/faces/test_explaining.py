"""Runs explained over HTTP: the same record as at a terminal, pages that run nothing, and who may see them."""

import asyncio
import threading
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

import stretto
from stretto.acp.server import Limits
from stretto.acp.server.tokens import Tokens
from stretto.learn.explain.run import _Explaining
from stretto.record.model import StepRecord
from stretto.runtime.workflow import Workflow
from stretto.serve.faces.explaining import MOST_WAITING
from stretto.serve.faces.runs_page import LISTED
from stretto.store.sqlite import Store
from stretto.types.learning import Action
from tests.unit.serve.acp_living import post
from tests.unit.serve.faces.served_faces import DEGRADED, READING, served_faces, workflows_in

TOKEN = "a-token-of-sixteen-or-more"
HOSTILE = "<script>alert(1)</script>"


def basic(name: str, password: str) -> str:
    """What a browser sends of a name and a password (RFC 7617)."""
    return f"Basic {b64encode(f'{name}:{password}'.encode()).decode()}"


class Asked:
    """The server's address, and what it answered."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url = url
        self._session = session

    async def get(self, path: str, **options: Any) -> tuple[int, str, aiohttp.ClientResponse]:
        async with self._session.get(f"{self.url}{path}", **options) as reply:
            return reply.status, await reply.text(), reply

    async def run(self, query: str) -> str:
        body = {"input": {"query": query}, "labels": {"task": query}}
        _, _, told = await post(f"{self.url}/v1/workflows/reading/runs", body)
        run_id: str = told["run_id"]
        return run_id


@asynccontextmanager
async def explaining(folder: Path, **options: Any) -> AsyncIterator[tuple[Asked, list[Workflow]]]:
    with Store(folder / "runs.db") as store:
        workflows = workflows_in(folder / "wf", store, READING, DEGRADED)
        async with (
            served_faces(workflows, tools=False, explain=True, **options) as (_, url),
            aiohttp.ClientSession() as session,
        ):
            yield Asked(url, session), workflows


async def test_it_answers_what_python_is_told(tmp_path: Path) -> None:
    async with explaining(tmp_path) as (asked, workflows):
        await asked.run("hello")
        run = await asked.run("good day")
        status, body, reply = await asked.get(f"/v1/workflows/reading/runs/{run}/explanation?tried=3")
        told = await stretto.explain(workflows[0], run, tried=3)
        kept = len(workflows[0].store.list())
    assert (status, reply.headers["content-type"]) == (200, "application/json")
    assert msgspec.json.decode(body) == msgspec.json.decode(msgspec.json.encode(told))
    assert "it is held against 1 other run" in told.summary[0]
    assert kept == 2  # no replay among them


async def test_runs_are_listed_with_the_way_to_their_explanation(tmp_path: Path) -> None:
    async with explaining(tmp_path) as (asked, _):
        _, empty, _ = await asked.get("/runs")
        run = await asked.run(HOSTILE)
        status, listed, reply = await asked.get("/runs")
        _, shown, _ = await asked.get(f"/runs/{run}/explanation")
    assert "No run has been made yet" in empty
    assert (status, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert f'<a href="/runs/{run}/explanation">' in listed
    assert "&lt;script&gt;" in listed
    assert "<script" not in listed + shown
    assert f"Why run <code>{run}</code> went as it did" in shown
    assert '<a href="/runs">' in shown
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in policy
    assert "script-src" not in policy
    names = ("x-content-type-options", "cache-control", "referrer-policy")
    assert [reply.headers[name] for name in names] == ["nosniff", "no-store", "no-referrer"]


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/runs/0000/explanation", 404, "there is no run '0000' of a workflow that is served here"),
        ("/v1/workflows/reading/runs/0000/explanation", 404, "there is no run '0000' of reading"),
        ("/v1/workflows/degraded/runs/last/explanation", 404, "there is no run 'last' of degraded"),
        ("/v1/workflows/other/runs/last/explanation", 404, "of other; served are reading, degraded"),
        ("/runs/last/explanation?step=loook", 400, "did you mean 'look'?"),
        ("/runs/last/explanation?tried=0", 400, "tried is 0; expected 1 to 1,000"),
        ("/runs/last/explanation?tried=many", 400, "tried is 'many'; expected 1 to 1,000"),
        ("/runs/last/explanation?steps=look", 400, "?steps is not known"),
        ("/runs/last/explanation?%ff", 400, "the query cannot be read"),
        ("/runs/last/explanations", 404, "GET /runs, /runs/RUN/explanation"),
    ],
)
async def test_what_cannot_be_explained_is_told(tmp_path: Path, path: str, status: int, says: str) -> None:
    async with explaining(tmp_path) as (asked, _):
        await asked.run("hello")
        found, body, reply = await asked.get(path)
    assert (found, reply.headers["content-type"]) == (status, "application/problem+json")
    assert says in msgspec.json.decode(body)["detail"]


@pytest.mark.parametrize(
    ("path", "authorization", "status"),
    [
        ("/runs", {}, 401),
        ("/runs/last/explanation", {"authorization": "Bearer wrong-token-of-sixteen"}, 401),
        ("/v1/workflows/reading/runs/last/explanation", {}, 401),
        ("/v1/workflows/reading/runs/last/explanation", {"authorization": f"Bearer {TOKEN}"}, 404),
        ("/runs", {"authorization": f"Bearer {TOKEN}"}, 200),
        ("/runs", {"authorization": basic("anybody", TOKEN)}, 200),
        ("/runs", {"authorization": basic("anybody", "wrong")}, 401),
        ("/runs", {"authorization": "Basic ***"}, 401),
        # a program is let in as elsewhere, and by no password
        ("/v1/workflows/reading/runs/last/explanation", {"authorization": basic("a", TOKEN)}, 401),
    ],
)
async def test_with_a_token_only_who_has_it_reads(
    tmp_path: Path, path: str, authorization: dict[str, str], status: int
) -> None:
    async with explaining(tmp_path, tokens=Tokens((TOKEN,))) as (asked, _):
        found, _, reply = await asked.get(path, headers=authorization)
    assert found == status
    if status == 401:
        scheme = "Bearer" if path.startswith("/v1") else 'Basic realm="'
        assert reply.headers.getall("www-authenticate")[0].startswith(scheme)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::"])
@pytest.mark.parametrize("path", ["/runs", "/runs/last/explanation", "/v1/workflows/reading/runs/last/explanation"])
async def test_a_name_made_to_stand_for_this_machine_reads_nothing(tmp_path: Path, path: str, host: str) -> None:
    async with explaining(tmp_path) as (asked, _):
        await asked.run("hello")
        status, body, _ = await asked.get(path, headers={"host": host})
        own, _, _ = await asked.get(path, headers={"host": "localhost:8080"})
    assert status in (400, 403)
    assert "hello" not in body
    assert own == 200


async def test_it_is_only_read(tmp_path: Path) -> None:
    async with explaining(tmp_path) as (asked, _), aiohttp.ClientSession() as session:
        async with session.post(f"{asked.url}/runs") as posted:
            assert (posted.status, posted.headers["allow"]) == (400, "GET, HEAD")
        async with session.head(f"{asked.url}/runs") as head:
            assert (head.status, await head.read()) == (200, b"")


async def test_one_is_explained_at_a_time_and_few_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()
    at_once = []

    async def slow(workflow: Workflow, run: stretto.Run, **options: Any) -> Any:
        at_once.append(1)
        assert sum(at_once) == 1
        entered.set()
        await go_on.wait()
        at_once.append(-1)
        return await stretto.explain(workflow, run, **options)

    monkeypatch.setattr("stretto.serve.faces.explaining.explain", slow)
    async with explaining(tmp_path) as (asked, _):
        await asked.run("hello")
        path = "/v1/workflows/reading/runs/last/explanation"
        asking = {asyncio.create_task(asked.get(path)) for _ in range(MOST_WAITING + 1)}
        await entered.wait()
        (shed,), waiting = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
        go_on.set()
        done = [await each for each in waiting]
    status, body, reply = shed.result()
    assert (status, reply.headers["retry-after"]) == (429, "2")
    assert "explanations wait already" in body
    assert [each[0] for each in done] == [200] * MOST_WAITING


async def test_one_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def endless(*_: Any, **__: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("stretto.serve.faces.explaining.explain", endless)
    async with explaining(tmp_path, limits=Limits(max_call_s=0.05)) as (asked, workflows):
        await workflows[0].run({"query": "hello"})
        status, body, _ = await asked.get("/runs/last/explanation")
    assert status == 504
    assert "explain one step: ?step=PATH" in body


async def test_one_that_is_given_up_lets_no_other_begin_while_it_is_computed_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = [], threading.Event()

    def computed(self: _Explaining, step: StepRecord) -> tuple[()]:
        begun.append(step.path)
        go_on.wait(30)
        return ()

    monkeypatch.setattr(_Explaining, "_choices", computed)
    async with explaining(tmp_path, limits=Limits(max_call_s=0.05)) as (asked, workflows):
        run = await workflows[0].run({"query": "hello"})
        for step in run.steps:
            step.actions = (Action(name="way", chosen="a", support=("a",), logprob=0.0, propensity=1.0, policy=""),)
        monkeypatch.setattr("stretto.serve.faces.explaining.find_run", lambda *_: run)
        given_up = [(await asked.get("/runs/last/explanation"))[0] for _ in range(3)]
        at_once = len(begun)
        go_on.set()
    assert (given_up, at_once) == ([504] * 3, 1)


async def test_without_being_asked_for_it_shows_no_run(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(workflows_in(tmp_path / "wf", store, READING), tools=False) as (_, url),
            aiohttp.ClientSession() as session,
        ):
            for path in ("/runs", "/runs/last/explanation", "/v1/workflows/reading/runs/last/explanation"):
                async with session.get(f"{url}{path}") as reply:
                    assert reply.status == 404


async def test_runs_of_others_in_its_store_are_not_in_the_way(tmp_path: Path) -> None:
    async with explaining(tmp_path) as (asked, workflows):
        run = await asked.run("hello")
        folder, store = tmp_path / "other", workflows[0].store
        (other,) = workflows_in(folder, store, READING.replace("name: reading", "name: other"))
        async with other:
            for _ in range(LISTED):
                await other.run({"query": "hello"})
        _, listed, _ = await asked.get("/runs")
        status, body, _ = await asked.get("/v1/workflows/reading/runs/last/explanation")
        none = await asked.get("/v1/workflows/degraded/runs/last/explanation")
    assert run in listed
    assert (status, msgspec.json.decode(body)["run"]) == (200, run)
    assert none[0] == 404
