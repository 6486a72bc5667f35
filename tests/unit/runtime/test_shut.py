"""A component that does not open is done without where the fallbacks of the steps that call it answer."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import stretto
from stretto.record.model import Run
from stretto.runtime.workflow import Workflow
from stretto.testing import run_virtual
from stretto.types.enums import Reason, RunStatus, StepStatus
from stretto.types.errors import Code, ComponentError
from tests.unit.runtime.conftest import WorkflowOf

STEP = "{name: a, component: api, input_mapping: {n: input.n}, resilience: {timeout: 2s, FALLBACK}}"

WORKFLOW = f"""
stretto: 1
name: shop
steps:
  - {STEP}
output: {{n: steps.a.n}}
"""

FIXED = "fallback: {output: {n: 0}}"


async def refused() -> None:
    raise ConnectionError("refused")


async def at_once() -> None:
    return None


async def never() -> None:
    await asyncio.Event().wait()


class Api:
    """A component that opens as it is told to."""

    def __init__(self, opens: Callable[[], Awaitable[object]], name: str = "api", effects: Any = "read") -> None:
        self.opens = opens
        self.opened = self.closed = self.called = 0

        class Held:
            async def open(_) -> None:
                self.opened += 1
                await self.opens()

            async def close(_) -> None:
                self.closed += 1

            async def __call__(_, n: int) -> dict[str, int]:
                self.called += 1
                return {"n": n}

        self.component = stretto.component(name, effects=effects)(Held)


def text_of(fallback: str = FIXED, more: str = "") -> str:
    return WORKFLOW.replace("FALLBACK", fallback).replace("\noutput:", f"\n{more}output:", 1)


def shop(workflow_of: WorkflowOf, api: Api, *others: Any, text: str | None = None) -> Workflow:
    return workflow_of(text_of() if text is None else text, api.component, *others)


async def test_a_steps_fallback_answers_until_the_component_opens(
    workflow_of: WorkflowOf, caplog: pytest.LogCaptureFixture
) -> None:
    api = Api(refused)
    with caplog.at_level(logging.WARNING):
        async with shop(workflow_of, api) as workflow:
            run = await workflow.run({"n": 7})
            step = run.steps[0]
            assert (run.status, run.output_value) == (RunStatus.DEGRADED, {"n": 0})
            assert (step.status, step.reason) == (StepStatus.FALLBACK, Reason.ERROR)
            assert step.error is not None
            assert (step.error.code, step.error.rpc_code) == ("component.not_open", "unavailable")
            assert step.error.message.startswith(
                "component 'api' could not be opened: component 'api' raised ConnectionError: refused"
            )
            assert (api.opened, api.called) == (2, 0)
            api.opens = at_once
            for n in (8, 9):
                assert (await workflow.run({"n": n})).output_value == {"n": n}
    assert "component 'api' did not open: component 'api' raised ConnectionError: refused" in caplog.text
    assert "the fallbacks of its steps answer until it does" in caplog.text
    assert "component 'api' is open now" in caplog.text
    assert (api.opened, api.called, api.closed) == (3, 2, 1)


async def test_after_three_in_vain_none_tries_until_one_is_let_through(workflow_of: WorkflowOf) -> None:
    api = Api(refused)
    async with shop(workflow_of, api) as workflow:
        runs = [await workflow.run({"n": 7}) for _ in range(5)]
    assert [run.steps[0].reason for run in runs] == [Reason.ERROR] * 3 + [Reason.BREAKER] * 2
    assert api.opened == 1 + 3


def test_while_it_hangs_each_call_gives_up_in_its_own_time_and_closing_ends_it(workflow_of: WorkflowOf) -> None:
    api = Api(refused)
    workflow = shop(workflow_of, api)

    async def main() -> list[Run]:
        await workflow.run({"n": 7})
        api.opens = never
        runs = await asyncio.gather(*(workflow.run({"n": 7}) for _ in range(20)))
        await workflow.aclose()
        return runs

    runs = run_virtual(main())
    assert {run.status for run in runs} == {RunStatus.DEGRADED}
    assert {run.steps[0].reason for run in runs} == {Reason.TIMEOUT}
    assert {run.duration_ms for run in runs} == {2000.0}
    assert "did not open before, nor in the time that was left" in str(runs[0].steps[0].error)
    assert api.opened == 3  # two by the first run; the others waited for one another's


def test_an_opening_that_ignores_being_cancelled_keeps_nobody_from_closing(workflow_of: WorkflowOf) -> None:
    async def stubborn() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    api = Api(refused)
    workflow = shop(workflow_of, api)

    async def main() -> float:
        await workflow.run({"n": 7})
        api.opens = stubborn
        assert (await workflow.run({"n": 7})).status is RunStatus.DEGRADED
        began = asyncio.get_running_loop().time()
        await workflow.aclose()
        return asyncio.get_running_loop().time() - began

    assert run_virtual(main()) <= 2.0
    assert api.closed == 0


def test_a_call_that_waited_for_its_opening_is_made(workflow_of: WorkflowOf) -> None:
    async def slowly() -> None:
        await asyncio.sleep(1)

    api = Api(refused)
    workflow = shop(workflow_of, api)

    async def main() -> list[Run]:
        async with workflow:
            api.opens = slowly
            return list(await asyncio.gather(*(workflow.run({"n": n}) for n in range(5))))

    assert [run.output_value for run in run_virtual(main())] == [{"n": n} for n in range(5)]
    assert (api.opened, api.closed) == (2, 1)


async def test_a_write_was_not_sent(workflow_of: WorkflowOf) -> None:
    api = Api(refused, effects="write")
    async with shop(workflow_of, api, text="durability: step\n".join(("", text_of().lstrip()))) as workflow:
        run = await workflow.run({"n": 7})
        (effect,) = workflow.store.effects(run.id)
    assert (run.status, effect.refused, effect.in_doubt) == (RunStatus.DEGRADED, True, False)


async def test_a_write_in_doubt_is_asked_about_once_it_is_open(workflow_of: WorkflowOf) -> None:
    opens: list[Callable[[], Awaitable[object]]] = [at_once]

    @stretto.component("api", effects="write")
    class Pays:
        async def open(self) -> None:
            await opens[0]()

        async def __call__(self, n: int) -> dict[str, int]:
            raise ConnectionError("gone")

        async def confirm(self) -> dict[str, int] | None:
            if opens[0] is at_once and made:
                return {"n": 1}
            raise stretto.InDoubtError("nobody knows")

        async def close(self) -> None:
            return None

    made: list[int] = []
    text = text_of().replace("steps:", "durability: step\nsteps:", 1)
    workflow = workflow_of(text, Pays)
    async with workflow:
        parked = await workflow.run({"n": 7})
    assert parked.status is RunStatus.PARKED
    made.append(7)
    opens[0] = refused
    async with workflow:
        again = await workflow.resume(parked.id)
        assert again.status is RunStatus.PARKED
        assert "nobody can tell whether the write 'a' happened: component 'api' could not be opened" in str(again.error)
        opens[0] = at_once
        assert (await workflow.resume(parked.id)).output_value == {"n": 1}


@stretto.component("card", effects="pure")
async def card(n: int) -> dict[str, int]:
    return {"n": -n}


async def test_another_component_may_stand_in(workflow_of: WorkflowOf) -> None:
    async with shop(workflow_of, Api(refused), card, text=text_of("fallback: {component: card}")) as workflow:
        assert (await workflow.run({"n": 7})).output_value == {"n": -7}


BARE = STEP.replace(", FALLBACK", "").replace("name: a", "name: b")
INSIDE = f"""  - name: many
    for_each: input.many
    as: it
    steps:
      - {BARE}
"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text_of("retry: {attempts: 2}"), id="no fallback"),
        pytest.param(text_of(more=f"  - {BARE}\n"), id="a step without one beside"),
        pytest.param(text_of(more=INSIDE), id="a step without one inside another"),
    ],
)
async def test_where_nothing_stands_in_opening_fails(workflow_of: WorkflowOf, text: str) -> None:
    api = Api(refused)
    workflow = shop(workflow_of, api, text=text)
    for _ in range(2):
        with pytest.raises(ComponentError, match="'api' raised ConnectionError: refused"):
            await workflow.open()
    assert api.opened == 2


async def test_what_stands_in_must_open(workflow_of: WorkflowOf) -> None:
    second = Api(refused, "card")
    workflow = shop(workflow_of, Api(refused), second.component, text=text_of("fallback: {component: card}"))
    with pytest.raises(ComponentError, match="'card' raised ConnectionError"):
        await workflow.open()


async def test_a_mistake_of_the_declaration_is_told_at_once(workflow_of: WorkflowOf) -> None:
    async def mistaken() -> None:
        raise stretto.UsageError("it lists no such tool")

    with pytest.raises(stretto.UsageError, match="no such tool"):
        await shop(workflow_of, Api(mistaken)).open()


async def test_what_learns_is_told(workflow_of: WorkflowOf) -> None:
    with pytest.raises(ComponentError, match="refused"):
        await shop(workflow_of, Api(refused)).for_rollouts().run({"n": 1})


async def test_a_steps_fallback_answers_before_that_of_the_workflow(workflow_of: WorkflowOf) -> None:
    text = text_of().replace("steps:", "contract: {input: {n: int}}\nfallback: {component: card}\nsteps:", 1)
    async with shop(workflow_of, Api(refused), card, text=text) as workflow:
        run = await workflow.run({"n": 7})
    assert (run.status, run.output_value) == (RunStatus.DEGRADED, {"n": 0})


async def test_a_workflow_inside_another_does_without_too(workflow_of: WorkflowOf, tmp_path: Any) -> None:
    (tmp_path / "inner.yaml").write_text(text_of())
    outer = """
stretto: 1
steps: [{name: inside, workflow: inner.yaml, input_mapping: {n: input.n}}]
output: {n: steps.inside.n}
"""
    async with shop(workflow_of, Api(refused), text=outer) as workflow:
        assert (await workflow.run({"n": 7})).output_value == {"n": 0}


async def test_what_another_component_calls_fails_there(workflow_of: WorkflowOf) -> None:
    @stretto.component("asks", effects="read")
    async def asks(n: int, context: stretto.Context) -> dict[str, Any]:
        try:
            return {"said": dict(await context.call("api", n=n))}
        except ComponentError as error:
            return {"said": error.rpc_code}

    more = "  - {name: c, component: asks, input_mapping: {n: input.n}}\n"
    text = text_of(more=more).replace("{n: steps.a.n}", "{n: steps.a.n, said: steps.c.said}")
    async with shop(workflow_of, Api(refused), asks, text=text) as workflow:
        run = await workflow.run({"n": 7})
    assert run.output_value == {"n": 0, "said": Code.UNAVAILABLE}


def test_the_next_event_loop_tries_anew(workflow_of: WorkflowOf) -> None:
    api = Api(refused)
    workflow = shop(workflow_of, api)
    assert asyncio.run(workflow.run({"n": 7})).status is RunStatus.DEGRADED
    api.opens = at_once
    assert asyncio.run(workflow.run({"n": 7})).status is RunStatus.OK
    assert api.opened == 3
    workflow.close()
