"""In the record of a step waiting stands apart from working: for a thread, and for a connection."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest

import stretto
from stretto.components.threads import Threads
from stretto.engine.hedge import copies_of
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


class TestOfAnAttemptThatFailed:
    """A thread is held until the call behind it waits, and for 30 ms more; then that call fails, soon or never."""

    async def tried(
        self, workflow_of: WorkflowOf, monkeypatch: pytest.MonkeyPatch, ends: Any, text: str = ONE
    ) -> StepRecord:
        pool, gate, entered = Threads(1), threading.Event(), threading.Event()
        monkeypatch.setattr("stretto.components.threads.THREADS", pool)

        def hold() -> None:
            entered.set()
            assert gate.wait(10)

        @stretto.component(effects="pure")
        def a(prompt: str) -> Any:
            return ends(prompt)

        holder = asyncio.ensure_future(pool.run("other", hold))
        await asyncio.to_thread(entered.wait, 10)
        async with workflow_of(text, a) as workflow:
            run = asyncio.ensure_future(workflow.run({}))
            while pool.queued == 0:  # noqa: ASYNC110  # the pool tells nobody
                await asyncio.sleep(0)
            asyncio.get_running_loop().call_later(0.03, gate.set)
            step = (await run).steps[0]
        await holder
        return step

    def says(self, step: StepRecord, code: str) -> None:
        (tried,) = step.attempts
        assert tried.error is not None
        assert tried.error.rpc_code == code
        assert tried.queue_ms >= 29.0
        assert tried.queue_ms + tried.service_ms == pytest.approx(whole(step), abs=5.0)
        assert step.queue_ms == tried.queue_ms

    async def test_by_an_exception(self, workflow_of: WorkflowOf, monkeypatch: pytest.MonkeyPatch) -> None:
        def ends(prompt: str) -> None:
            raise KeyError(prompt)

        step = await self.tried(workflow_of, monkeypatch, ends)
        self.says(step, "internal")
        assert step.attempts[0].service_ms < 20.0

    async def test_by_an_error_of_its_own(self, workflow_of: WorkflowOf, monkeypatch: pytest.MonkeyPatch) -> None:
        always = stretto.ComponentError("no", stretto.Code.NOT_FOUND)

        def ends(prompt: str) -> None:
            raise always

        for _ in range(2):  # the same object, which must not add the waits up
            step = await self.tried(workflow_of, monkeypatch, ends)
            self.says(step, "not_found")
            assert step.attempts[0].queue_ms < 59.0

    async def test_by_the_deadline_while_it_was_worked_on(
        self, workflow_of: WorkflowOf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gate = threading.Event()
        text = ONE.replace("component: a,", "component: a, resilience: {timeout: 200ms},")
        step = await self.tried(workflow_of, monkeypatch, lambda _: gate.wait(10), text)
        gate.set()
        self.says(step, "deadline_exceeded")
        assert step.attempts[0].service_ms >= 100.0
        assert step.reason is stretto.Reason.TIMEOUT

    async def test_by_the_deadline_most_of_which_it_waited(
        self, workflow_of: WorkflowOf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gate = threading.Event()
        text = ONE.replace("component: a,", "component: a, resilience: {timeout: 40ms},")
        step = await self.tried(workflow_of, monkeypatch, lambda _: gate.wait(10), text)
        gate.set()
        self.says(step, "deadline_exceeded")
        assert step.reason is stretto.Reason.CONGESTION

    async def test_by_an_answer_that_breaks_its_schema(
        self, workflow_of: WorkflowOf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        step = await self.tried(workflow_of, monkeypatch, lambda _: stretto.Response(output=7))
        self.says(step, "failed_precondition")

    async def test_and_of_one_that_answered_with_a_response(
        self, workflow_of: WorkflowOf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        step = await self.tried(workflow_of, monkeypatch, lambda _: stretto.Response(output={}, queue_ms=2.0), ONE)
        assert step.queue_ms >= 31.0


async def test_of_a_run_that_was_cancelled_meanwhile(workflow_of: WorkflowOf, monkeypatch: pytest.MonkeyPatch) -> None:
    pool, gate, entered = Threads(1), threading.Event(), threading.Event()
    monkeypatch.setattr("stretto.components.threads.THREADS", pool)

    def hold() -> None:
        entered.set()
        assert gate.wait(10)

    @stretto.component(effects="pure")
    def a(prompt: str) -> dict[str, str]:
        raise AssertionError(prompt)

    holder = asyncio.ensure_future(pool.run("other", hold))
    await asyncio.to_thread(entered.wait, 10)
    async with workflow_of(ONE, a) as workflow:
        run = asyncio.ensure_future(workflow.run({}))
        while pool.queued == 0:  # noqa: ASYNC110  # the pool tells nobody
            await asyncio.sleep(0)
        await asyncio.wait({run}, timeout=0.02)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
    gate.set()
    await holder
    (step,) = next(iter(workflow.store.runs())).steps
    assert step.reason is stretto.Reason.CANCELLED
    assert step.queue_ms >= 15.0


async def test_as_a_component_tells_of_its_own_queue(workflow_of: WorkflowOf) -> None:
    @stretto.component(effects="pure")
    async def a(prompt: str) -> dict[str, str]:
        raise stretto.ComponentError("full", stretto.Code.RESOURCE_EXHAUSTED, queue_ms=7.5)

    async with workflow_of(ONE, a) as workflow:
        step = (await workflow.run({})).steps[0]
    assert (step.queue_ms, step.attempts[0].queue_ms, step.attempts[0].service_ms) == (7.5, 7.5, 0.0)


@pytest.mark.parametrize("told", [float("nan"), float("inf"), -1.0, "long", None])
async def test_not_as_a_component_tells_what_cannot_be(workflow_of: WorkflowOf, told: Any) -> None:
    @stretto.component(effects="pure")
    async def a(prompt: str) -> dict[str, str]:
        error = stretto.ComponentError("full", stretto.Code.RESOURCE_EXHAUSTED)
        error.queue_ms = told
        raise error

    async with workflow_of(ONE, a) as workflow:
        step = (await workflow.run({})).steps[0]
    assert (step.status, step.queue_ms) == (stretto.StepStatus.FAILED, 0.0)
    with pytest.raises(stretto.UsageError, match=r"queue_ms=.*; expected milliseconds, 0 or more"):
        stretto.ComponentError("full", queue_ms=told)


@pytest.mark.parametrize("told", [float("nan"), -1.0, "long", None])
async def test_not_as_a_plain_function_tells_what_cannot_be(workflow_of: WorkflowOf, told: Any) -> None:
    """Its wait for a thread is added to that."""

    @stretto.component(effects="pure")
    def a(prompt: str) -> dict[str, str]:
        error = stretto.ComponentError("full", stretto.Code.RESOURCE_EXHAUSTED)
        error.queue_ms = told
        raise error

    async with workflow_of(ONE, a) as workflow:
        step = (await workflow.run({})).steps[0]
    assert step.error is not None
    assert (step.error.message, step.error.rpc_code) == ("full", "resource_exhausted")
    assert 0.0 <= step.queue_ms <= whole(step)


async def test_once_of_an_error_that_a_copy_raised_and_that_is_raised_again(workflow_of: WorkflowOf) -> None:
    again = stretto.ComponentError("full", stretto.Code.INTERNAL)
    asked = []

    @stretto.component(effects="pure")
    async def a(prompt: str) -> dict[str, str]:
        asked.append(prompt)
        if len(asked) == 1:
            await asyncio.sleep(0.02)
            return {"prompt": prompt}
        again.add_wait(5.0)
        raise again

    async with workflow_of(ONE.replace("}}]", "}, resilience: {hedge: {after: 1ms}}}]"), a) as workflow:
        assert copies_of((await workflow.run({})).steps[0]) == 1
        (tried,) = (await workflow.run({})).steps[0].attempts
    assert tried.queue_ms == 5.0


class TestOfAWrite:
    """What surely never began is not in doubt; what began is, whatever a call inside it waits for."""

    async def settled(self, workflow_of: WorkflowOf, pool: Threads, *components: Any, is_late: bool) -> list[str]:
        """The paths in doubt after a run of the write `a`, for which no thread comes free."""
        gate, entered = threading.Event(), threading.Event()

        def hold() -> None:
            entered.set()
            assert gate.wait(10)

        text = ONE.replace(
            "}}]", "}, resilience: {timeout: 300ms, retry: {attempts: 2, base: 1ms}}}]\ndurability: step"
        )
        if not is_late:
            text = text.replace("300ms", "30s")
        async with workflow_of(text, *components) as workflow:
            holder = asyncio.ensure_future(pool.run("holder", hold))
            await asyncio.to_thread(entered.wait, 10)
            run = asyncio.ensure_future(workflow.run({}))
            while pool.queued == 0 and not run.done():  # noqa: ASYNC110  # the pool tells nobody
                await asyncio.sleep(0)
            if not is_late:
                run.cancel()
            await asyncio.wait({run})
            gate.set()
            await holder
            return [effect.path for effect in workflow.store.in_doubt()]

    @pytest.mark.parametrize("is_late", [True, False])
    async def test_that_waits_for_a_thread(
        self, workflow_of: WorkflowOf, monkeypatch: pytest.MonkeyPatch, is_late: bool
    ) -> None:
        monkeypatch.setattr("stretto.components.threads.THREADS", pool := Threads(1))

        @stretto.component(effects="write")
        def a(prompt: str) -> dict[str, str]:
            raise AssertionError(prompt)

        assert await self.settled(workflow_of, pool, a, is_late=is_late) == []

    @pytest.mark.parametrize("is_late", [True, False])
    @pytest.mark.parametrize("by_itself", [True, False])
    async def test_inside_which_a_call_waits_for_a_thread(
        self, workflow_of: WorkflowOf, monkeypatch: pytest.MonkeyPatch, is_late: bool, by_itself: bool
    ) -> None:
        monkeypatch.setattr("stretto.components.threads.THREADS", pool := Threads(1))
        sent = []

        @stretto.component(effects="pure")
        def look() -> dict[str, str]:
            raise AssertionError

        @stretto.component("a", effects="write")
        async def through_the_engine(prompt: str, context: stretto.Context) -> dict[str, str]:
            sent.append(prompt)
            await context.call("look")
            raise AssertionError

        @stretto.component("a", effects="write")
        async def alone(prompt: str) -> dict[str, str]:
            sent.append(prompt)
            await pool.run("look", look)
            raise AssertionError

        write = alone if by_itself else through_the_engine
        assert await self.settled(workflow_of, pool, write, look, is_late=is_late) == ["a"]
        assert sent == ["hi"]


async def second_of_two(
    workflow_of: WorkflowOf, server: StandIn, second_text: str = ONE, hold_s: float = 0.03
) -> StepRecord:
    """The step whose request waited for the only connection while the server held another for so long."""
    server.gate.clear()
    model: Any = stretto.OpenAiModel("a", model="small", base_url=server.base_url, max_connections=1)
    async with workflow_of(ONE, model) as one, workflow_of(second_text, model) as two:
        first = asyncio.ensure_future(one.run({}))
        await server.arrived.wait()
        second = asyncio.ensure_future(two.run({}))
        while not model._connections._pool._free._waiters:  # noqa: ASYNC110  # it tells nobody
            await asyncio.sleep(0)
        asyncio.get_running_loop().call_later(hold_s, server.gate.set)
        await first
        return (await second).steps[0]


async def test_for_a_connection_to_a_model_server_that_refused(workflow_of: WorkflowOf, server: StandIn) -> None:
    server.reply()
    server.reply({"error": {"message": "no such model"}}, status=404)
    step = await second_of_two(workflow_of, server)
    (tried,) = step.attempts
    assert (step.error and step.error.rpc_code, step.queue_ms) == ("not_found", tried.queue_ms)
    assert tried.queue_ms >= 25.0
    assert tried.service_ms < 25.0


async def test_for_a_connection_that_never_came(workflow_of: WorkflowOf, server: StandIn) -> None:
    server.reply()
    text = ONE.replace("component: a,", "component: a, resilience: {timeout: 40ms},")
    step = await second_of_two(workflow_of, server, text, hold_s=0.1)
    (tried,) = step.attempts
    assert tried.error is not None
    assert tried.error.code == "component.shed"
    assert "for a connection, until its deadline, and was not asked: all 1 are in use" in tried.error.message
    assert step.reason is stretto.Reason.CONGESTION
    assert tried.queue_ms >= 35.0
    assert tried.service_ms < 10.0
    assert len(server.asked) == 1


async def test_for_a_connection_to_a_model_server(workflow_of: WorkflowOf, server: StandIn) -> None:
    server.reply()
    server.gate.clear()
    model: Any = stretto.OpenAiModel("a", model="small", base_url=server.base_url, max_connections=1)

    async def until() -> None:
        await server.arrived.wait()
        while not model._connections._pool._free._waiters:  # noqa: ASYNC110  # it tells nobody
            await asyncio.sleep(0)
        server.gate.set()

    first, second = await two(workflow_of(ONE, model), until)
    assert first.queue_ms == 0.0
    assert second.queue_ms > 0.0
    assert second.queue_ms + second.service_ms == pytest.approx(whole(second), abs=0.01)
