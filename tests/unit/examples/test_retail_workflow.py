"""The retail workflow as a newcomer meets it: loaded from its file, on the real server."""

from pathlib import Path
from typing import cast

import pytest
from scoring import reference_of
from world import ACTIONS

import stretto
from tests.unit.examples.desk import task

FILE = Path(__file__).parents[3] / "examples" / "retail" / "workflow.yaml"


@pytest.fixture
def workflow(tmp_path: Path) -> stretto.Workflow:
    return stretto.load(FILE, store=tmp_path / "runs.db")


def test_the_workflow_loads_and_its_planner_knows_every_action(workflow: stretto.Workflow) -> None:
    planner = cast("stretto.SoftmaxPolicy", workflow.component("planner"))
    assert planner.options.alternatives == ACTIONS
    workflow.close()


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
