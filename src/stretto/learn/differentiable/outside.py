"""Steps outside: called through the engine's own step call, one row each, all rows side by side."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, TypeAlias

import msgspec

from stretto.components.python.context import watched
from stretto.engine.call import StepCall
from stretto.engine.state import Lane, StepFailed, milliseconds
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.columns import Column, Rows
from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.kept import Kept, KeptAnswers, Key, Stood, may_be_kept
from stretto.learn.differentiable.merging import first_of
from stretto.learn.differentiable.node import Node
from stretto.learn.differentiable.reading import Expression
from stretto.learn.differentiable.underway import Recorded, Underway
from stretto.plan.model import CallOp
from stretto.types.enums import StepStatus
from stretto.types.ids import RunId, StepPath
from stretto.types.json import Json, JsonObject

Asked: TypeAlias = tuple[RunId, StepPath]
"""A call, by the run that it is in and its place there."""


class Passes(Protocol):
    """A surrogate's gradient, put on what a step outside answered."""

    def through(
        self, cohort: Cohort, inputs: Mapping[str, Column], answered: Column, events: Sequence[object]
    ) -> Column:
        """The answers, with it; `events` are what was noted of them."""
        ...


class OutsideNode(Node):
    """A step whose component is no module: rules, a database, a model behind an API."""

    def __init__(self, op: CallOp, length: int, place: str) -> None:
        super().__init__(op, op.inputs, length, place)
        self.call = op
        self._may_be_kept = may_be_kept(op)
        self.passing: Passes | None = None
        """By which a gradient passes it; None where none does."""

    def work(self, batch: Underway, cohort: Cohort, inputs: Mapping[str, Column]) -> Column:
        stranger = batch.strangers.get(self.call.component_name)
        struck = [] if stranger is None else stranger.struck(batch.seeds_of(cohort))
        if stranger is None or not struck:
            return self._own(batch, cohort, inputs)
        return self._apart(batch, cohort, inputs, struck, stranger.call(self.call))

    def _apart(
        self, batch: Underway, cohort: Cohort, inputs: Mapping[str, Column], struck: list[int], op: CallOp
    ) -> Column:
        """The rows in which the component is perturbed, and the others: no surrogate learns from the former."""
        found: list[Column] = []
        left = [*range(cohort.size)]
        for row in reversed(struck):
            del left[row]
        for rows in (struck, left):
            index, within = Index(rows), cohort.narrowed(rows)
            part = {name: column.take(index) for name, column in inputs.items()}
            if rows is struck:
                answered = call_outside(batch, op, within, rows_of(part, len(rows)), self.length)
            elif rows:
                answered = self._own(batch, within, part)
            else:
                continue
            cohort.fail(within, rows)
            found.append(answered.scatter(index, cohort.size))
        return first_of(found)

    def _own(self, batch: Underway, cohort: Cohort, inputs: Mapping[str, Column]) -> Column:
        before = len(batch.events)
        answered = self._answered(batch, cohort, rows_of(inputs, cohort.size))
        if self.passing is None:
            return answered
        return self.passing.through(cohort, inputs, answered, batch.events[before:])

    def _answered(self, batch: Underway, cohort: Cohort, data: Sequence[JsonObject]) -> Column:
        if batch.data.kept is None or not self._may_be_kept:
            return call_outside(batch, self.call, cohort, data, self.length)
        return self._kept(batch, batch.data.kept, cohort, data)

    def _kept(self, batch: Underway, kept: KeptAnswers, cohort: Cohort, data: Sequence[JsonObject]) -> Column:
        """What stands of earlier passes, and of the rest what the component answers now."""
        keys = [self._key(batch, life, each) for life, each in zip(cohort.lives, data, strict=True)]
        found = {row: answer for row, key in enumerate(keys) if (answer := kept.get(key)) is not None}
        missing = [row for row in range(cohort.size) if row not in found]
        if found:
            self._stand(batch, cohort, found)
        values: list[Json] = [found[row].output if row in found else None for row in range(cohort.size)]
        if missing:
            within = cohort.narrowed(missing)
            of_runs: set[Asked] = set()
            asked = [data[row] for row in missing]
            answered = call_outside(batch, self.call, within, asked, self.length, of_runs)
            cohort.fail(within, missing)
            for row, value in zip(missing, answered.json, strict=True):
                values[row] = value
            self._keep(batch, kept, cohort, {row: keys[row] for row in missing}, values, of_runs)
        return Rows(values)

    def _key(self, batch: Underway, life: int, asked: JsonObject) -> Key | None:
        """Under which an answer is kept; None for what is not JSON, which the engine's call refuses.

        In MessagePack, which tells NaN from null and costs a fifth of holding JSON to its limits.
        """
        try:
            return self.place, batch.data.places[batch.states.runs[life]], msgspec.msgpack.encode(asked)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return None

    def _stand(self, batch: Underway, cohort: Cohort, found: Mapping[int, Kept]) -> None:
        name, lives = self.op.name, cohort.lives
        at_ms = milliseconds(batch.now() - batch.states.started)
        batch.events.append(
            Stood([(lives[row], cohort.path(row, name), answer) for row, answer in found.items()], at_ms)
        )
        for row, answer in found.items():
            if answer.record.rewards:
                batch.states.give(lives[row], answer.record.rewards)

    def _keep(
        self,
        batch: Underway,
        kept: KeptAnswers,
        cohort: Cohort,
        keys: Mapping[int, Key | None],
        values: list[Json],
        of_runs: Collection[Asked],
    ) -> None:
        """Keep what was answered, but not what answered in place of the component, nor what was drawn or otherwise of
        one run: another run of the request would be answered otherwise, and so would a training that is resumed."""
        recorded = batch.events[-1]
        assert isinstance(recorded, Recorded)
        of_path = {(life, record.path): record for life, records in recorded.records for record in records}
        for row, key in keys.items():
            life = cohort.lives[row]
            record = of_path.get((life, cohort.path(row, self.op.name)))
            if key is None or record is None or record.status is not StepStatus.OK:
                continue
            (state,) = batch.states.of([life])
            if not (record.actions or record.model_calls or (state.run.id, record.path) in of_runs):
                kept.put(key, Kept(output=values[row], record=record, run_id=state.run.id))


def rows_of(inputs: Mapping[str, Column], size: int) -> list[JsonObject]:
    """Columns as one object a row."""
    columns = [(name, column.json) for name, column in inputs.items()]
    return [{name: values[row] for name, values in columns} for row in range(size)]


def call_outside(
    batch: Underway,
    op: CallOp,
    cohort: Cohort,
    data: Sequence[JsonObject],
    length: int,
    of_runs: set[Asked] | None = None,
) -> Column:
    """What the component answers to each row; null in those that failed. `length` is that of the plan's frames.

    Calls of functions that ask which run they are in, or draw by its seed, are put into `of_runs`.
    """
    lives = [*cohort.lives]
    states = batch.states.of(lives)
    before = {life: len(state.run.steps) for life, state in zip(lives, states, strict=True)}
    stand_ins, told_of = _stand_ins(op, cohort, length), set() if of_runs is None else of_runs
    answers = batch.states.host.run(_all(batch, op, cohort, data, stand_ins, told_of))
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
    batch: Underway,
    op: CallOp,
    cohort: Cohort,
    data: Sequence[JsonObject],
    stand_ins: Sequence[Json],
    of_runs: set[Asked],
) -> list[JsonObject | StepFailed]:
    places: dict[int, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(cohort.parallel or cohort.size))

    async def one(row: int) -> JsonObject | StepFailed:
        life = cohort.lives[row]
        async with places[life]:
            return await _call(batch, op, cohort, row, data[row], stand_ins[row])

    with watched(lambda call: of_runs.add((call.run.id, call.path))):
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
