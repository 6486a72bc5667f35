"""The retail workflow as a newcomer meets it: loaded from its file, on the real server."""

from pathlib import Path
from typing import Any, cast

import pytest
from scoring import reference_of
from world import ACTIONS

import stretto
from stretto.testing.request import request_for
from stretto.types.json import Json
from tests.unit.examples.desk import task

FILE = Path(__file__).parents[3] / "examples" / "retail" / "workflow.yaml"


@pytest.fixture
def workflow(tmp_path: Path) -> stretto.Workflow:
    return stretto.load(FILE, store=tmp_path / "runs.db")


def test_the_workflow_loads_and_its_planner_knows_every_action(workflow: stretto.Workflow) -> None:
    planner = cast("stretto.SoftmaxPolicy", workflow.component("planner"))
    assert planner.options.alternatives == ACTIONS
    workflow.close()


@pytest.mark.parametrize(
    ("action", "why"), [("get_user_details", "the customer is not known yet"), ("fly", "there is no such action")]
)
async def test_an_action_that_cannot_be_carried_out_is_an_error_that_says_why(
    action: str, why: str, workflow: stretto.Workflow
) -> None:
    situation: Any = await workflow.component("situation")(request_for(words="Hello.", facts=None))
    given = {"action": action, "calls": situation.output["calls"]}
    with pytest.raises(stretto.ComponentError, match=f"'{action}' cannot be carried out: {why}") as caught:
        await workflow.component("executor")(request_for(**given))
    assert caught.value.rpc_code is stretto.Code.FAILED_PRECONDITION
    await workflow.aclose()


async def test_what_could_not_be_carried_out_is_remembered_as_failed(workflow: stretto.Workflow) -> None:
    """So it is with what stands in for the executor: no tool is called, and the planner goes on from there."""
    given: dict[str, Any] = {"facts": None, "action": "get_user_details", "arguments": {}, "answer": None}
    facts = cast("Any", await workflow.component("memory")(request_for(**given))).output["facts"]
    assert facts["failed"] == [{"tool": "get_user_details", "arguments": {}}]
    assert facts["last"] == {"tool": "get_user_details", "ok": False}
    ended = cast("Any", await workflow.component("memory")(request_for(**{**given, "action": "end"}))).output["facts"]
    assert ended["ended"]
    assert not ended["failed"]
    await workflow.aclose()


WRITE = {"name": "cancel_pending_order", "arguments": {"order_id": "#W6247578", "reason": "no longer needed"}}
LOG = [{"tau2_tool_call": WRITE, "tau2_tool_message": {"error": False}}]
"""One write that the shop accepted."""


async def judged(workflow: stretto.Workflow, reference: Json) -> dict[str, tuple[float | None, str]]:
    """The terms of a conversation with that write, each with its reason."""
    response = await workflow.component("judge")(request_for(calls=LOG, _reference=reference))
    await workflow.aclose()
    return {reward.name: (reward.value, reward.reason) for reward in response.rewards}


async def test_without_a_reference_what_rests_on_it_is_unknown_and_the_rest_is_judged(
    workflow: stretto.Workflow,
) -> None:
    told = await judged(workflow, None)
    why = (None, "no reference was given: what a perfect agent would have done is not known")
    assert {name for name, value in told.items() if value == why} == {
        "matched", "unwanted", "database", "writes_right", "writes_gold"
    }  # fmt: skip
    assert told["api_success"] == (1.0, "0 of 1 calls refused")
    assert told["calls"][0] == 1.0


async def test_a_reference_that_asks_for_nothing_is_judged_by(workflow: stretto.Workflow) -> None:
    told = await judged(workflow, {"actions": []})
    assert {name: value for name, (value, _) in told.items()} == {
        "matched": None, "unwanted": 1.0, "database": 0.0, "api_success": 1.0, "calls": 1.0, "writes_right": 0.0,
        "writes_gold": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize("reference", [[], {}, "nothing", {"actions": None}, {"actions": [{"name": "end"}]}])
async def test_a_reference_of_another_shape_leaves_all_unknown_and_is_told(
    workflow: stretto.Workflow, reference: Json
) -> None:
    told = await judged(workflow, reference)
    assert {value for value, _ in told.values()} == {None}
    assert 'expected {"actions": [{"tool": ..., "arguments": {...}}]}' in told["matched"][1]


@pytest.mark.slow
async def test_a_customer_is_served_and_judged_on_the_real_server(workflow: stretto.Workflow) -> None:
    customer = task("113")
    async with workflow:
        run = await workflow.run({"words": customer.words}, seed=1, reference=reference_of(customer))
    assert run.status is stretto.RunStatus.OK
    rewards = {reward.name: reward for reward in run.rewards}
    assert rewards.keys() == {"matched", "unwanted", "database", "api_success", "calls", "writes_right", "writes_gold"}
    assert rewards["writes_gold"].weight == 0.0
    assert run.reward is not None
    calls = [step for step in run.steps if step.component == "shop" and step.status is stretto.StepStatus.OK]
    assert rewards["calls"].value == len(calls) - 1  # the last reads the log
