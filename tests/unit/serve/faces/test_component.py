"""A workflow as a component: what of a call crosses into its run, and one run for one key."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stretto.record.model import Run
from stretto.serve.faces.card import card_of, sla_of
from stretto.store.sqlite import Store
from stretto.types.card import ANY_OBJECT
from stretto.types.enums import Effect, RunStatus
from tests.unit.serve.acp_living import envelope, post
from tests.unit.serve.faces.served_faces import READING, WRITING, given_up, served_faces, workflows_in

CALLER = "01a22ac9-5c9f-767c-9464-aa45ae351687"
LONG_NAME = f"shop@2.0.0.eff49ccc.1343e303.{CALLER}"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
async def url(store: Store, tmp_path: Path) -> AsyncIterator[str]:
    async with served_faces(workflows_in(tmp_path / "wf", store, READING, WRITING), tools=False) as (_, at):
        yield at


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    with Store(tmp_path / "runs.db") as kept:
        yield kept


async def call(url: str, workflow: str, query: str, *, confirm: bool = False, **fields: Any) -> tuple[int, Any]:
    asked = envelope(**{"component": {"name": workflow}, "runId": CALLER, "stepPath": "talk[3]/ask", **fields})
    body = {"envelope": asked, "input": {"query": query}, "confirmOnly": confirm}
    status, _, told = await post(f"{url}/acp/v1/execute", body)
    return status, told


def runs_in(store: Store) -> list[Run]:
    return [store.get(each.id) for each in reversed(store.list())]


def written(tmp_path: Path) -> int:
    """How often something was paid."""
    notes = tmp_path / "wf" / "written"
    return len(notes.read_text().splitlines()) if notes.exists() else 0


async def test_what_travels_with_a_call_is_on_the_record_of_its_run(url: str, store: Store) -> None:
    status, told = await call(
        url,
        "reading",
        "hello",
        workflowRunId=LONG_NAME,
        tenant="north",
        labels={"task": "t-1"},
        seed="42",
        traceparent=TRACE,
        tracestate="a=1,b=2",
        baggage={"customer": "secret"},
        budget={"retries": 1, "tokens": 900, "cost": 0.5},
        remainingMs=5000,
    )
    assert (status, told["output"]) == (200, {"reply": "hello (0 before)"})
    (run,) = runs_in(store)
    assert told["result"]["runId"] == told["gradientHandle"] == run.id
    assert told["result"]["usage"] == {"inputTokens": 7, "outputTokens": 5, "cost": 0.0}
    assert told["result"]["evidence"]["workflow"] == {"status": "ok", "workflow_run_id": run.workflow_run_id}
    assert (run.parent, run.traceparent, run.tenant, run.seed) == (CALLER, TRACE, "north", 42)
    assert run.tracestate == "a=1,b=2"
    assert run.labels == {"task": "t-1", "caller": LONG_NAME}
    assert run.baggage == ("customer",)
    assert run.budget is not None
    assert (run.budget.retries, run.budget.tokens, run.budget.cost) == (1, 900, 0.5)
    assert run.budget.deadline_ms is not None
    assert 4000 < run.budget.deadline_ms <= 5000


@pytest.mark.parametrize(
    ("labels", "kept"),
    [
        ({}, {"caller": LONG_NAME}),
        ({"caller": "a"}, {"caller": LONG_NAME, "caller_hops": "2"}),
        ({"caller": "a", "caller_hops": "7"}, {"caller": LONG_NAME, "caller_hops": "8"}),
        ({"caller": "a", "caller_hops": "many", "task": "t"}, {"caller": LONG_NAME, "caller_hops": "2", "task": "t"}),
    ],
)
async def test_a_run_tells_who_called_it_and_how_many_stand_before(
    url: str, store: Store, labels: dict[str, str], kept: dict[str, str]
) -> None:
    await call(url, "reading", "hello", workflowRunId=LONG_NAME, labels=labels)
    assert runs_in(store)[0].labels == kept


@pytest.mark.parametrize("hops", ["8", "99999999999999999999"])
async def test_a_circle_of_servers_ends_and_leaves_nothing_in_doubt(url: str, store: Store, hops: str) -> None:
    asked: dict[str, Any] = {
        "workflowRunId": LONG_NAME,
        "labels": {"caller": "a", "caller_hops": hops},
        "effectKey": "k",
    }
    for confirm, expected in ((True, (404, "not_found")), (False, (400, "failed_precondition"))):
        status, told = await call(url, "writing", "pay", confirm=confirm, **asked)
        assert (status, told["code"]) == expected
    assert "do their workflows call each other in a circle?" in told["detail"]
    assert told["metadata"] == {"sent": "no"}
    assert runs_in(store) == []


async def test_a_run_has_no_more_than_its_workflow_allows(url: str, store: Store) -> None:
    await call(url, "reading", "hello", remainingMs=900_000)
    (run,) = runs_in(store)
    assert run.budget is not None
    assert run.budget.deadline_ms == 20_000


async def test_a_trace_context_that_is_none_is_left_out(url: str, store: Store) -> None:
    status, _ = await call(url, "reading", "hello", traceparent="\n00-zz", tracestate="a=1")
    (run,) = runs_in(store)
    assert (status, run.traceparent, run.tracestate) == (200, "", "")


async def test_reads_are_runs_of_their_own_whatever_their_key(url: str, store: Store) -> None:
    for _ in range(2):
        await call(url, "reading", "hello", effectKey="k")
    assert [run.effect_key for run in runs_in(store)] == ["", ""]


async def test_one_key_is_one_run_also_after_the_server_was_restarted(tmp_path: Path, store: Store) -> None:
    told = []
    for _ in range(2):
        async with served_faces(workflows_in(tmp_path / "wf", store, WRITING)) as (_faces, url):
            told += [await call(url, "writing", "pay", effectKey="k") for _ in range(2)]
    (run,) = runs_in(store)
    assert {status for status, _ in told} == {200}
    assert {each["result"]["runId"] for _, each in told} == {run.id}
    assert [each["result"].get("replayed", False) for _, each in told] == [False, True, True, True]
    assert run.effect_key == "k"
    assert written(tmp_path) == 1


async def test_after_a_restart_another_request_with_the_same_key_is_refused(tmp_path: Path, store: Store) -> None:
    told = []
    for query in ("pay", "pay more"):
        async with served_faces(workflows_in(tmp_path / "wf", store, WRITING)) as (_faces, url):
            told.append(await call(url, "writing", query, effectKey="k"))
    assert (told[1][0], told[1][1]["code"]) == (409, "already_exists")
    assert runs_in(store)[0].id in told[1][1]["detail"]
    assert written(tmp_path) == 1


async def test_what_surely_wrote_nothing_is_made_again(tmp_path: Path, store: Store) -> None:
    for _ in range(2):
        async with served_faces(workflows_in(tmp_path / "wf", store, WRITING)) as (_faces, url):
            status, _ = await call(url, "writing", "fails unavailable", effectKey="k")
            assert status == 503
    assert len(runs_in(store)) == 2


@pytest.mark.parametrize(
    ("query", "status", "reason"),
    [
        ("pay", 200, None),
        ("fails unavailable", 404, "NOT_DONE"),
        ("pay and fail", 409, "IN_DOUBT"),
        ("pay and be lost", 409, "IN_DOUBT"),
        (None, 404, "NOT_DONE"),
    ],
)
async def test_after_a_restart_it_tells_what_became_of_a_write(
    tmp_path: Path, store: Store, query: str | None, status: int, reason: str | None
) -> None:
    workflows = workflows_in(tmp_path / "wf", store, WRITING)
    async with served_faces(workflows) as (_faces, url):
        if query is not None:
            await call(url, "writing", query, effectKey="k")
    before = written(tmp_path)
    async with served_faces(workflows_in(tmp_path / "wf", store, WRITING)) as (_faces, url):
        found, told = await call(url, "writing", query or "pay", effectKey="k", confirm=True)
    assert (found, told.get("reason")) == (status, reason)
    assert written(tmp_path) == before


async def test_of_two_servers_on_one_store_one_answers_a_call(tmp_path: Path, store: Store) -> None:
    with Store(store.path) as other:
        async with (
            served_faces(workflows_in(tmp_path / "wf", store, WRITING), tools=False) as (_, here),
            served_faces(workflows_in(tmp_path / "wf", other, WRITING), tools=False) as (_, there),
        ):
            told = await asyncio.gather(*(call(url, "writing", "pay", effectKey="k") for url in (here, there) * 4))
            again = [await call(url, "writing", "pay", effectKey="k") for url in (here, there)]
    (run,) = runs_in(store)
    assert {each["result"]["runId"] for _, each in again} == {run.id}
    assert {status for status, _ in told} <= {200, 409, 503}, told
    assert {each["reason"] for status, each in told if status == 409} <= {"KEY_IN_PROGRESS"}
    assert written(tmp_path) == 1


async def test_while_another_server_is_at_work_on_a_call_nobody_knows_and_the_caller_asks_later(
    tmp_path: Path, store: Store
) -> None:
    with Store(store.path) as other:
        async with (
            served_faces(workflows_in(tmp_path / "wf", store, WRITING), tools=False) as (_, here),
            served_faces(workflows_in(tmp_path / "wf", other, WRITING), tools=False) as (_, there),
        ):
            working = asyncio.ensure_future(call(here, "writing", "pay and wait", effectKey="k", remainingMs=15_000))
            async with asyncio.timeout(10):
                while not written(tmp_path):  # noqa: ASYNC110  # a file tells nobody
                    await asyncio.sleep(0.01)
            status, told = await call(there, "writing", "pay and wait", effectKey="k")
            asked, said = await call(there, "writing", "pay and wait", effectKey="k", confirm=True)
            working.cancel()
    assert (status, told["code"], told["retryAfterMs"]) == (503, "unavailable", 1000.0)
    assert "is being executed" in told["detail"]
    assert (asked, said["reason"]) == (409, "IN_DOUBT")
    assert written(tmp_path) == 1


async def test_a_run_ends_a_little_before_its_caller_stops_waiting(url: str, store: Store) -> None:
    await call(url, "reading", "hello")  # which makes the store
    status, told = await call(url, "reading", "hang", remainingMs=2000)
    run = runs_in(store)[-1]
    assert (status, told["code"], told["runId"]) == (504, "deadline_exceeded", run.id)
    assert run.status is RunStatus.EXPIRED


async def test_a_workflow_that_keeps_only_ended_runs_cannot_say_that_a_write_was_not_made(
    tmp_path: Path, store: Store
) -> None:
    text = WRITING.replace("durability: step\n", "")
    async with served_faces(workflows_in(tmp_path / "wf", store, text)) as (faces, url):
        status, told = await call(url, "writing", "pay", effectKey="k", confirm=True)
        (card,) = (each.card for each in faces.desk.served)
    assert (status, told["reason"]) == (409, "IN_DOUBT")
    assert not card.idempotent


async def test_a_caller_that_hangs_up_cancels_the_run(url: str, store: Store) -> None:
    assert await given_up(store, call(url, "writing", "hang", effectKey="k")) == [RunStatus.CANCELLED]


async def reflect(url: str, handle: str, **said: Any) -> Any:
    asked = envelope(component={"name": "reading"}, runId=CALLER, stepPath="ask", workflowRunId=LONG_NAME)
    body = {"envelope": asked, "gradientHandle": handle, **said}
    status, _, told = await post(f"{url}/acp/v1/reflect", body)
    assert status == 200
    return told


async def test_how_an_answer_was_judged_is_kept_with_its_run(url: str, store: Store) -> None:
    _, told = await call(url, "reading", "hello")
    correction = {"pointer": "/reply", "value": "hi", "by": "ann", "reason": "too long"}
    said = await reflect(url, told["gradientHandle"], reward=1.0, credit=0.25, corrections=[correction])
    assert said["accepted"] is True
    notes = store.annotations(told["result"]["runId"])
    assert [(note.name, note.value, note.by) for note in notes] == [
        ("reward", 0.25, LONG_NAME),
        ("correction", {"pointer": "/reply", "value": "hi"}, "ann"),
    ]
    assert notes[0].reason == "credit, step ask"


async def test_a_signal_that_is_not_kept_says_why(url: str) -> None:
    _, mine = await call(url, "reading", "hello")
    _, other = await call(url, "writing", "pay", effectKey="k")
    for handle, why in [
        ("", "no run here has this gradient handle"),
        (mine["gradientHandle"][:20], "no run here has this gradient handle"),
        (other["gradientHandle"], "one of workflow 'writing'"),
    ]:
        said = await reflect(url, handle, reward=1.0)
        assert said.get("accepted", False) is False
        assert why in said["note"]
    assert "says nothing" in (await reflect(url, mine["gradientHandle"]))["note"]


def test_a_card_tells_what_the_steps_may_do_and_what_the_contract_promises(tmp_path: Path, store: Store) -> None:
    promised = READING.replace(
        "output: { reply: string } }",
        "output: { reply: string }, sla: { workflow: { p95_latency: 2s, min_success_rate: 0.9 } } }",
    )
    reading, writing = workflows_in(tmp_path / "wf", store, promised, WRITING)
    card = card_of(reading.plan)
    assert (card.kind, card.effect_of(""), card.idempotent) == ("workflow", Effect.READ, False)
    assert card.digest == reading.plan.manifest_digest
    assert card.input["required"] == ["query"]
    assert card.output["required"] == ["reply"]
    assert (sla_of(reading.plan).p95_latency_ms, sla_of(reading.plan).min_success_rate) == (2000.0, 0.9)
    assert (card_of(writing.plan).effect_of(""), card_of(writing.plan).idempotent) == (Effect.WRITE, True)
    bare = READING.replace(f"contract: {READING.split('contract: ')[1].splitlines()[0]}\n", "")
    (anything,) = workflows_in(tmp_path / "bare", store, bare)
    assert (card_of(anything.plan).input, card_of(anything.plan).output) == (ANY_OBJECT, ANY_OBJECT)
