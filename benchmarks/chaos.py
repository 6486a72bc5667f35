"""What faults at every component leave of a workflow with fallbacks, and what its contract catches of wrong values."""

import asyncio
import sys
from pathlib import Path
from typing import Any, Final

import stretto
from benchmarks.environment import ROOT
from stretto.chaos.experiment import Experiment
from stretto.chaos.lapse import LapsingLoop
from stretto.chaos.trial import Given
from stretto.spec.chaos import load_chaos

WORKFLOWS: Final = ROOT / "benchmarks" / "workflows"

ASKED: Final = {
    "please track my parcel": "ORDER_STATUS_QUERY",
    "cancel what I ordered": "ORDER_CANCEL",
    "I want a refund": "REFUND_CREATE",
}
"""What customers say, and what should be done."""

RUNS: Final = 500


def chaos(folder: Path, runs: int = RUNS) -> dict[str, float]:
    """`chaos_duplicated_effects`, by the count that the writing component keeps itself; `chaos_answered`, in time;
    `contract_mutation_score`. Runs an event loop of its own."""
    file = WORKFLOWS / "desk.yaml"
    workflow = stretto.load(file, store=folder / "chaos.db")
    given = [Given(input={"query": query}, reference=gold) for query, gold in ASKED.items()]
    plan = load_chaos(WORKFLOWS / "desk_chaos.yaml")
    experiment = Experiment(workflow, plan, given, runs=runs, concurrency=16)
    with asyncio.Runner(loop_factory=LapsingLoop) as runner:
        report = runner.run(experiment.go())
    score = None if report.mutation is None else report.mutation.score
    if score is None or report.lost_runs or not report.writes:
        raise RuntimeError(f"the trial says nothing: {report}")
    return {
        "chaos_duplicated_effects": float(_twice(workflow)),
        "chaos_answered": report.answered_rate,
        "contract_mutation_score": score,
    }


def _twice(workflow: stretto.Workflow) -> int:
    """Bookings that were made more than once, as the carrier counted them."""
    carrier: Any = workflow.component("carrier")
    booked = sys.modules[carrier.target.__module__].BOOKED
    if not booked:
        raise RuntimeError("the carrier has booked nothing")
    return sum(times > 1 for times in booked.values())
