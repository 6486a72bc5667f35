"""Probes and what holds steps: workflows inside, lists of devices, components that answer for others."""

from typing import Any

import stretto
from stretto import RunStatus
from stretto.runtime.load import Loader
from stretto.runtime.workflow import Workflow
from stretto.store.sqlite import Store
from stretto.testing import run_virtual
from tests.unit.runtime.conftest import WorkflowOf, Write

COMPONENTS = """
import stretto
@stretto.component(effects="pure", inline=True)
def tell(n: int | None) -> dict:
    return {"n": n}
"""

OUTER = """
stretto: 1
name: outer
steps: [{name: inside, workflow: inner.yaml, condition: "resources.threads_busy >= 0"}]
output: {n: steps.inside.n}
"""

INNER = """
stretto: 1
name: inner
resources: {threads: {}}
steps:
  - {name: a, component: tell, input_mapping: {n: resources.threads_busy}}
  - name: rounds
    repeat:
      max_rounds: 3
      until: "resources.threads_busy >= 2"
      steps: [{name: b, component: tell, input_mapping: {n: resources.threads_busy}}]
output: {n: steps.a.n}
"""


def test_a_workflow_inside_brings_its_probes_and_reads_them_live(write: Write, store: Store) -> None:
    loader = Loader(write({"outer.yaml": OUTER, "inner.yaml": INNER, "components.py": COMPONENTS}))
    workflow: Workflow = loader.workflow(store)
    assert [name for name, _ in workflow.plan.resources.probes()] == ["threads"]  # type: ignore[union-attr]

    async def main() -> None:
        async with workflow:
            run = await workflow.run({})
            assert run.status is RunStatus.OK, run.error
            seen: dict[str, Any] = {step.path: step.evidence for step in run.steps}
            busy = {"resources": {"threads_busy": 0}}
            assert seen["inside"] == busy
            assert seen["inside/a"] == busy
            assert seen["inside/rounds[1]/b"] == busy
            assert seen["inside/rounds"] == {"resources_by_round": [{"threads_busy": 0}] * 3}
            again = await workflow.replay(run)
            assert {step.path: step.evidence for step in again.steps} == seen

    run_virtual(main())


def test_a_step_for_each_device_sees_the_list_and_records_it_once(workflow_of: WorkflowOf) -> None:
    text = """
    stretto: 1
    name: devices
    resources: {given: [devices], threads: {}}
    steps:
      - {name: each, component: tell, for_each: resources.devices, as: device, input_mapping: {n: device.free}}
    output: {all: steps.each.items}
    """

    @stretto.component(effects="pure", inline=True)
    def tell(n: int) -> dict[str, Any]:
        return {"n": n}

    async def main() -> None:
        async with workflow_of(text, tell) as workflow:
            run = await workflow.run({}, resources={"devices": [{"free": 1}, {"free": 2}]})
            assert run.status is RunStatus.OK, run.error
            assert run.output_value == {"all": [{"n": 1}, {"n": 2}]}
            evidence: dict[str, Any] = {step.path: step.evidence for step in run.steps}
            assert evidence["each"] == {"resources": {"devices": [{"free": 1}, {"free": 2}]}}
            assert evidence["each[0]"] == {}

    run_virtual(main())
