"""Whole trials: nothing is written twice or lost, whatever strikes; and when it is, that is told."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stretto.chaos.experiment import Experiment
from stretto.chaos.lapse import LapsingLoop
from stretto.chaos.ledger import Injection
from stretto.chaos.report import ChaosReport
from stretto.runtime.workflow import Workflow
from stretto.spec.chaos import parse_chaos
from stretto.store.sqlite import Store
from stretto.types.errors import SpecError, UsageError
from tests.unit.chaos.conftest import GIVEN, WORKFLOW, Experimenting, World, made, workflow_of

ON_A_WRITE = [
    "fault: latency, delay: 2s",
    "fault: latency, delay: 2s, when: after",
    "fault: jitter, delay: 2s",
    "fault: error, code: unavailable",
    "fault: error, code: unavailable, when: after",
    "fault: error, code: deadline_exceeded, when: after",
    "fault: hang",
    "fault: hang, when: after",
    "fault: reset",
    "fault: reset, when: before",
    "fault: slow_body, delay: 2s",
    "fault: truncated_body",
    "fault: garbage",
    "fault: wrong_type",
    "fault: missing_field",
    "fault: wrong_value",
    "fault: duplicate",
    "fault: loss, for: 100ms",
    "fault: clock_skew, ahead: 2s",
    "fault: full_queue, retry_after: 10ms",
]


@pytest.mark.parametrize("fault", ON_A_WRITE)
def test_no_fault_makes_a_write_happen_twice_or_a_run_get_lost(
    fault: str, experiment: Experimenting, world: World
) -> None:
    report = made(experiment(f"{{component: executor, rate: 0.5, {fault}}}", runs=30, expect="mutants: 0"))
    (row,) = report.faults
    assert row.injected
    assert set(world.written.values()) == {1}
    assert report.writes == len(world.written)
    assert (report.duplicated_effects, report.lost_runs) == ((), ())
    assert sum(report.statuses.values()) == 30


def test_a_run_that_is_delivered_again_is_left_as_it_was(experiment: Experimenting, world: World) -> None:
    report = made(experiment("{component: executor, rate: 0.5, fault: duplicate}", expect="mutants: 0"))
    assert report.redelivered == report.faults[0].runs > 0
    assert report.statuses == {"ok": 40}
    assert set(world.written.values()) == {1}


def test_what_a_lying_confirm_leads_to_is_found_and_told(experiment: Experimenting, world: World) -> None:
    world.lies = True
    report = made(experiment("{component: executor, rate: 0.5, fault: reset}", expect="mutants: 0"))
    assert len(report.duplicated_effects) == sum(times > 1 for times in world.written.values()) > 0
    assert all(each.component == "executor" and each.times > 1 for each in report.duplicated_effects)
    assert not report.met


def test_a_run_that_hangs_without_a_time_out_is_cancelled_at_its_limit(experiment: Experimenting) -> None:
    report = made(experiment("{component: planner, rate: 1, fault: hang}", expect="run_limit: 1s\nmutants: 0", runs=3))
    assert report.statuses == {"cancelled": 3}
    assert report.answered == 0
    assert [broke.status for broke in report.broke] == ["cancelled"] * 3


def test_waits_of_hours_are_over_at_once(tmp_path: Path, world: World) -> None:
    text = "stretto: 1\nname: slow\nsteps: [{name: planner, component: planner, input_mapping: {query: input.query}}]\n"
    faults = "faults: [{component: planner, fault: latency, delay: 50m, rate: 1}]"
    chaos = parse_chaos(f"stretto: 1\nmutants: 0\nrun_limit: 1h\n{faults}")
    with Store(tmp_path / "slow.db") as store:
        report = made(Experiment(workflow_of(tmp_path, text, world.components, store), chaos, GIVEN, runs=40))
    assert report.statuses == {"ok": 40}
    assert report.latency_ms["p50"] >= 50 * 60 * 1000


def test_one_run_alone_is_struck_as_it_was_among_the_others(experiment: Experimenting) -> None:
    faults = (
        "{component: planner, rate: 0.3, fault: error, code: unavailable}, {step: executor, rate: 0.3, fault: reset}"
    )
    together = experiment(faults, expect="mutants: 0")
    made(together)
    by_run: dict[int, list[Injection]] = {}
    for injection in together.trial.harness.ledger.injections:
        by_run.setdefault(injection.run, []).append(injection)
    assert len(by_run) > 10
    for index in (*list(by_run)[:4], next(each for each in range(40) if each not in by_run)):
        alone = experiment(faults, only=index)
        assert made(alone).runs == 1
        assert alone.trial.harness.ledger.injections == by_run.get(index, [])


EVERYTHING = ", ".join(f"{{component: planner, rate: 0.015, {fault}}}" for fault in ON_A_WRITE if "loss" not in fault)
"""Few enough that the quota of tries, which all runs share, never runs out: when it does depends on time."""


def test_the_same_seed_tells_the_same_but_for_times_and_ids(experiment: Experimenting) -> None:
    one, other = (made(experiment(EVERYTHING, runs=60)) for _ in range(2))
    assert len(one.faults) > 15
    assert timeless(one) == timeless(other)


def timeless(report: ChaosReport) -> Any:
    """All of it but for times and the ids of runs."""
    return without(msgspec.json.decode(msgspec.json.encode(report)), {"latency_ms", "run"})


def without(told: Any, names: set[str]) -> Any:
    if isinstance(told, list):
        return [without(each, names) for each in told]
    if isinstance(told, dict):
        return {key: without(value, names) for key, value in told.items() if key not in names}
    return told


def test_two_entries_of_one_fault_are_told_apart(experiment: Experimenting) -> None:
    faults = ", ".join(f"{{component: executor, rate: 0.5, {fault}}}" for fault in ON_A_WRITE[3:6])
    report = made(experiment(f"{faults}, {{component: planner, fault: loss, rate: 1, for: 100ms}}", runs=20))
    assert [(row.number, row.fault, row.what) for row in report.faults] == [
        (0, "error", "error (code: unavailable)"),
        (1, "error", "error (when: after, code: unavailable)"),
        (2, "error", "error (when: after, code: deadline_exceeded)"),
        (3, "loss", "loss (for: 100ms)"),
    ]


def test_another_seed_strikes_others(experiment: Experimenting) -> None:
    one, other = (experiment("{component: planner, rate: 0.5, fault: reset}", seed=seed) for seed in (1, 2))
    made(one)
    made(other)
    assert one.trial.harness.ledger.injections != other.trial.harness.ledger.injections


def test_a_lost_component_is_away_until_it_is_back(experiment: Experimenting, world: World) -> None:
    report = made(experiment("{component: planner, rate: 1, fault: loss}", runs=10, expect="mutants: 0"))
    assert world.planned == 0
    assert report.statuses == {"degraded": 10}
    report = made(experiment("{component: planner, rate: 1, fault: loss, for: 0.01ms}", runs=10, expect="mutants: 0"))
    assert report.statuses == {"ok": 10}


def test_a_write_in_doubt_of_a_component_that_is_away_parks_the_run(experiment: Experimenting, world: World) -> None:
    faults = "{component: executor, rate: 1, fault: loss, after_calls: 1}, {component: executor, rate: 1, fault: reset}"
    report = made(experiment(faults, runs=10, expect="mutants: 0\nexpect: {max_parked_runs: 0}"))
    assert set(world.written.values()) == {1}
    assert report.duplicated_effects == ()
    assert report.statuses == {"ok": 5, "parked": 5}, "half of the inputs ask for a write"
    assert not report.met


def test_expectations_decide(experiment: Experimenting) -> None:
    report = made(
        experiment(
            "{component: executor, rate: 1, fault: full_queue}", expect="mutants: 0\nexpect: {min_answered_rate: 0.9}"
        )
    )
    found = {each.name: (each.found, each.met) for each in report.expectations}
    assert found == {
        "min_answered_rate": (0.5, False),
        "max_duplicated_effects": (0.0, True),
        "max_lost_runs": (0.0, True),
    }
    assert report.amplification == (40 + 20 * 3) / (40 + 20)  # half of the runs try a write, three times
    assert len(report.broke) == 20
    assert report.broke[0].struck_by == ("full_queue at executor",)


def test_a_trial_that_is_stopped_tells_of_the_runs_that_were_made(experiment: Experimenting, world: World) -> None:
    world.works_s = 0.01
    ended = asyncio.Semaphore(0)
    faults = "{component: executor, rate: 0.5, fault: reset}"
    stopped = experiment(faults, runs=1000, concurrency=2, on_run=ended.release)

    async def stop() -> None:
        going = asyncio.create_task(stopped.go())
        for _ in range(5):
            await ended.acquire()
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)

    with asyncio.Runner(loop_factory=LapsingLoop) as runner:
        runner.run(stop())
    report = stopped.report(stopped=True)
    assert report.stopped
    assert 5 <= report.runs < 1000
    assert report.lost_runs == ()


@pytest.mark.parametrize("options", [{"runs": 0}, {"concurrency": 0}, {"only": 40}])
def test_counts_out_of_range_are_refused(options: dict[str, int], experiment: Experimenting) -> None:
    with pytest.raises(UsageError):
        experiment("{component: planner, rate: 1, fault: reset}", **options)


def test_a_plan_for_another_workflow_is_refused_before_anything_is_run(experiment: Experimenting) -> None:
    with pytest.raises(SpecError, match="no component 'shop'"):
        experiment("{component: shop, rate: 1, fault: reset}")


def test_a_wrapped_workflow_has_the_same_manifest(workflow: Workflow, experiment: Experimenting) -> None:
    made_of: Experiment = experiment("{component: planner, rate: 1, fault: reset}")
    assert made_of.trial.workflow.plan.manifest == workflow.plan.manifest


def test_a_hedge_is_struck_on_its_own(tmp_path: Path, world: World) -> None:
    text = WORKFLOW.replace("timeout: 500ms\n", "timeout: 500ms\n      hedge: {after: 20ms}\n", 1)
    chaos = parse_chaos(
        "stretto: 1\nmutants: 0\nfaults: [{component: planner, fault: latency, delay: 400ms, rate: 0.1}]"
    )
    with Store(tmp_path / "runs.db") as store:
        workflow = workflow_of(tmp_path, text, world.components, store)
        experiment = Experiment(workflow, chaos, GIVEN, runs=100)
        assert made(experiment).statuses == {"ok": 100}
    ledger = experiment.trial.harness.ledger
    struck = Counter(injection.run for injection in ledger.injections)
    assert ledger.attempts["planner"] >= 100 + len(struck), "each that is late is hedged"
    assert len(struck) > 4 > sum(times > 1 for times in struck.values()), "most hedges are struck by nothing"
