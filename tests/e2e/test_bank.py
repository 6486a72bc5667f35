"""The bank of examples/bank over real HTTP: its planner misbehaves, its core API changes its format and comes back."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

import stretto
from examples.bank.components import CORE_API
from examples.bank.core import CoreApi, Format
from examples.bank.demo import BALANCE, CRYPTO, INVEST, quickly
from stretto import Reason, Run, RunStatus

RULES = Path(__file__).parents[2] / "examples" / "bank" / "rules.json"

UTTERANCES = Path(__file__).parents[2].parent / "shared" / "data" / "nlupp_banking" / "nlupp.jsonl"
"""NLU++, banking: what real people said to a bank's assistant (CC BY 4.0)."""

FALLBACK = "fallback"
"""Path of the record of a workflow's fallback."""


@pytest.fixture
async def core(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[CoreApi]:
    api = CoreApi()
    monkeypatch.setenv(CORE_API, await api.start())
    yield api
    await api.stop()


@pytest.fixture
async def workflow(core: CoreApi, tmp_path: Path) -> AsyncIterator[stretto.Workflow]:
    """The example as it is, but for the time after which a workflow that failed is tried again."""
    loaded = stretto.load(quickly(tmp_path), store=tmp_path / "runs.db")
    yield loaded
    await loaded.aclose()


def answered(run: Run) -> tuple[RunStatus | None, Reason | None]:
    return run.status, run.reason


def rows(run: Run) -> Any:
    """Which rows answered, as the record of the fallback has them."""
    (step,) = [step for step in run.steps if step.path == FALLBACK]
    return [(row["table"], row["id"]) for row in json.loads(json.dumps(step.evidence["rows"]))]


async def test_a_product_off_the_white_list_is_a_breach_and_the_rules_recommend(workflow: stretto.Workflow) -> None:
    assert answered(await workflow.run(INVEST)) == (RunStatus.OK, None)
    run = await workflow.run(CRYPTO)
    assert answered(run) == (RunStatus.BUSINESS_FALLBACK, Reason.CONTRACT)
    assert run.output_value is not None
    assert run.output_value["product"] == "savings_plan"
    assert rows(run) == [("Card", "invest-low")]


async def test_when_the_core_api_is_down_a_card_and_a_number_answer(core: CoreApi, workflow: stretto.Workflow) -> None:
    core.format = Format.DOWN
    run = await workflow.run(BALANCE)
    assert run.status is RunStatus.BUSINESS_FALLBACK
    assert run.output_value is not None
    assert run.output_value["phone"] == "+1 555 0100"
    assert rows(run) == [("Card", "balance")]


async def test_the_day_the_core_api_changes_its_format(core: CoreApi, workflow: stretto.Workflow) -> None:
    assert (await workflow.run(BALANCE)).status is RunStatus.OK
    core.format = Format.RENAMED
    for _ in range(3):
        run = await workflow.run(BALANCE)
        assert answered(run) == (RunStatus.BUSINESS_FALLBACK, Reason.CONTRACT)
        assert run.error is not None
        assert '"balance" is a required property' in run.error.message
    asked = core.asked
    assert answered(await workflow.run(BALANCE)) == (RunStatus.BUSINESS_FALLBACK, Reason.BREAKER)
    assert core.asked == asked  # after three in a row it is left alone
    core.format = Format.AGREED
    for _ in range(1000):  # until it is time to try again
        if (run := await workflow.run(BALANCE)).status is RunStatus.OK:
            break
        await asyncio.sleep(0.02)
    assert (run.output_value or {})["text"] == "Your balance is 1,234.50."


@pytest.mark.slow
@pytest.mark.skipif(not UTTERANCES.is_file(), reason="the shared data are not beside this checkout")
async def test_whatever_real_customers_say_they_get_an_answer_within_the_white_list(
    workflow: stretto.Workflow,
) -> None:
    said = [json.loads(line)["text"] for line in UTTERANCES.read_text().splitlines()]
    said = [text for text in dict.fromkeys(said) if 0 < len(text) <= 500][:200]
    tempted = [f"{text} And crypto!"[:500] for text in said[:20]]
    runs = [await workflow.run({**INVEST, "question": text}) for text in (*said, *tempted)]
    assert {run.status for run in runs[: len(said)]} == {RunStatus.OK}
    assert {run.status for run in runs[len(said) :]} == {RunStatus.BUSINESS_FALLBACK}
    assert {(run.output_value or {})["product"] for run in runs} == {"bond_fund"}


def test_the_day_can_be_played_by_the_command_of_the_readme() -> None:
    command = [sys.executable, "-m", "examples.bank.demo"]
    played = subprocess.run(command, capture_output=True, text=True, cwd=RULES.parents[2], timeout=120, check=False)
    assert played.returncode == 0, played.stderr
    ends = [line.rsplit(":", 1)[1].strip() for line in played.stdout.splitlines() if not line.startswith(" ")]
    assert ends == [
        "ok",
        "business_fallback (contract)",
        "ok",
        *["business_fallback (contract)"] * 3,
        "business_fallback (breaker)",
        "ok",
    ]


@pytest.fixture
def served() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The example's rules in a process of their own, and its address."""
    command = [sys.executable, "-m", "stretto", "fallback", "serve", str(RULES), "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    yield process, told["url"]
    process.kill()
    process.communicate()


@pytest.mark.slow
async def test_rules_served_apart_answer_and_end_in_peace(served: tuple[subprocess.Popen[str], str]) -> None:
    process, url = served
    given = {"input": {"topic": "invest", "risk": "high"}}
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{url}/v1/decide", json=given) as response:
            body = await response.json()
        async with session.get(f"{url}/metrics") as response:
            figures = await response.text()
    assert body["output"]["product"] == "index_fund"
    assert "business_fallback_triggered_count 1.0" in figures
    process.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(process.wait, 60) == 0


@pytest.mark.slow
async def test_a_workflow_asks_the_served_rules_and_answers_itself_when_they_are_gone(
    served: tuple[subprocess.Popen[str], str], core: CoreApi, tmp_path: Path
) -> None:
    process, url = served
    copied = quickly(tmp_path)
    declared = f"file: rules.json, url: '{url}', served_timeout: 30s"
    copied.write_text(copied.read_text().replace("file: rules.json", declared))
    workflow = stretto.load(copied, store=tmp_path / "runs.db")
    try:
        first = await workflow.run(CRYPTO)
        process.kill()
        process.wait()
        second = await workflow.run(CRYPTO)
    finally:
        await workflow.aclose()
    by = [step.evidence["answered_by"] for run in (first, second) for step in run.steps if step.path == FALLBACK]
    assert by == ["served", "in_process"]
    assert first.output_value == second.output_value
