"""A workflow is closed while runs are under way: they end first, within reason."""

import asyncio
import logging
from typing import Any

import pytest

import stretto
from stretto import Workflow
from stretto.record.model import Run
from stretto.runtime.under_way import WAIT_S
from stretto.testing import run_virtual
from tests.unit.runtime.conftest import WorkflowOf

TWO = """
stretto: 1
name: two
steps:
  - {name: slow, component: slow, input_mapping: {for_s: input.for_s}}
  - {name: held, component: held, needs: [slow]}
output: {ok: steps.held.ok}
fallback: {component: stand-in}
"""

WITHOUT = TWO.replace("fallback: {component: stand-in}", "")


def components(told: list[str]) -> tuple[Any, ...]:
    """One that takes its time, or for ever where it is told less than none; one that must be open when it is asked; and
    one that stands in for both."""

    @stretto.component("slow", effects="pure")
    async def slow(for_s: float) -> dict[str, bool]:
        await (asyncio.sleep(for_s) if for_s >= 0 else asyncio.Event().wait())
        return {"ok": True}

    @stretto.component("held", effects="pure")
    class Held:
        async def open(self) -> None:
            told.append("open")

        async def __call__(self) -> dict[str, bool]:
            told.append("asked")
            return {"ok": True}

        async def close(self) -> None:
            told.append("closed")

    @stretto.component("stand-in", effects="pure")
    async def stand_in() -> dict[str, bool]:
        return {"ok": False}

    return slow, Held, stand_in


@pytest.mark.parametrize("text", [TWO, WITHOUT])
@pytest.mark.parametrize("begun_s", [0.0, 1.0])
def test_what_a_run_calls_is_closed_when_the_run_has_ended(workflow_of: WorkflowOf, text: str, begun_s: float) -> None:
    told: list[str] = []

    async def main(workflow: Workflow) -> None:
        await workflow.run({"for_s": 0.0})  # the virtual clock does not wait for the thread that makes the store
        run = asyncio.ensure_future(workflow.run({"for_s": 5.0}))
        await asyncio.sleep(begun_s)
        await workflow.aclose()
        ended = await run
        assert ended.output_value == {"ok": True}, ended.error
        assert told == ["open", "asked", "asked", "closed"]

    run_virtual(main(workflow_of(text, *components(told)[: 3 if text is TWO else 2])))
    assert told == ["open", "asked", "asked", "closed"]


def test_many_runs_a_replay_and_a_second_closing_are_waited_for(workflow_of: WorkflowOf) -> None:
    told: list[str] = []

    async def main(workflow: Workflow) -> None:
        earlier = await workflow.run({"for_s": 0.0})
        many = asyncio.ensure_future(workflow.run_many([{"for_s": 2.0}, {"for_s": 4.0}], concurrency=1))
        again = asyncio.ensure_future(workflow.replay(earlier, run_input={"for_s": 3.0}))
        await asyncio.sleep(0)
        await asyncio.gather(workflow.aclose(), workflow.aclose())
        runs: list[Run] = [*await many, await again]
        assert [run.output_value for run in runs] == [{"ok": True}] * 3

    run_virtual(main(workflow_of(WITHOUT, *components(told)[:2])))
    # the replay answers with what was recorded, since nothing that `held` reads has changed
    assert told == ["open", *["asked"] * 3, "closed"]


def test_a_run_that_does_not_end_is_waited_for_so_long_and_told_of(
    workflow_of: WorkflowOf, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []

    async def main(workflow: Workflow) -> None:
        await workflow.run({"for_s": 0.0})
        run = asyncio.ensure_future(workflow.run({"for_s": -1.0}))
        await asyncio.sleep(1)
        now = asyncio.get_running_loop().time
        began = now()
        with caplog.at_level(logging.WARNING):
            await workflow.aclose()
        assert now() - began == pytest.approx(WAIT_S)
        assert told == ["open", "asked", "closed"]
        run.cancel()
        await asyncio.wait([run])
        await workflow.aclose()

    run_virtual(main(workflow_of(WITHOUT, *components(told)[:2])))
    assert "workflow 'two' is closed with 1 of its runs under way" in caplog.text
