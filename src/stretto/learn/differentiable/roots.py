"""The given roots of a batch's frame: input, memory, resources, run."""

from stretto.engine.run_root import run_root
from stretto.engine.state import Lane, RunState, StepFailed
from stretto.engine.work import read_memory
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.columns import Rows
from stretto.learn.differentiable.underway import Recorded, Underway
from stretto.plan.model import INPUT, MEMORY, RESOURCES, RUN, Plan
from stretto.types.json import Json, JsonObject


def fill_roots(batch: Underway, cohort: Cohort, plan: Plan) -> None:
    """Write the slots that every run begins with; runs whose memory fails are noted as failed."""
    data = batch.data
    cohort.frame.put(INPUT, data.input)
    if data.has_resources:
        cohort.frame.put(RESOURCES, Rows([dict(each.request.resources) for each in data.admitted]))
    if plan.memory is not None or data.has_memory:
        cohort.frame.put(MEMORY, Rows(_memories(batch, cohort)))
    if plan.reads_run:
        states = batch.states.of(cohort.lives)
        cohort.frame.put(RUN, Rows([run_root(state.run, state.downgrades) for state in states]))


def _memories(batch: Underway, cohort: Cohort) -> list[Json]:
    states = batch.states.of(cohort.lives)
    found: list[Json] = []
    for life, told in zip(cohort.lives, batch.states.host.run(_read(batch, states)), strict=True):
        batch.events.append(Recorded([(life, [*states[life].run.steps])]))
        if isinstance(told, StepFailed):
            cohort.failed[life] = told
            found.append(None)
        else:
            found.append(told)
    return found


async def _read(batch: Underway, states: list[RunState]) -> list[JsonObject | StepFailed]:
    found: list[JsonObject | StepFailed] = []
    for life, state in enumerate(states):
        lane = Lane(state.watch.alarm(), batch.states.budget(life))
        try:
            found.append(await read_memory(state, batch.data.admitted[life].request.memory, lane))
        except StepFailed as failure:
            found.append(failure)
    return found
