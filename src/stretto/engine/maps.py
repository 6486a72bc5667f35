"""Maps: a body for each item of a list."""

import asyncio

from stretto.engine.lanes import Lanes, RunBlock, stopped_itself
from stretto.engine.place import Place
from stretto.engine.state import Lane, StepFailed
from stretto.engine.taint import Taint, marks
from stretto.plan.model import MapOp
from stretto.types.enums import RunStatus, StepStatus
from stretto.types.errors import ContractError
from stretto.types.ids import StepPath
from stretto.types.json import Json


async def run_map(place: Place, op: MapOp, run_block: RunBlock) -> None:
    """Run the body for each item with at most `max_parallel` lanes; results in item order."""
    started, op = place.state.now(), place.state.as_set(op)
    each = None if place.taint is None else place.taint.of_body(op.over_reads | op.guard_reads)
    items = _items(place, op, each)
    mapped = _MapRun(place, op, items, each, run_block)
    if op.max_parallel == 1 or len(items) <= 1:
        await mapped.work(place.lane)
    else:
        lanes = Lanes(place.state.watch, place.lane.budget)
        for _ in range(min(op.max_parallel, len(items))):
            lanes.open(mapped.work, lanes)
        await lanes.end(place.lane.alarm)
    place.frame[op.slot] = {"items": mapped.results}
    record = place.record(StepStatus.OK, started, {"items": mapped.results})
    if mapped.failed:
        first = mapped.failed[min(mapped.failed)]
        record.status, record.reason, record.error = StepStatus.FALLBACK, first.reason, first.error
        record.evidence = {"failed_items": [int(index) for index in sorted(mapped.failed)]}
    place.end(op, record, is_marked=mapped.is_marked)


def _items(place: Place, op: MapOp, taint: Taint | None) -> list[Json]:
    simulated = marks(taint, op.over_reads)
    items = place.read(op.over, simulated=simulated)
    if items is None:
        return []
    if not isinstance(items, list):
        error = ContractError(f"for_each `{op.over_source}` is not a list: it reads {items!r:.80}")
        raise place.fail(error, simulated=simulated)
    return items


class _MapRun:
    """One map under way: items not yet taken, results by index."""

    __slots__ = (
        "_items",
        "_op",
        "_place",
        "_run_block",
        "_taint",
        "_todo",
        "failed",
        "is_marked",
        "results",
    )

    def __init__(self, place: Place, op: MapOp, items: list[Json], taint: Taint | None, run_block: RunBlock) -> None:
        self._place = place
        self._op = op
        self._items = items
        self._taint = taint
        self._run_block = run_block
        self._todo = iter(range(len(items)))
        self.results: list[Json] = [None] * len(items)
        self.failed: dict[int, StepFailed] = {}
        self.is_marked = marks(taint, ())
        """Whether an item's result stands downstream of a substitute, or how many items there are."""

    async def work(self, lane: Lane, beside: Lanes | None = None) -> None:
        """Take items one after the other until none is left, alone or beside other lanes."""
        op, place = self._op, self._place
        tail = "/" if op.body.ops[0].name else ""  # a map over one component has no name below its own
        for index in self._todo:
            own = place.frame.copy()
            own[op.item_slot] = self._items[index]
            own[op.index_slot] = index
            taint = None if self._taint is None else self._taint.of_body()
            path = f"{place.path}[{index}]"
            try:
                await self._run_block(place.state, op.body, own, path + tail, lane, taint)
            except asyncio.CancelledError as error:
                if beside is None or beside.is_stopping:
                    raise
                raise stopped_itself(StepPath(path)) from error
            except StepFailed as failure:
                if not op.null_on_error or failure.status is not RunStatus.FAILED:
                    raise
                self.failed[index] = failure
                self.is_marked |= failure.simulated
            else:
                self.results[index] = op.result(own)
                self.is_marked |= marks(taint, (inner.slot for inner in op.body.ops))
