"""Steps as the batch interpreter has them: what can be decided once is decided when the module is made."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.columns import Column
from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.reading import Expression, Source, column_at, column_of, source_of
from stretto.learn.differentiable.underway import Skipped, Underway
from stretto.plan.model import AnyOp, Getter
from stretto.types.errors import ContractError, ExpressionError


class Node(ABC):
    """One step."""

    def __init__(self, op: AnyOp, inputs: Sequence[tuple[str, Getter]], length: int, place: str) -> None:
        """`length` is that of the plan's frames."""
        self.op = op
        self.place = place
        """In the workflow, with the steps around it: ``talk/executor``."""
        self.length = length
        self.inputs: tuple[tuple[str, Source], ...] = tuple(
            (name, source_of(get, op.reads, length)) for name, get in inputs
        )
        self.guard = None if op.guard is None else Expression(op.guard, op.guard_reads, length)
        self.paths = [(name, source) for name, source in self.inputs if not isinstance(source, Expression)]
        """The inputs that no row can fail to read."""
        self.is_for_all = self.guard is None and len(self.paths) == len(self.inputs)
        """It is done in every row that is alive, and in one as in another."""

    @abstractmethod
    def work(self, batch: Underway, cohort: Cohort, inputs: Mapping[str, Column]) -> Column:
        """What the step comes to in all rows of a cohort; rows that fail are noted there, and null here."""

    def read(self, batch: Underway, cohort: Cohort) -> dict[str, Column]:  # noqa: ARG002  # what a module reads, its batch keeps
        """What stands at the paths that the step reads."""
        return {name: column_at(source, cohort.frame) for name, source in self.paths}

    def run(self, batch: Underway, cohort: Cohort) -> None:
        """Do the step in the rows that are alive and that its condition lets; its column is in the frame afterwards."""
        if self.is_for_all and not cohort.failed and cohort.size:
            cohort.frame.put(self.op.slot, self.work(batch, cohort, self.read(batch, cohort)))
            return
        rows = self._let(batch, cohort, cohort.alive())
        if not cohort.size or (rows is not None and not rows):
            return
        within = cohort.narrowed(rows)
        inputs: dict[str, Column] = {}
        for name, source in self.inputs:
            inputs[name], failed = column_of(source, within.frame)
            self._refuse(batch, within, failed)
        cohort.fail(within, rows)
        if within.failed:
            kept = within.alive() or []
            rows = [kept_row if rows is None else rows[kept_row] for kept_row in kept]
            if not rows:
                return
            within, index = cohort.narrowed(rows), Index(kept)
            inputs = {name: column.take(index) for name, column in inputs.items()}
        column = self.work(batch, within, inputs)
        cohort.frame.put(self.op.slot, column if rows is None else column.scatter(Index(rows), cohort.size))
        cohort.fail(within, rows)

    def _refuse(self, batch: Underway, cohort: Cohort, failed: Mapping[int, ExpressionError]) -> None:
        for row, error in failed.items():
            if row not in cohort.failed:
                batch.refuse(cohort, row, self.op.name, error)

    def _let(self, batch: Underway, cohort: Cohort, rows: list[int] | None) -> list[int] | None:
        """The rows whose condition holds; the others are skipped."""
        if self.guard is None:
            return rows
        now = batch.now()
        within = cohort.narrowed(rows)
        let, skipped = [], []
        for row, frame in enumerate(self.guard.frames(within.frame)):
            try:
                asked = self.guard.getter(frame)
            except ExpressionError as error:
                batch.refuse(within, row, self.op.name, error)
                continue
            if asked is True:
                let.append(row)
            elif asked is False or asked is None:
                skipped.append(row)
            else:
                told = f"condition `{self.op.guard_source}` is not boolean: it reads {asked!r}"
                batch.refuse(within, row, self.op.name, ContractError(told))
        cohort.fail(within, rows)
        if skipped:
            left_out = within.narrowed(skipped)
            batch.events.append(Skipped(op=self.op, cohort=left_out, started=now, ended=now))
        if len(let) == within.size:
            return rows
        return let if rows is None else [rows[row] for row in let]


def run_block(batch: Underway, nodes: Sequence[Node], cohort: Cohort) -> None:
    """Do the steps of a block, which follow what they need."""
    for node in nodes:
        node.run(batch, cohort)
