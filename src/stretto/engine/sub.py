"""Sub-workflows: another workflow's plan inside a run, from its budget."""

import msgspec

from stretto.engine.lanes import RunBlock
from stretto.engine.place import Place
from stretto.engine.state import Lane
from stretto.engine.taint import marks
from stretto.plan.check import Check
from stretto.plan.model import FIRST_FREE_SLOT, Frame, SubOp
from stretto.record.canonical import snapshot
from stretto.types.enums import StepStatus
from stretto.types.errors import ContractError
from stretto.types.json import JsonObject


async def run_sub(place: Place, op: SubOp, run_block: RunBlock) -> None:
    """Run the plan on an input of its own; the other roots are those of the run."""
    started = place.state.now()
    plan, frame, lane = op.plan, place.frame, place.lane
    taint = None if place.taint is None else place.taint.of_sub(op.reads, op.guard_reads)
    simulated = marks(place.taint, op.reads)
    data = place.mapped(op.inputs, frame, simulated=simulated)
    _hold(place, f"the input of sub-workflow '{plan.name}'", plan.input_check, data, simulated=simulated)
    own: Frame = [data, *frame[1:FIRST_FREE_SLOT], *[None] * (plan.slots - FIRST_FREE_SLOT)]
    budget = lane.budget.child(plan.budget, started)
    await run_block(place.state, plan.body, own, f"{place.path}/", Lane(lane.alarm, budget), taint)
    simulated = marks(taint, plan.output_reads)
    output = place.mapped(plan.output, own, simulated=simulated)
    _hold(place, f"the output of sub-workflow '{plan.name}'", plan.output_check, output, simulated=simulated)
    frame[op.slot] = output
    record = place.record(StepStatus.OK, started, output)
    record.input = msgspec.Raw(snapshot(data))
    place.end(op, record, is_marked=simulated)


def _hold(place: Place, what: str, check: Check | None, value: JsonObject, *, simulated: bool) -> None:
    if check is not None and (violations := check.violations(value)):
        raise place.fail(ContractError(f"{what} breaks its schema:", violations), simulated=simulated)
