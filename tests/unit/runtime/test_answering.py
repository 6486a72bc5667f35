"""A workflow with a fallback serves also while a component does not open, and while every thread is held."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import stretto
from stretto.components.threads import Threads
from stretto.record.model import Run
from stretto.runtime.workflow import Workflow
from stretto.testing import run_virtual
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import Code, ComponentError

WORKFLOW = """
stretto: 1
name: bank
contract: {input: {n: int}, output: {n: int}}
budget: {deadline: 2s}
fallback: {component: rules, retry_after: 60s}
components: components.py
steps: [{name: planner, component: planner, input_mapping: {n: "input.n"}}]
output: {n: "steps.planner.n"}
"""

PLACEHOLDERS = """
import stretto

@stretto.component(effects="pure")
async def planner(n: int) -> dict[str, int]:
    return {"n": n}

@stretto.component(effects="pure")
async def rules(n: int) -> dict[str, int]:
    return {"n": n}
"""

Opens = Callable[[], Awaitable[object]]


async def refused() -> None:
    raise ConnectionError("refused")


async def at_once() -> None:
    return None


async def never() -> None:
    await asyncio.Event().wait()


class Holding:
    """What a component does that holds something; how it opens may change."""

    def __init__(self, opens: Opens) -> None:
        self.opens = opens
        self.opened = self.closed = 0

    def component(self, name: str, answer: int) -> Any:
        class Held:
            async def open(_) -> None:
                self.opened += 1
                await self.opens()

            async def close(_) -> None:
                self.closed += 1

            async def __call__(_, n: int) -> dict[str, int]:
                return {"n": answer}

        return stretto.component(name, effects="pure")(Held)


class Bank:
    """A workflow whose planner and rules are opened as they are told to."""

    def __init__(self, folder: Path, planner: Opens, rules: Opens = at_once) -> None:
        self.planner, self.rules = Holding(planner), Holding(rules)
        (folder / "workflow.yaml").write_text(WORKFLOW)
        (folder / "components.py").write_text(PLACEHOLDERS)
        workflow = stretto.load(folder / "workflow.yaml", store=folder / "runs.db")
        workflow = workflow.with_component(self.planner.component("planner", 1))
        self.workflow: Workflow = workflow.with_component(self.rules.component("rules", 0))

    async def run(self) -> Run:
        return await self.workflow.run({"n": 1})


async def test_what_does_not_open_is_answered_for_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bank = Bank(tmp_path, refused)
    with caplog.at_level(logging.WARNING):
        async with bank.workflow:
            run = await bank.run()
            assert (run.status, run.reason) == (RunStatus.BUSINESS_FALLBACK, Reason.ERROR)
            assert run.error is not None
            assert run.error.message.startswith("not everything could be opened: component 'planner' raised Connection")
            bank.planner.opens = at_once
            assert (await bank.run()).status is RunStatus.OK
            assert (await bank.run()).status is RunStatus.OK
    assert "workflow 'bank' did not open: component 'planner' raised ConnectionError: refused" in caplog.text
    assert (bank.planner.opened, bank.planner.closed) == (3, 1)
    assert (bank.rules.opened, bank.rules.closed) == (1, 1)


async def not_installed() -> None:
    raise ComponentError("the server is not installed", Code.FAILED_PRECONDITION)


@pytest.mark.parametrize("opens", [refused, not_installed])
async def test_after_three_in_vain_none_tries_until_one_is_let_through(tmp_path: Path, opens: Opens) -> None:
    bank = Bank(tmp_path, opens)
    async with bank.workflow:
        runs = [await bank.run() for _ in range(5)]
    assert [run.reason for run in runs] == [Reason.ERROR] * 3 + [Reason.BREAKER] * 2
    assert bank.planner.opened == 1 + 3


async def test_a_fallback_that_does_not_open_is_told_at_once(tmp_path: Path) -> None:
    bank = Bank(tmp_path, at_once, rules=refused)
    with pytest.raises(ComponentError, match="'rules' raised ConnectionError"):
        await bank.workflow.open()


async def test_what_learns_is_told_of_a_component_that_does_not_open(tmp_path: Path) -> None:
    bank = Bank(tmp_path, refused)
    with pytest.raises(ComponentError, match="refused"):
        await bank.workflow.for_rollouts().run({"n": 1})


async def test_the_fallback_can_be_exercised_meanwhile(tmp_path: Path) -> None:
    bank = Bank(tmp_path, refused)
    async with bank.workflow:
        (found,) = await bank.workflow.exercise_fallback([await bank.run()])
    assert found.held


def test_while_it_hangs_every_run_answers_in_its_own_time_and_closing_ends_it(tmp_path: Path) -> None:
    bank = Bank(tmp_path, refused)

    async def main() -> list[Run]:
        await bank.run()
        bank.planner.opens = never
        runs = await asyncio.gather(*(bank.run() for _ in range(20)))
        await bank.workflow.aclose()
        return runs

    runs = run_virtual(main())
    assert {(run.status, run.reason) for run in runs} == {(RunStatus.BUSINESS_FALLBACK, Reason.BUDGET)}
    assert all(run.duration_ms == pytest.approx(1800.0) for run in runs)
    assert bank.planner.opened == 3  # two by the first run; the others wait for one another's


def test_an_opening_that_ignores_being_cancelled_keeps_nobody_from_closing(tmp_path: Path) -> None:
    async def stubborn() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    bank = Bank(tmp_path, refused)

    async def main() -> float:
        await bank.run()
        bank.planner.opens = stubborn
        await bank.run()
        began = asyncio.get_running_loop().time()
        await bank.workflow.aclose()
        return asyncio.get_running_loop().time() - began

    assert run_virtual(main()) <= 2.0


def test_the_first_run_waits_for_what_takes_long_to_open(tmp_path: Path) -> None:
    async def slowly() -> None:
        await asyncio.sleep(30)

    bank = Bank(tmp_path, slowly)
    assert run_virtual(bank.run()).status is RunStatus.OK


async def test_rules_in_a_thread_answer_while_others_hold_every_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stretto.components.threads.THREADS", Threads(1))
    gate = threading.Event()

    @stretto.component(effects="read")
    def planner(n: int) -> dict[str, int]:
        assert gate.wait(10)
        return {"n": n}

    @stretto.component(effects="pure")
    def rules(n: int) -> dict[str, int]:
        return {"n": 0}

    bank = Bank(tmp_path, at_once)
    workflow = bank.workflow.with_component(planner).with_component(rules)
    budget = stretto.BudgetSpec(deadline=timedelta(seconds=0.3), reserve=timedelta(seconds=0.2))
    async with workflow:
        runs = [await workflow.run({"n": 1}, budget=budget) for _ in range(2)]
        gate.set()
    assert {run.status for run in runs} == {RunStatus.BUSINESS_FALLBACK}
