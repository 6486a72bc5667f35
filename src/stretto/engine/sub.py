"""Sub-workflows: another workflow's plan inside a run, from its budget."""

import msgspec

from stretto.engine.lanes import RunBlock
from stretto.engine.meaning import Crossed, crossed, evidence_of
from stretto.engine.place import Place
from stretto.engine.state import Lane
from stretto.engine.taint import marks
from stretto.plan.check import Check
from stretto.plan.meaning import Crossing
from stretto.plan.model import FIRST_FREE_SLOT, Frame, SubOp
from stretto.record.canonical import snapshot
from stretto.types.enums import StepStatus
from stretto.types.errors import ContractError, MeaningError
from stretto.types.json import JsonObject


async def run_sub(place: Place, op: SubOp, run_block: RunBlock) -> None:
    """Run the plan on an input of its own; the other roots are those of the run."""
    started, op = place.state.now(), place.state.as_set(op)
    plan, frame, lane = op.plan, place.frame, place.lane
    taint = None if place.taint is None else place.taint.of_sub(op.reads, op.guard_reads)
    simulated = marks(place.taint, op.reads)
    data = place.mapped(op.inputs, frame, simulated=simulated)
    told: list[Crossed] = []
    data = _cross(place, f"the input of sub-workflow '{plan.name}'", op.crossings_in, data, told, simulated=simulated)
    _hold(place, f"the input of sub-workflow '{plan.name}'", plan.input_check, data, simulated=simulated)
    own: Frame = [data, *frame[1:FIRST_FREE_SLOT], *[None] * (plan.slots - FIRST_FREE_SLOT)]
    budget = lane.budget.child(plan.budget, started)
    await run_block(place.state, plan.body, own, f"{place.path}/", Lane(lane.alarm, budget), taint)
    simulated = marks(taint, plan.output_reads)
    output = place.mapped(plan.output, own, simulated=simulated)
    what = f"the output of sub-workflow '{plan.name}'"
    output = _cross(place, what, plan.crossings_out, output, told, simulated=simulated)
    _hold(place, what, plan.output_check, output, simulated=simulated)
    output = _cross(place, what, op.crossings_out, output, told, simulated=simulated)
    frame[op.slot] = output
    record = place.record(StepStatus.OK, started, output)
    record.input = msgspec.Raw(snapshot(data))
    if told:
        record.evidence = evidence_of(told)
    place.end(op, record, is_marked=simulated)


def _cross(
    place: Place,
    what: str,
    crossings: tuple[Crossing, ...],
    value: JsonObject,
    told: list[Crossed],
    *,
    simulated: bool,
) -> JsonObject:
    found = crossed(value, crossings) if crossings else None
    if found is None:
        return value
    told.append(found)
    try:
        found.hold(what)
    except MeaningError as error:
        raise place.fail(error, simulated=simulated, evidence=evidence_of(told)) from error
    return found.value


def _hold(place: Place, what: str, check: Check | None, value: JsonObject, *, simulated: bool) -> None:
    if check is not None and (violations := check.violations(value)):
        raise place.fail(ContractError(f"{what} breaks its schema:", violations), simulated=simulated)
