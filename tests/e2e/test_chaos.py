"""Chaos on real servers: every fault there is, nothing lost, and no write made twice."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stretto.record.model import Run
from stretto.spec.chaos import load_chaos
from stretto.spec.chaos_model import FaultKind
from stretto.store.sqlite import Store
from stretto.types.enums import Effect, StepStatus

RETAIL = Path(__file__).parents[2] / "examples" / "retail"
STRETTO = Path(sys.executable).with_name("stretto")

WRITES = {
    "cancel_pending_order",
    "exchange_delivered_order_items",
    "modify_pending_order_address",
    "modify_pending_order_items",
    "modify_pending_order_payment",
    "modify_user_address",
    "return_delivered_order_items",
}
"""Tools of the shop that change its database."""

pytestmark = pytest.mark.slow


def chaos(folder: Path, *arguments: str) -> tuple[int, Any]:
    """The exit code, and the report."""
    done = subprocess.run(
        [STRETTO, "chaos", *arguments, "--json", "--store", folder / "chaos.db"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    return done.returncode, json.loads(done.stdout or done.stderr)


@pytest.mark.ci
def test_every_fault_on_the_real_shop_loses_nothing_and_writes_nothing_twice(tmp_path: Path) -> None:
    code, report = chaos(tmp_path, str(RETAIL / "workflow.yaml"), "--runs", "30", "--concurrency", "4")
    assert code == 0, report["expectations"]
    assert report["runs"] == 30 == sum(report["statuses"].values())
    assert (report["duplicated_effects"], report["lost_runs"]) == ([], [])
    assert report["writes"] > 10
    struck = Counter[str]()
    for row in report["faults"]:
        struck[row["fault"]] += row["injected"]
    assert set(struck) == set(FaultKind)
    assert all(struck.values()), struck
    assert report["mutation"]["mutants"] == 12
    with Store(tmp_path / "chaos.db") as store:
        logged = [writes_of(run) for run in store.runs(purpose="chaos")]
    assert sum(in_log for in_log, _ in logged) > 10
    assert all(in_log <= steps for in_log, steps in logged), "the server's own log: no step wrote twice"


def writes_of(run: Run) -> tuple[int, int]:
    """Writes in the server's own log of calls, as the run's last step read it, and steps of the run that write."""
    answers = [step.output_value for step in run.steps if step.path == "log" and step.status is StepStatus.OK]
    calls = answers[0]["result"]["calls"] if answers else []
    made = sum(call["tau2_tool_call"]["name"] in WRITES for call in calls)
    return made, sum(step.effect is Effect.WRITE for step in run.steps)


def test_the_retail_plan_names_every_fault() -> None:
    assert {fault.fault for fault in load_chaos(RETAIL / "chaos.yaml").faults} == set(FaultKind)


def test_a_shop_that_is_lost_for_good_does_not_meet_the_expectation(tmp_path: Path) -> None:
    plan = tmp_path / "lost.yaml"
    faults = "faults: [{component: shop, fault: loss, rate: 1}]\nexpect: {min_answered_rate: 0.5}"
    words = json.dumps("You are Yusuf Rossi in zip 19122. You want to cancel order #W6247578.")
    plan.write_text(f"stretto: 1\nmutants: 0\ninputs: {{words: {words}}}\n{faults}\n")
    code, report = chaos(tmp_path, str(RETAIL / "workflow.yaml"), "--plan", str(plan), "--runs", "4")
    assert code == 1
    (answered,) = [each for each in report["expectations"] if each["name"] == "min_answered_rate"]
    assert not answered["met"]
    assert (report["lost_runs"], report["writes"]) == ([], 0)


WORKFLOW = """
stretto: 1
name: slow
steps: [{name: work, component: work}]
"""
COMPONENTS = """
import asyncio
from pathlib import Path
from stretto import component

@component("work", effects="pure")
async def work() -> dict[str, bool]:
    with open("begun", "a") as begun:
        begun.write("x")
    await asyncio.sleep(0.05)
    return {"done": True}
"""
PLAN = "stretto: 1\nmutants: 0\ninputs: {}\nfaults: [{component: work, fault: jitter, delay: 5ms, rate: 0.5}]\n"


def test_ctrl_c_gives_the_report_of_the_runs_that_were_made(tmp_path: Path) -> None:
    for name, text in (("workflow.yaml", WORKFLOW), ("components.py", COMPONENTS), ("chaos.yaml", PLAN)):
        (tmp_path / name).write_text(text)
    with subprocess.Popen(
        [STRETTO, "chaos", "--runs", "5000", "--concurrency", "2", "--json", "--store", "chaos.db"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        begun = tmp_path / "begun"
        while process.poll() is None and not (begun.exists() and begun.stat().st_size > 10):
            os.sched_yield()
        process.send_signal(signal.SIGINT)
        told, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    report = json.loads(told)
    assert report["stopped"]
    assert 4 <= report["runs"] < 5000
    assert report["lost_runs"] == []
