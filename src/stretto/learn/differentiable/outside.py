"""Steps outside: called through the engine's own step call, one row each, all rows side by side."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence

from stretto.engine.call import StepCall
from stretto.engine.state import Lane, StepFailed
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.columns import Column, Rows
from stretto.learn.differentiable.node import Node
from stretto.learn.differentiable.reading import Expression
from stretto.learn.differentiable.underway import Recorded, Underway
from stretto.plan.model import CallOp
from stretto.types.json import Json, JsonObject


class OutsideNode(Node):
    """A step whose component is no module: rules, a database, a model behind an API."""

    def __init__(self, op: CallOp, length: int, place: str) -> None:
        super().__init__(op, op.inputs, length, place)
        self.call = op

    def work(self, batch: Underway, cohort: Cohort, inputs: Mapping[str, Column]) -> Column:
        return call_outside(batch, self.call, cohort, rows_of(inputs, cohort.size), self.length)


def rows_of(inputs: Mapping[str, Column], size: int) -> list[JsonObject]:
    """Columns as one object a row."""
    columns = [(name, column.json) for name, column in inputs.items()]
    return [{name: values[row] for name, values in columns} for row in range(size)]


def call_outside(batch: Underway, op: CallOp, cohort: Cohort, data: Sequence[JsonObject], length: int) -> Column:
    """What the component answers to each row; null in those that failed. `length` is that of the plan's frames."""
    lives = [*cohort.lives]
    states = batch.states.of(lives)
    before = {life: len(state.run.steps) for life, state in zip(lives, states, strict=True)}
    stand_ins = _stand_ins(op, cohort, length)
    answers = batch.states.host.run(_all(batch, op, cohort, data, stand_ins))
    told: dict[int, None] = dict.fromkeys(lives)
    batch.events.append(Recorded([(life, batch.states.of([life])[0].run.steps[before[life] :]) for life in told]))
    for row, answer in enumerate(answers):
        if isinstance(answer, StepFailed):
            cohort.failed[row] = answer
    return Rows([None if isinstance(answer, StepFailed) else answer for answer in answers])


def _stand_ins(op: CallOp, cohort: Cohort, length: int) -> Sequence[Json]:
    """What the step's fallback reads from the run, where it is such a one."""
    if op.fallback is None or op.fallback.get is None:
        return [None] * cohort.size
    read = Expression(op.fallback.get, op.reads, length)
    return [read.getter(frame) for frame in read.frames(cohort.frame)]


async def _all(
    batch: Underway, op: CallOp, cohort: Cohort, data: Sequence[JsonObject], stand_ins: Sequence[Json]
) -> list[JsonObject | StepFailed]:
    places: dict[int, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(cohort.parallel or cohort.size))

    async def one(row: int) -> JsonObject | StepFailed:
        life = cohort.lives[row]
        async with places[life]:
            return await _call(batch, op, cohort, row, data[row], stand_ins[row])

    return [*await asyncio.gather(*(one(row) for row in range(cohort.size)))]


async def _call(
    batch: Underway, op: CallOp, cohort: Cohort, row: int, data: JsonObject, stand_in: Json
) -> JsonObject | StepFailed:
    (state,) = batch.states.of([cohort.lives[row]])
    op = state.as_set(op)
    budget = cohort.budget(row)
    lane = Lane(state.watch.alarm(), budget if op.share is None else budget.shared(op.share))
    call = StepCall(state, op, data, cohort.path(row, op.name), lane, state.now(), op.action, op.effect)
    call.stand_in = stand_in
    try:
        return await call.run()
    except StepFailed as failure:
        return failure
