"""Loops: rounds in step, each of the rows that are not done."""

from collections.abc import Mapping, Sequence

from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.columns import Column, Fields, Rows, nulls
from stretto.learn.differentiable.frame import ColumnFrame
from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.merging import first_of, select
from stretto.learn.differentiable.node import Node, run_block
from stretto.learn.differentiable.reading import Expression, column_of, source_of
from stretto.learn.differentiable.underway import Held, Underway
from stretto.plan.model import LoopOp
from stretto.types.errors import ExpressionError


class LoopNode(Node):
    """A body that is repeated, at most `max_rounds` times."""

    def __init__(self, op: LoopOp, body: Sequence[Node], length: int, place: str) -> None:
        super().__init__(op, (), length, place)
        self.loop = op
        self.body = body
        self.starts = [source_of(carry.start, carry.start_reads, length) for carry in op.carries]
        self.nexts = [
            None if carry.next is None else source_of(carry.next, carry.next_reads, length) for carry in op.carries
        ]
        self._until = None if op.until is None else Expression(op.until, op.until_reads, length)

    def work(self, batch: Underway, cohort: Cohort, inputs: Mapping[str, Column]) -> Column:  # noqa: ARG002  # it reads its own
        started = batch.now()
        carried = []
        for source in self.starts:
            column, failed = column_of(source, cohort.frame)
            self._refuse(batch, cohort, failed)
            carried.append(column)
        output: Column | None = None
        rows = cohort.living()
        rounds = 0
        while rows and rounds < self.loop.max_rounds:
            rounds += 1
            within, carried = self._round(batch, cohort, rows, carried, rounds, started)
            done = self._done(batch, within, cohort, rows)
            is_last = rounds == self.loop.max_rounds
            over = [row for row in within.living() if done[row] or is_last]
            ended = self._ended(within, carried, rounds, done).take(Index(over))
            output = _with(output, ended, [rows[row] for row in over], cohort.size)
            on = [row for row in within.living() if not (done[row] or is_last)]
            carried = [each.take(Index(on)) for each in carried]
            rows = [rows[row] for row in on]
        found = output or nulls(cohort.size)
        self._hold(batch, cohort, found, started)
        return found

    def _ended(self, within: Cohort, carried: Sequence[Column], rounds: int, done: Sequence[bool]) -> Fields:
        """What the loop comes to in rows that end with this round."""
        last = {name: within.frame.get(slot) or nulls(within.size) for name, slot in self.loop.results}
        carry = {each.name: column for each, column in zip(self.loop.carries, carried, strict=True)}
        fields: dict[str, Column] = {
            "last": Fields(last, within.size),
            "rounds": Rows([rounds] * within.size),
            "done": Rows([*done]),
            "carry": Fields(carry, within.size),
        }
        return Fields(fields, within.size)

    def _round(
        self, batch: Underway, cohort: Cohort, rows: list[int], carried: list[Column], number: int, started: float
    ) -> tuple[Cohort, list[Column]]:
        """One round of some rows; what it carries on."""
        frame = ColumnFrame(len(rows), parent=cohort.frame, index=Index(rows))
        self._set(frame, carried)
        frame.put(self.loop.round_slot, Rows([number] * len(rows)))
        heads = cohort.paths(self.op.name)
        within = cohort.inside(frame, [f"{heads[row]}[{number}]/" for row in rows], rows)
        run_block(batch, self.body, within)
        following = []
        for source, before in zip(self.nexts, carried, strict=True):
            if source is None:
                following.append(before)
                continue
            written, failed = column_of(source, frame)
            self._fail_loop(batch, within, failed, cohort, rows)
            following.append(first_of([written, before]))
        self._set(frame, following)  # `until` asks about what the round came to
        for row, failure in within.failed.items():
            batch.hold_failure(cohort, rows[row], self.op.name, started, failure)
        return within, following

    def _done(self, batch: Underway, within: Cohort, cohort: Cohort, rows: list[int]) -> list[bool]:
        """Of each row, whether its condition holds."""
        if self._until is None:
            return [False] * within.size
        done = [False] * within.size
        for row, frame in enumerate(self._until.frames(within.frame)):
            if row in within.failed:
                continue
            try:
                done[row] = self._until.getter(frame) is True
            except ExpressionError as error:
                self._fail_loop(batch, within, {row: error}, cohort, rows)
        return done

    def _fail_loop(
        self, batch: Underway, within: Cohort, failed: Mapping[int, ExpressionError], cohort: Cohort, rows: list[int]
    ) -> None:
        """Let rows fail at the loop itself."""
        for row, error in failed.items():
            if row not in within.failed:
                batch.refuse(cohort, rows[row], self.op.name, error)
                within.failed[row] = cohort.failed[rows[row]]

    def _set(self, frame: ColumnFrame, carried: Sequence[Column]) -> None:
        for carry, column in zip(self.loop.carries, carried, strict=True):
            frame.put(carry.slot, column)

    def _hold(self, batch: Underway, cohort: Cohort, output: Column, started: float) -> None:
        alive = cohort.alive()
        within = cohort.narrowed(alive)
        column = output if alive is None else output.take(Index(alive))
        batch.events.append(
            Held(op=self.op, cohort=within, started=started, ended=batch.now(), input=None, output=column)
        )


def _with(output: Column | None, ended: Column, rows: list[int], size: int) -> Column | None:
    """What rows came to that are over, beside those that were before."""
    if not rows:
        return output
    index = Index(rows)
    column = ended if rows == [*range(size)] else ended.scatter(index, size)
    return column if output is None else select(index.mask(size), column, output)
