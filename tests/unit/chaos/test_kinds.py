"""Faults strike whatever kind a component is of, and wherever it is called from."""

import itertools
from pathlib import Path
from typing import Any

import pytest

import stretto
from stretto.chaos.experiment import Experiment
from stretto.chaos.trial import Given
from stretto.plan.places import places_of
from stretto.spec.chaos import parse_chaos
from stretto.spec.chaos_model import FaultKind
from stretto.spec.fault_keys import USES
from stretto.store.sqlite import Store
from tests.unit.chaos.conftest import made, workflow_of

WORKFLOW = """
stretto: 1
name: all
budget: {deadline: 5s, reserve: 1s}
memory: memory
steps:
  - name: each
    for_each: "input.items"
    as: item
    max_parallel: 3
    on_item_error: null
    steps:
      - {name: ask, component: asks, input_mapping: {item: "item", recent: "memory.recent"}, resilience: {timeout: 1s}}
  - {name: kept, component: kept, needs: [each], resilience: {timeout: 1s, fallback: {component: spare}}}
  - {name: good, component: good, needs: [kept]}
output: {kept: "steps.kept.n"}
"""

NEEDED = {"delay": "20ms", "code": "unavailable", "ahead": "10ms"}


@stretto.component("asks", effects="read")
async def asks(item: str, recent: Any, context: stretto.Context) -> dict[str, Any]:
    """Asks another."""
    return await context.call("inner", item=item)


@stretto.component("inner", effects="read")
async def inner(item: str) -> dict[str, bool]:
    """Answers whoever asks."""
    return {"long": len(item) > 1}


@stretto.component("kept", effects="read", scope="run")
class Kept:
    """Counts its calls in a run."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    def __call__(self) -> dict[str, bool]:
        return {"n": next(self._numbers) == 0}


@stretto.component("spare", effects="pure")
async def spare() -> dict[str, bool]:
    """Stands in."""
    return {"n": False}


@stretto.reward("good")
def good() -> float:
    """Is content."""
    return 1.0


PLACES = ["asks", "inner", "kept", "good", "memory"]


def text_of(kind: FaultKind, component: str) -> str:
    needed = [key.name for key in USES[kind][0]] + (["ahead"] if kind is FaultKind.CLOCK_SKEW else [])
    keys = "".join(f", {name}: {NEEDED[name]}" for name in needed)
    return f"{{component: {component}, fault: {kind}, rate: 0.5{keys}}}"


@pytest.mark.parametrize("kind", FaultKind)
def test_a_fault_at_every_kind_of_component_ends_every_run(kind: FaultKind, tmp_path: Path) -> None:
    memory = stretto.RecencyMemory("memory")
    faults = ", ".join(text_of(kind, component) for component in PLACES if is_drawn(kind, component))
    chaos = parse_chaos(f"stretto: 1\nmutants: 0\nseed: 2\nfaults: [{faults}]")
    given = [Given(input={"items": ["a", "bb", "ccc"]})]
    with Store(tmp_path / "runs.db") as store:
        workflow = workflow_of(tmp_path, WORKFLOW, [asks, inner, Kept, spare, good, memory], store)
        assert {place.component for place in places_of(workflow.plan)} == {*PLACES, "spare"}
        report = made(Experiment(workflow, chaos, given, runs=30))
    assert report.runs == 30 == sum(report.statuses.values())
    assert report.lost_runs == ()
    assert set(report.statuses) <= {"ok", "degraded", "failed", "expired"}
    assert all(row.injected for row in report.faults), [row.at for row in report.faults if not row.injected]


def is_drawn(kind: FaultKind, component: str) -> bool:
    """Whether it could change anything there: there are wrong booleans, rewards and memories are free, and a memory
    makes nothing of its deadline."""
    if kind is FaultKind.CLOCK_SKEW:
        return component != "memory"
    return kind is not FaultKind.WRONG_VALUE or component in ("inner", "kept")


BUSINESS = """
stretto: 1
name: bank
fallback: {component: spare}
contract: {output: {n: bool}}
steps: [{name: kept, component: kept}]
output: {n: "steps.kept.n"}
"""


@pytest.mark.parametrize(
    ("faults", "statuses"),
    [
        ("{component: kept, fault: loss, rate: 1}", {"business_fallback": 10}),
        (
            "{component: kept, fault: loss, rate: 1}, {component: spare, fault: error, code: internal, rate: 1}",
            {"failed": 10},
        ),
    ],
)
def test_the_fallback_of_a_workflow_answers_and_can_be_struck(
    faults: str, statuses: dict[str, int], tmp_path: Path
) -> None:
    chaos = parse_chaos(f"stretto: 1\nmutants: 0\nfaults: [{faults}]")
    with Store(tmp_path / "runs.db") as store:
        workflow = workflow_of(tmp_path, BUSINESS, [Kept, spare], store)
        report = made(Experiment(workflow, chaos, [Given(input={})], runs=10))
    assert report.statuses == statuses
    assert report.answered == statuses.get("business_fallback", 0)


def test_a_fallback_stands_in_for_runs_after_three_that_failed_as_it_does_in_serving(tmp_path: Path) -> None:
    chaos = parse_chaos("stretto: 1\nmutants: 0\nfaults: [{component: kept, fault: loss, rate: 1}]")
    with Store(tmp_path / "runs.db") as store:
        workflow = workflow_of(tmp_path, BUSINESS, [Kept, spare], store)
        report = made(Experiment(workflow, chaos, [Given(input={})], runs=20, concurrency=1))
        assert workflow.fallbacks.workflow is None, "what serving knows is untouched"
    (row,) = report.faults
    assert (row.injected, report.answered) == (3, 20)


INNER = """
stretto: 1
name: inner
contract: {output: {n: bool}}
steps: [{name: kept, component: kept}]
output: {n: "steps.kept.n"}
"""

DEEP = """
stretto: 1
name: deep
contract: {reward: {good: 1}}
fallback: {component: spare}
steps:
  - {name: sub, workflow: inner.yaml}
  - name: loop
    repeat: {max_rounds: 2, steps: [{name: again, component: kept}]}
  - name: each
    for_each: "[1,2]"
    as: item
    steps: [{name: ask, component: asks, input_mapping: {item: {value: x}, recent: {value: null}}}]
  - {name: doubtful, component: kept, resilience: {fallback: {component: spare}}, needs: [sub]}
  - {name: good, component: good, needs: [doubtful]}
output: {n: "steps.sub.n"}
"""


@pytest.mark.parametrize(
    ("place", "paths"),
    [
        ("component: kept", {"sub/kept", "loop[1]/again", "loop[2]/again", "doubtful"}),
        ("step: kept", {"sub/kept"}),
        ("step: sub/kept", {"sub/kept"}),
        ("step: again", {"loop[1]/again", "loop[2]/again"}),
        ("component: asks", {"each[0]/ask", "each[1]/ask"}),
        ("component: inner", {"each[0]/ask/inner#1", "each[1]/ask/inner#1"}),
        ("component: good", {"good"}),
    ],
)
def test_a_fault_strikes_wherever_a_call_is_made(place: str, paths: set[str], tmp_path: Path) -> None:
    (tmp_path / "inner.yaml").write_text(INNER)
    chaos = parse_chaos(f"stretto: 1\nmutants: 0\nfaults: [{{{place}, fault: latency, delay: 1ms, rate: 1}}]")
    with Store(tmp_path / "runs.db") as store:
        workflow = workflow_of(tmp_path, DEEP, [asks, inner, Kept, spare, good], store)
        experiment = Experiment(workflow, chaos, [Given(input={})], runs=2)
        report = made(experiment)
    assert report.statuses == {"ok": 2}
    assert {injection.path for injection in experiment.trial.harness.ledger.injections} == paths


NESTED = """
stretto: 1
name: nested
durability: step
steps: [{name: asks, component: asks, resilience: {retry: {attempts: 3, base: 1ms}}}]
"""


@pytest.mark.parametrize("fault", ["duplicate", "reset", "garbage", "error, code: aborted, when: after"])
def test_a_write_below_a_call_that_is_struck_is_made_once(fault: str, tmp_path: Path) -> None:
    written: list[str] = []

    @stretto.component("asks", effects="read")
    async def asks(context: stretto.Context) -> dict[str, Any]:
        return await context.call("writes")

    @stretto.component("writes", effects="write")
    async def writes(context: stretto.Context) -> dict[str, bool]:
        written.append(context.effect_key)
        return {"done": True}

    chaos = parse_chaos(f"stretto: 1\nmutants: 0\nfaults: [{{component: asks, fault: {fault}, rate: 0.5}}]")
    with Store(tmp_path / "runs.db") as store:
        workflow = workflow_of(tmp_path, NESTED, [asks, writes], store)
        report = made(Experiment(workflow, chaos, [Given(input={})], runs=20))
    assert report.faults[0].injected
    assert len(written) == 20 == report.writes


def test_the_fallback_of_a_step_is_struck_by_its_components_name(tmp_path: Path) -> None:
    (tmp_path / "inner.yaml").write_text(INNER)
    faults = "{step: doubtful, fault: reset, rate: 1}, {component: spare, fault: latency, delay: 1ms, rate: 1}"
    with Store(tmp_path / "runs.db") as store:
        workflow = workflow_of(tmp_path, DEEP, [asks, inner, Kept, spare, good], store)
        chaos = parse_chaos(f"stretto: 1\nmutants: 0\nfaults: [{faults}]")
        experiment = Experiment(workflow, chaos, [Given(input={})], runs=2)
        report = made(experiment)
    assert report.statuses == {"degraded": 2}
    assert {each.path for each in experiment.trial.harness.ledger.injections} == {"doubtful", "doubtful/fallback"}
