"""Maps: the items of all rows go through the body together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stretto.engine.state import StepFailed
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.columns import Column, Fields, Rows, Tensors
from stretto.learn.differentiable.frame import ColumnFrame
from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.lists import Lists
from stretto.learn.differentiable.node import Node, run_block
from stretto.learn.differentiable.reading import column_of, source_of
from stretto.learn.differentiable.underway import Held, Underway
from stretto.plan.model import MapOp
from stretto.types.enums import RunStatus
from stretto.types.errors import ContractError


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """Of all rows that have a list."""

    column: Column
    """One after the other."""
    counts: Sequence[int | None]
    """Of each row; None in those that failed."""

    @property
    def rows(self) -> list[int]:
        """Of each item, whose it is."""
        return [row for row, count in enumerate(self.counts) for _ in range(count or 0)]

    @property
    def places(self) -> list[int]:
        """Of each item, where it stands in its list."""
        return [place for count in self.counts for place in range(count or 0)]


class MapNode(Node):
    """A step for each item of a list."""

    def __init__(self, op: MapOp, body: Sequence[Node], length: int, place: str) -> None:
        super().__init__(op, (), length, place)
        self.map = op
        self.body = body
        self.over = source_of(op.over, op.over_reads, length)
        everything = frozenset(node.op.slot for node in body)
        self.result = source_of(op.result, everything, length)

    def work(self, batch: Underway, cohort: Cohort, inputs: Mapping[str, Column]) -> Column:  # noqa: ARG002  # it reads its own
        started = batch.now()
        items = self._items(batch, cohort)
        rows, places = items.rows, items.places
        frame = ColumnFrame(len(rows), parent=cohort.frame, index=Index(rows))
        frame.put(self.map.item_slot, items.column)
        frame.put(self.map.index_slot, Rows([*places]))
        tail = "/" if self.body and self.body[0].op.name else ""
        heads = cohort.paths(self.op.name)
        prefix = [f"{heads[row]}[{place}]{tail}" for row, place in zip(rows, places, strict=True)]
        within = cohort.inside(frame, prefix, rows, parallel=self.map.max_parallel)
        run_block(batch, self.body, within)
        result, _ = column_of(self.result, frame)
        output: Column = Fields({"items": Lists(_but_failed(result, within), items.counts)}, cohort.size)
        failures = self._failures(within, rows, places)
        held = [row for row in range(cohort.size) if row not in failures and row not in cohort.failed]
        self._hold(batch, cohort, output, held, started, noted=self._tolerated(within, rows, places))
        for row, failure in failures.items():
            batch.hold_failure(cohort, row, self.op.name, started, failure)
        if len(held) == cohort.size:
            return output
        return output.take(Index(held)).scatter(Index(held), cohort.size)

    def _items(self, batch: Underway, cohort: Cohort) -> Items:
        column, failed = column_of(self.over, cohort.frame)
        for row, error in failed.items():
            batch.refuse(cohort, row, self.op.name, error)
        if isinstance(column, Tensors) and column.present is None and column.value.dim() > 1:
            count = column.value.shape[1]
            flat = column.value.reshape(cohort.size * count, *column.value.shape[2:])
            return Items(column=Tensors(flat), counts=[count] * cohort.size)
        if isinstance(column, Lists):
            return Items(column=column.items, counts=[0 if count is None else count for count in column.counts])
        counts: list[int | None] = []
        values = []
        for row, value in enumerate(column.json):
            if row in cohort.failed:
                counts.append(None)
            elif value is None or isinstance(value, list):
                counts.append(len(value or ()))
                values += value or []
            else:
                told = f"for_each `{self.map.over_source}` is not a list: it reads {value!r:.80}"
                batch.refuse(cohort, row, self.op.name, ContractError(told))
                counts.append(None)
        return Items(column=Rows(values), counts=counts)

    def _failures(self, within: Cohort, rows: Sequence[int], places: Sequence[int]) -> dict[int, StepFailed]:
        """Rows that fail because an item of theirs did: of each the first such item's failure."""
        found: dict[int, StepFailed] = {}
        for item in sorted(within.failed, key=lambda each: (rows[each], places[each])):
            failure = within.failed[item]
            if not self.map.null_on_error or failure.status is not RunStatus.FAILED:
                found.setdefault(rows[item], failure)
        return found

    def _tolerated(
        self, within: Cohort, rows: Sequence[int], places: Sequence[int]
    ) -> dict[int, dict[int, StepFailed]]:
        """Row → its items that failed, and count as null."""
        found: dict[int, dict[int, StepFailed]] = {}
        if self.map.null_on_error:
            for item, failure in within.failed.items():
                found.setdefault(rows[item], {})[places[item]] = failure
        return found

    def _hold(
        self,
        batch: Underway,
        cohort: Cohort,
        output: Column,
        held: list[int],
        started: float,
        *,
        noted: Mapping[int, Mapping[int, StepFailed]],
    ) -> None:
        """Note that the step ended in these rows; that of one with items that failed is recorded as a fallback."""
        plain = [row for row in held if row not in noted]
        if plain:
            all_of_them = len(plain) == cohort.size
            within = cohort if all_of_them else cohort.narrowed(plain)
            column = output if all_of_them else output.take(Index(plain))
            batch.events.append(
                Held(op=self.op, cohort=within, started=started, ended=batch.now(), input=None, output=column)
            )
        for row in (row for row in held if row in noted):
            batch.hold_items(cohort, row, self.op.name, started, output.json[row], noted[row])


def _but_failed(result: Column, within: Cohort) -> Column:
    """Results with null for items that failed, whatever their steps had come to."""
    if not within.failed:
        return result
    alive = Index(within.alive() or [])
    return result.take(alive).scatter(alive, within.size)
