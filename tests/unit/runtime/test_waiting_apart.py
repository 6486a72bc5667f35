"""In the record of a step waiting stands apart from working: for a thread, and for a connection."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest

import stretto
from stretto.components.threads import Threads
from stretto.record.model import StepRecord
from tests.unit.components.openai.standin import StandIn
from tests.unit.runtime.conftest import WorkflowOf

ONE = """
stretto: 1
name: one
steps: [{name: a, component: a, input_mapping: {prompt: "'hi'"}}]
"""


@pytest.fixture
async def server() -> AsyncIterator[StandIn]:
    standing = StandIn()
    await standing.start()
    yield standing
    await standing.stop()


def whole(step: StepRecord) -> float:
    return step.ended_ms - step.started_ms


async def two(workflow: stretto.Workflow, until: Any) -> list[StepRecord]:
    """The steps of two runs at once, of which one waits until `until` lets the other go on."""
    async with workflow:
        runs = [asyncio.ensure_future(workflow.run({})) for _ in range(2)]
        await until()
        return sorted([(await run).steps[0] for run in runs], key=lambda step: step.queue_ms)


async def test_for_a_thread_of_a_pool_that_is_full(workflow_of: WorkflowOf, monkeypatch: pytest.MonkeyPatch) -> None:
    pool, gate, entered = Threads(1), threading.Event(), threading.Event()
    monkeypatch.setattr("stretto.components.threads.THREADS", pool)

    @stretto.component(effects="pure")
    def a(prompt: str) -> dict[str, str]:
        entered.set()
        assert gate.wait(10)
        return {"prompt": prompt}

    async def until() -> None:
        await asyncio.to_thread(entered.wait, 10)
        while pool.queued == 0:  # noqa: ASYNC110  # the pool tells nobody
            await asyncio.sleep(0)
        assert (pool.busy, pool.queued) == (1, 1)
        gate.set()

    first, second = await two(workflow_of(ONE, a), until)
    assert second.queue_ms > first.queue_ms
    assert second.queue_ms + second.service_ms == pytest.approx(whole(second), abs=0.01)
    assert (pool.busy, pool.queued) == (0, 0)


@pytest.mark.parametrize("effects", ["pure", "write"])
async def test_for_a_thread_that_never_came(
    workflow_of: WorkflowOf, monkeypatch: pytest.MonkeyPatch, effects: Literal["pure", "write"]
) -> None:
    """Nothing was done, a write neither: it is no time-out of the component's, and nothing is in doubt."""
    pool, gate, entered = Threads(1), threading.Event(), threading.Event()
    monkeypatch.setattr("stretto.components.threads.THREADS", pool)

    def hold() -> None:
        entered.set()
        assert gate.wait(10)

    @stretto.component(effects=effects)
    def a(prompt: str) -> dict[str, str]:
        raise AssertionError(prompt)

    holder = asyncio.ensure_future(pool.run("other", hold))
    await asyncio.to_thread(entered.wait, 10)
    text = ONE.replace("component: a,", "component: a, resilience: {timeout: 20ms},")
    async with workflow_of(text, a) as workflow:
        run = await workflow.run({})
    gate.set()
    await holder
    step = run.steps[0]
    assert (run.status, step.reason, step.error and step.error.code) == (
        stretto.RunStatus.FAILED,
        stretto.Reason.CONGESTION,
        "component.shed",
    )
    (tried,) = step.attempts
    assert tried.queue_ms >= 19.0
    assert tried.service_ms < 10.0
    assert step.queue_ms == tried.queue_ms


async def test_for_a_connection_to_a_model_server(workflow_of: WorkflowOf, server: StandIn) -> None:
    server.reply()
    server.gate.clear()
    model: Any = stretto.OpenAiModel("a", model="small", base_url=server.base_url, max_connections=1)

    async def until() -> None:
        await server.arrived.wait()
        while not model._pool._session.connector._waiters:  # noqa: ASYNC110  # the connector tells nobody
            await asyncio.sleep(0)
        server.gate.set()

    first, second = await two(workflow_of(ONE, model), until)
    assert first.queue_ms == 0.0
    assert second.queue_ms > 0.0
    assert second.queue_ms + second.service_ms == pytest.approx(whole(second), abs=0.01)
