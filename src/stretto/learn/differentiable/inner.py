"""Sub-workflows: another plan on a frame of its own."""

from collections.abc import Mapping, Sequence
from functools import partial

from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.columns import Column, Fields
from stretto.learn.differentiable.frame import ColumnFrame
from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.node import Node, run_block
from stretto.learn.differentiable.reading import column_of, source_of
from stretto.learn.differentiable.underway import Held, Underway
from stretto.plan.check import Check
from stretto.plan.model import FIRST_FREE_SLOT, INPUT, SubOp
from stretto.types.budget import Budget
from stretto.types.errors import ContractError


class SubNode(Node):
    """Another workflow as one step."""

    def __init__(self, op: SubOp, body: Sequence[Node], length: int, place: str) -> None:
        super().__init__(op, op.inputs, length, place)
        self.sub = op
        self.body = body
        plan = op.plan
        self.output = [(name, source_of(get, plan.output_reads, plan.slots)) for name, get in plan.output]

    def work(self, batch: Underway, cohort: Cohort, inputs: Mapping[str, Column]) -> Column:
        started, plan = batch.now(), self.sub.plan
        data: Column = Fields(inputs, cohort.size)
        self._hold(batch, cohort, plan.input_check, data, f"the input of sub-workflow '{plan.name}'")
        kept = cohort.alive()
        outer = cohort.narrowed(kept)
        data = data if kept is None else data.take(Index(kept))
        within = self._within(outer, data, started)
        run_block(batch, self.body, within)
        output = self._answer(batch, outer, within)
        for row, failure in within.failed.items():
            if row not in outer.failed:
                batch.hold_failure(outer, row, self.op.name, started, failure)
        self._hold(batch, outer, plan.output_check, output, f"the output of sub-workflow '{plan.name}'")
        self._end(batch, outer, output, data, started)
        cohort.fail(outer, kept)
        if outer.failed:
            alive = Index(outer.alive() or [])
            output = output.take(alive).scatter(alive, outer.size)
        return output if kept is None else output.scatter(Index(kept), cohort.size)

    def _within(self, outer: Cohort, data: Column, started: float) -> Cohort:
        """The same rows inside, on a frame that has their input, and what stands outside for all plans."""
        own = ColumnFrame(outer.size)
        own.put(INPUT, data)
        for slot in range(INPUT + 1, FIRST_FREE_SLOT):
            column = outer.frame.get(slot)
            if column is not None:
                own.put(slot, column)
        budget = partial(_child, outer, self.sub.plan.budget, started, {})
        heads = [f"{head}/" for head in outer.paths(self.op.name)]
        return outer.inside(own, heads, [*range(outer.size)], budget=budget)

    def _answer(self, batch: Underway, outer: Cohort, within: Cohort) -> Column:
        """What the sub-workflow answers; rows fail in which an expression of it does."""
        fields: dict[str, Column] = {}
        for name, source in self.output:
            fields[name], failed = column_of(source, within.frame)
            for row, error in failed.items():
                if row not in within.failed:
                    batch.refuse(outer, row, self.op.name, error)
                    within.failed[row] = outer.failed[row]
        return Fields(fields, outer.size)

    def _hold(self, batch: Underway, cohort: Cohort, check: Check | None, column: Column, what: str) -> None:
        """Let rows fail whose value breaks a schema."""
        if check is None:
            return
        for row, value in enumerate(column.json):
            if row not in cohort.failed and not check.is_valid(value):
                error = ContractError(f"{what} breaks its schema:", check.violations(value))
                batch.refuse(cohort, row, self.op.name, error)

    def _end(self, batch: Underway, cohort: Cohort, output: Column, data: Column, started: float) -> None:
        alive = cohort.alive()
        within = cohort.narrowed(alive)
        if alive is not None:
            output, data = output.take(Index(alive)), data.take(Index(alive))
        batch.events.append(
            Held(op=self.op, cohort=within, started=started, ended=batch.now(), input=data, output=output)
        )


def _child(cohort: Cohort, spec: object, started: float, made: dict[int, Budget], row: int) -> Budget:
    """What a row may spend inside: the same for all its steps."""
    if row not in made:
        made[row] = cohort.budget(row).child(spec, started)  # type: ignore[arg-type]  # the plan's budget
    return made[row]
