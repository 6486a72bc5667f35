"""What was downgraded so far, as the steps of the same run read it; and why a time-out came."""

import asyncio
from typing import Any

import pytest

import stretto
from stretto import Run
from stretto.record.model import decoded
from stretto.testing import run_virtual
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import Code, ComponentError
from tests.unit.runtime.conftest import WorkflowOf

JUDGED = """
stretto: 1
name: judged
steps:
  - {name: first, component: api, input_mapping: {n: input.first}, resilience: {fallback: {output: {}}}}
  - name: loop
    needs: [first]
    repeat:
      max_rounds: 2
      steps:
        - {name: second, component: api, input_mapping: {n: input.second}, resilience: {fallback: {output: {}}}}
  - name: judge
    component: judge
    needs: [loop]
    condition: "run.downgrades.all(each, each.reason != 'contract')"
    input_mapping:
      all: run.downgrades
      reasons: "run.downgrades.map(each, each.reason)"
"""


@stretto.component("api", "1.0.0", effects="read", inline=True)
def api(n: int) -> dict[str, str]:
    if n:
        raise ComponentError("no", Code.UNAVAILABLE if n == 1 else Code.DEADLINE_EXCEEDED)
    return {}


@stretto.component("judge", "1.0.0", effects="pure", inline=True)
def judge(all: list[Any], reasons: list[str]) -> dict[str, str]:  # noqa: A002  # the field's name
    all.clear()  # a component may do with its request what it likes
    return {}


def asked(run: Run) -> Any:
    return decoded(run.steps[-1].input)


async def test_steps_read_what_was_downgraded_before_them_with_the_reason(workflow_of: WorkflowOf) -> None:
    workflow = workflow_of(JUDGED, api, judge)
    run = await workflow.run({"first": 1, "second": 2})
    assert asked(run) == {
        "all": [
            {"step": "first", "component": "api", "reason": "error"},
            {"step": "loop[1]/second", "component": "api", "reason": "timeout"},
            {"step": "loop[2]/second", "component": "api", "reason": "timeout"},
        ],
        "reasons": ["error", "timeout", "timeout"],
    }
    assert run.status is RunStatus.DEGRADED


async def test_without_any_the_list_is_empty(workflow_of: WorkflowOf) -> None:
    run = await workflow_of(JUDGED, api, judge).run({"first": 0, "second": 0})
    assert asked(run) == {"all": [], "reasons": []}


async def test_a_replay_takes_from_the_record_what_read_them(workflow_of: WorkflowOf) -> None:
    workflow = workflow_of(JUDGED, api, judge)
    run = await workflow.run({"first": 1, "second": 0})
    again = await workflow.replay(run)
    assert asked(again) == asked(run)
    assert again.steps[-1].reused_from == run.id


@pytest.mark.parametrize(
    ("recorded", "outputs", "is_simulated"),
    [
        ({"first": 1, "second": 2}, {"first": {}}, True),
        ({"first": 1, "second": 2}, {"loop[1]/second": {}}, True),  # in a frame of its own
        ({"first": 0, "second": 2}, {"first": {}}, False),  # what is downgraded stays as it was
        ({"first": 0, "second": 0}, {"loop[1]/second": {}}, False),
    ],
)
async def test_what_reads_them_is_simulated_where_a_substitute_changes_them(
    workflow_of: WorkflowOf, recorded: dict[str, int], outputs: dict[str, Any], is_simulated: bool
) -> None:
    workflow = workflow_of(JUDGED, api, judge)
    run = await workflow.run(recorded)
    again = await workflow.replay(run, outputs=outputs)
    assert again.steps[-1].path == "judge"
    assert again.steps[-1].simulated is is_simulated
    assert (asked(again) != asked(run)) is is_simulated


FEWER = """
stretto: 1
name: fewer
steps:
  - {name: turns, component: count, input_mapping: {n: input.turns}}
  - name: loop
    repeat:
      max_rounds: 3
      until: "steps.turns.n == 1"
      steps:
        - {name: second, component: api, input_mapping: {n: input.second}, resilience: {fallback: {output: {}}}}
  - {name: judge, component: judge, needs: [loop], input_mapping: {all: run.downgrades, reasons: "[]"}}
"""


@stretto.component("count", "1.0.0", effects="pure", inline=True)
def count(n: int) -> dict[str, int]:
    return {"n": n}


async def test_what_reads_them_is_simulated_where_a_substitute_ends_a_loop_before_one(workflow_of: WorkflowOf) -> None:
    workflow = workflow_of(FEWER, api, judge, count)
    run = await workflow.run({"turns": 3, "second": 1})
    again = await workflow.replay(run, outputs={"turns": {"n": 1}})
    assert (len(asked(run)["all"]), len(asked(again)["all"])) == (3, 1)
    assert again.steps[-1].simulated


WITHIN = """
stretto: 1
name: within
steps:
  - {name: first, component: api, input_mapping: {n: input.first}, resilience: {fallback: {output: {}}}}
  - name: loop
    needs: [first]
    repeat:
      max_rounds: 2
      steps:
        - {name: judge, component: judge, input_mapping: {all: run.downgrades, reasons: "[]"}}
"""


async def test_what_reads_them_in_a_frame_of_its_own_is_simulated_too(workflow_of: WorkflowOf) -> None:
    workflow = workflow_of(WITHIN, api, judge)
    again = await workflow.replay(await workflow.run({"first": 1}), outputs={"first": {}})
    assert [step.path for step in again.steps if step.simulated] == ["first", "loop[1]/judge", "loop[2]/judge", "loop"]


async def test_a_field_that_there_is_not_is_told_when_it_is_read(workflow_of: WorkflowOf) -> None:
    with pytest.raises(stretto.SpecError, match="why"):
        workflow_of(JUDGED.replace("each.reason)", "each.why)"), api, judge)


LOADED = """
stretto: 1
name: loaded
steps:
  - name: ask
    component: api
    input_mapping: {took_s: input.took_s}
    resilience: {timeout: 3s, KEYS}
"""


@stretto.component("api", "1.0.0", effects="read")
async def slow(took_s: float) -> dict[str, str]:
    await asyncio.sleep(took_s)
    return {}


def reasons(workflow_of: WorkflowOf, keys: str, took: list[float], at_once: int = 1) -> list[Reason | None]:
    async def go() -> list[Reason | None]:
        workflow = workflow_of(LOADED.replace("KEYS", keys), slow)
        await workflow.run({"took_s": 0.0})  # a thread makes the store meanwhile, and a virtual clock does not wait
        found = []
        for took_s in took:
            runs = await asyncio.gather(*(workflow.run({"took_s": took_s}) for _ in range(at_once)))
            found += [run.reason for run in runs]
        return found

    return run_virtual(go())


@pytest.mark.parametrize("keys", ["breaker: {min_calls: 50}", "bulkhead: {limit: 8}"])
def test_a_time_out_among_calls_that_are_answered_late_comes_of_congestion(workflow_of: WorkflowOf, keys: str) -> None:
    took = [0.8] * 6 + [2.0] * 6 + [5.0]
    assert reasons(workflow_of, keys, took)[-1] is Reason.CONGESTION


def test_a_time_out_on_its_own_is_one(workflow_of: WorkflowOf) -> None:
    assert reasons(workflow_of, "breaker: {min_calls: 50}", [0.8] * 6 + [5.0])[-1] is Reason.TIMEOUT


def test_a_component_that_answers_nobody_hangs_and_is_not_congested(workflow_of: WorkflowOf) -> None:
    assert reasons(workflow_of, "breaker: {min_calls: 50}", [0.8] * 6 + [5.0] * 12)[-1] is Reason.TIMEOUT


def test_what_nothing_watches_over_has_timed_out_and_no_more_is_known(workflow_of: WorkflowOf) -> None:
    assert reasons(workflow_of, "retry: {attempts: 1}", [0.8] * 6 + [2.0] * 6 + [5.0])[-1] is Reason.TIMEOUT


def test_a_call_that_had_to_wait_for_its_place_timed_out_of_congestion(workflow_of: WorkflowOf) -> None:
    """The second enters after 2 s, with one left."""
    assert reasons(workflow_of, "bulkhead: {limit: 1}", [2.0], at_once=2) == [None, Reason.CONGESTION]
