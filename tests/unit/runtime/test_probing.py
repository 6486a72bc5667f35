"""A run that decides by `resources.*`: live, recorded with what each step saw, and replayed and resumed with that."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest
from aiohttp import web

import stretto
from stretto import Code, ComponentError, RunStatus, StepStatus, Workflow
from stretto.record.model import Run
from stretto.testing import run_virtual
from stretto.types.errors import UsageError
from tests.unit.runtime.conftest import WorkflowOf

CHOICE = """
stretto: 1
name: choice
resources:
  models: {planner: {url: "URL", engine: vllm, every: 100ms, timeout: 2s}}
  stale_after: 5s
steps:
  - {name: first, component: heavy, condition: "resources.gpu_queue_length <= 8"}
  - {name: first_light, component: light, condition: "resources.gpu_queue_length > 8"}
  - {name: wait, component: wait, needs: [first, first_light]}
  - {name: second, component: heavy, condition: "resources.gpu_queue_length <= 8", needs: [wait]}
  - {name: second_light, component: light, needs: [wait], condition: "resources.models.planner.queue_length > 8",
     input_mapping: {queue: resources.gpu_queue_length}}
output: {queue: resources.gpu_queue_length}
"""


class Server:
    """A model server whose queue the test sets."""

    def __init__(self) -> None:
        self.waiting = 0
        self.url = ""
        self.asked = asyncio.Event()

    async def metrics(self, _request: web.Request) -> web.Response:
        self.asked.set()
        return web.Response(
            text='# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{engine="0"} '
            f'{float(self.waiting)}\nvllm:num_requests_running{{engine="0"}} 4.0\n'
        )

    async def seen_twice(self) -> None:
        """After two more readings, of which the second surely began now or later, so that the first has been taken."""
        for _ in range(3):
            self.asked.clear()
            await self.asked.wait()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    app = web.Application()
    app.router.add_get("/metrics", made.metrics)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/metrics"
    yield made
    await runner.cleanup()


def statuses(run: Run) -> dict[str, StepStatus]:
    return {step.path: step.status for step in run.steps}


def seen(run: Run, path: str) -> Any:
    return next(step.evidence["resources"] for step in run.steps if step.path == path)


def choice(workflow_of: WorkflowOf, server: Server) -> Workflow:
    @stretto.component(effects="pure")
    async def heavy() -> dict[str, str]:
        return {"by": "heavy"}

    @stretto.component(effects="pure")
    async def light(queue: int | None = None) -> dict[str, Any]:
        return {"by": "light", "queue": queue}

    @stretto.component(effects="read")
    async def wait() -> dict[str, Any]:
        server.waiting = 20
        await server.seen_twice()
        return {}

    return workflow_of(CHOICE.replace("URL", server.url), heavy, light, wait)


async def test_a_planner_is_chosen_by_a_queue_that_grows_during_the_run_and_a_replay_chooses_alike(
    workflow_of: WorkflowOf, server: Server
) -> None:
    async with choice(workflow_of, server) as workflow:
        run = await workflow.run({})
        assert run.status is RunStatus.OK, run.error
        expected = {"first": "ok", "first_light": "skipped", "wait": "ok", "second": "skipped", "second_light": "ok"}
        assert statuses(run) == expected
        assert seen(run, "first") == {"gpu_queue_length": 0}
        assert seen(run, "first_light") == {"gpu_queue_length": 0}, "what a skipped step saw is told too"
        assert seen(run, "second") == {"gpu_queue_length": 20}
        assert seen(run, "second_light") == {"gpu_queue_length": 20, "models": {"planner": {"queue_length": 20}}}
        assert run.output_value == {"queue": 20}

        server.waiting = 3
        await server.seen_twice()
        kept = workflow.store.get(run.id)
        assert kept is not None
        again = await workflow.replay(kept)
        assert statuses(again) == expected
        assert seen(again, "second") == {"gpu_queue_length": 20}
        assert again.output_value == {"queue": 20}


async def test_a_step_that_a_replay_makes_anew_sees_what_the_run_saw_last(
    workflow_of: WorkflowOf, server: Server
) -> None:
    async with choice(workflow_of, server) as workflow:
        run = await workflow.run({})
        run.steps = [step for step in run.steps if step.path != "second_light"]
        server.waiting = 1
        await server.seen_twice()
        again = await workflow.replay(run)
        assert seen(again, "second_light")["gpu_queue_length"] == 20


async def test_what_the_caller_gives_wins(workflow_of: WorkflowOf, server: Server) -> None:
    async with choice(workflow_of, server) as workflow:
        run = await workflow.run({}, resources={"gpu_queue_length": 9})
        assert statuses(run)["first"] == "skipped"
        assert run.output_value == {"queue": 9}


async def test_what_no_step_can_read_is_refused(workflow_of: WorkflowOf, server: Server) -> None:
    async with choice(workflow_of, server) as workflow:
        with pytest.raises(UsageError, match=r"no step can read `resources.gpu_queue_lenght`.*'gpu_queue_length'"):
            await workflow.run({}, resources={"gpu_queue_lenght": 9})
        with pytest.raises(UsageError, match=r"no step can read `resources.stale`"):
            await workflow.run({}, resources={"stale": []})
        with pytest.raises(
            UsageError, match=r"gpu_queue_length is '9'; expected .* --resource gpu_queue_length:=NUMBER"
        ):
            await workflow.run({}, resources={"gpu_queue_length": "9"})
        with pytest.raises(
            UsageError, match=r"gpu_queue_length is -1; expected .* a whole number, 0 or more, or null$"
        ):
            await workflow.run({}, resources={"gpu_queue_length": -1})


async def test_a_server_that_is_gone_stops_nothing(workflow_of: WorkflowOf, server: Server) -> None:
    text = CHOICE.replace("URL", "http://127.0.0.1:9/metrics").replace(
        "stale_after", "assume: {gpu_queue_length: 0}\n  stale_after"
    )
    text = text.replace("resources.models.planner.queue_length > 8", "'gpu_queue_length' in resources.stale")

    @stretto.component(effects="pure")
    async def heavy() -> dict[str, str]:
        return {}

    @stretto.component(effects="pure")
    async def light(queue: int = 0) -> dict[str, Any]:
        return {}

    @stretto.component(effects="pure")
    async def wait() -> dict[str, Any]:
        return {}

    async with workflow_of(text, heavy, light, wait) as workflow:
        run = await workflow.run({})
        assert run.status is RunStatus.OK, run.error
        assert (statuses(run)["first"], statuses(run)["second_light"]) == ("ok", "ok")
        told: Any = await asyncio.wait_for(workflow.resources(), 10)
        assert "models.planner.queue_length" in told["stale"]


COUNTED = """
stretto: 1
name: counted
resources: {components: {every: 1s}, threads: {}}
steps:
  - {name: slow, component: slow-one, input_mapping: {s: input.s}}
  - name: after
    component: tell
    needs: [slow]
    input_mapping: {latency: resources.slow_one_latency_ms, flight: resources.slow_one_in_flight}
output: {latency: steps.after.latency, flight: steps.after.flight}
"""


def test_the_latency_of_a_component_is_that_of_its_last_calls_and_forgotten_after_a_minute(
    workflow_of: WorkflowOf,
) -> None:
    @stretto.component("slow-one", effects="read")
    async def slow(s: float) -> dict[str, Any]:
        await asyncio.sleep(s)
        return {}

    @stretto.component(effects="pure")
    async def tell(latency: float | None, flight: int | None) -> dict[str, Any]:
        return {"latency": latency, "flight": flight}

    async def main() -> None:
        async with workflow_of(COUNTED, slow, tell) as workflow:
            assert (await workflow.run({"s": 0.25})).output_value == {"latency": None, "flight": 0}
            await asyncio.sleep(1)
            assert (await workflow.run({"s": 0.25})).output_value == {"latency": 250.0, "flight": 0}
            long = asyncio.ensure_future(workflow.run({"s": 10}))
            await asyncio.sleep(2)
            seen = (await workflow.run({"s": 0})).output_value
            assert seen["latency"] == 250.0
            assert seen["flight"] >= 1
            await long
            await asyncio.sleep(70)
            seen = (await workflow.run({"s": 0})).output_value  # its own call may be in flight or not
            assert seen["latency"] is None

    run_virtual(main())


def test_code_that_is_not_async_sees_what_is_now_after_a_pause_in_which_no_loop_ran(workflow_of: WorkflowOf) -> None:
    text = """
    stretto: 1
    name: sync
    resources: {threads: {every: 100ms}}
    steps: [{name: a, component: a, input_mapping: {age: resources.age_ms.threads}}]
    output: {age: steps.a.age}
    """

    @stretto.component(effects="pure", inline=True)
    def a(age: float) -> dict[str, float]:
        return {"age": age}

    with workflow_of(text, a) as workflow:
        workflow.run_sync({})
        workflow._live.sources[0].taken -= 3600  # type: ignore[union-attr, operator]  # an hour passed
        assert workflow.run_sync({}).output_value["age"] < 3_000_000


WRITES = """
stretto: 1
name: writes
durability: step
resources: {given: [tariff], threads: {}}
steps:
  - name: pay
    component: pay
    condition: "resources.threads_busy >= 0"
    input_mapping: {load: resources.threads_busy}
output: {load: steps.pay.load}
"""


def test_a_write_that_was_sent_is_resumed_with_the_request_that_it_was_sent_with(workflow_of: WorkflowOf) -> None:
    asked: list[int] = []

    @stretto.component(effects="write", idempotent=True)
    async def pay(load: int) -> dict[str, int]:
        asked.append(load)
        if len(asked) == 1:
            raise ComponentError("connection lost", Code.UNAVAILABLE)
        return {"load": load}

    workflow = workflow_of(WRITES, pay)
    busy = count(3)

    async def main() -> tuple[Run, Run]:
        async with workflow:
            probe: Any = workflow._live.sources[0].probe  # type: ignore[union-attr]
            probe._ask = lambda: (next(busy), 0)
            run = await workflow.run({})
            await asyncio.sleep(3)
            return run, await workflow.resume(run.id)

    run, again = run_virtual(main())
    assert run.status is RunStatus.PARKED
    assert again.status is RunStatus.OK, again.error
    assert asked == [asked[0]] * 2, "what is live is another request, which its intent does not stand for"
    assert again.output_value == {"load": asked[0]}
    assert next(busy) > asked[0] + 3


def test_probes_belong_to_the_event_loop_in_which_they_are_open(workflow_of: WorkflowOf) -> None:
    text = "stretto: 1\nname: one\nresources: {threads: {}}\nsteps: [{name: a, component: a}]\n"

    @stretto.component(effects="pure", inline=True)
    def a() -> dict[str, Any]:
        return {}

    workflow = workflow_of(text, a)
    workflow.run_sync({})

    async def elsewhere() -> None:
        with pytest.raises(UsageError, match="another event loop"):
            await workflow.resources()

    asyncio.run(elsewhere())
    workflow.close()
