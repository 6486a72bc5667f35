"""Blocks: the order in which steps are called.

A linear block runs in its caller's task. Any other block runs one *lane* (task) a branch, beside its caller's: a
finished step goes on with the first step that it made ready and opens lanes for the others, so no step waits for a
barrier that the data flow does not ask for.
"""

import asyncio
from typing import assert_never

from stretto.engine.call import StepCall
from stretto.engine.lanes import Lanes, stopped_itself
from stretto.engine.loops import run_loop
from stretto.engine.maps import run_map
from stretto.engine.place import Place
from stretto.engine.seen import look
from stretto.engine.state import Lane, RunState, StepFailed
from stretto.engine.sub import run_sub
from stretto.engine.taint import Taint, marks
from stretto.plan.model import AnyOp, Block, CallOp, Frame, LoopOp, MapOp, Op, SubOp
from stretto.record.model import decoded
from stretto.types.enums import RunStatus, StepStatus
from stretto.types.errors import ContractError, ExpressionError
from stretto.types.ids import StepPath


async def run_block(
    state: RunState, block: Block, frame: Frame, prefix: str, lane: Lane, taint: Taint | None = None
) -> None:
    """Run every step of a block; its outputs are in `frame` afterwards, and a replay's marks on them in `taint`.

    Raises StepFailed when a step fails.
    """
    if block.linear:
        for op in block.ops:
            await _run_op(state, op, frame, prefix, lane, taint)
        return
    lanes = Lanes(state.watch, lane.budget)
    running = _GraphRun(state, block, frame, prefix, lanes, taint)
    for index, count in enumerate(block.indegree):
        if count == 0:
            lanes.open(running.work, index)
    await lanes.end(lane.alarm)


class _GraphRun:
    """One block under way whose steps are not in a line: how many others each still waits for."""

    __slots__ = ("_block", "_frame", "_lanes", "_prefix", "_state", "_taint", "_waiting")

    def __init__(
        self, state: RunState, block: Block, frame: Frame, prefix: str, lanes: Lanes, taint: Taint | None
    ) -> None:
        self._state = state
        self._block = block
        self._frame = frame
        self._prefix = prefix
        self._lanes = lanes
        self._taint = taint
        self._waiting = list(block.indegree)

    async def work(self, lane: Lane, index: int) -> None:
        """Run a step, then what it made ready: the first in this lane, the others in lanes of their own."""
        while True:
            op = self._block.ops[index]
            try:
                await _run_op(self._state, op, self._frame, self._prefix, lane, self._taint)
            except asyncio.CancelledError as error:
                if self._lanes.is_stopping:
                    raise
                raise stopped_itself(StepPath(self._prefix + op.name)) from error
            ready = []
            for child in self._block.children[index]:
                self._waiting[child] -= 1
                if self._waiting[child] == 0:
                    ready.append(child)
            if not ready:
                return
            for other in ready[1:]:
                self._lanes.open(self.work, other)
            index = ready[0]


async def _run_op(state: RunState, op: AnyOp, frame: Frame, prefix: str, lane: Lane, taint: Taint | None) -> None:
    """Run one step, if its guard lets it."""
    path = StepPath(prefix + op.name)
    if state.history is not None and (stands := state.history.structure(path)) is not None:
        frame[op.slot] = decoded(stands.output)
        return
    own = op
    if state.retuned:
        op = state.retuned.get(id(op), op)
    made = None  # a write that this run sent before it was interrupted, on what it saw then
    if op.resources and state.live is not None:
        made = look(state, op.resources, frame, path)
    if op.guard is not None and made is None:
        try:
            asked = op.guard(frame)
        except ExpressionError as error:
            place = Place(state, frame, path, lane, taint)
            raise place.fail(error, simulated=marks(taint, op.guard_reads)) from error
        if asked is not True:
            _skip(Place(state, frame, path, lane, taint), op, asked)
            return
    if op.share is not None:
        lane = Lane(lane.alarm, lane.budget.shared(op.share))
    if type(op) is CallOp:
        simulated = taint is not None and taint.marks(op.reads)
        try:
            data = made
            if data is None:
                data = {}
                for name, get in op.inputs:  # a comprehension is a call, before Python 3.12
                    data[name] = get(frame)
        except ExpressionError as error:
            raise Place(state, frame, path, lane, taint).fail(error, simulated=simulated) from error
        call = StepCall(state, op, data, path, lane, state.now(), op.action, op.effect, simulated)
        if op.fallback is not None and op.fallback.get is not None:
            call.stand_in = op.fallback.get(frame)
        frame[op.slot] = await call.run()
        if lane.alarm.is_task_cancelled:  # the component answered over it; nothing more is begun
            raise asyncio.CancelledError
        if taint is not None:
            taint.put(op.slot, call.simulated)
    else:
        await _run_holder(Place(state, frame, path, lane, taint), own)  # type: ignore[arg-type]  # the exact type above is faster than isinstance


def _skip(place: Place, op: Op, asked: object) -> None:
    """Leave a step out whose condition does not read true. Null is false: what it asks about was never written."""
    is_marked = marks(place.taint, op.guard_reads)
    if asked is not False and asked is not None:
        error = ContractError(f"condition `{op.guard_source}` is not boolean: it reads {asked!r}")
        raise place.fail(error, simulated=is_marked)
    place.end(op, place.record(StepStatus.SKIPPED, place.state.now()), is_marked=is_marked)


async def _run_holder(place: Place, op: LoopOp | MapOp | SubOp) -> None:
    """Run a step that holds others. One of them that fails fails it too: its record says so, and which it was.

    A step in doubt leaves no record of those around it: the run is parked, and they go on when it is resumed.
    """
    started = place.state.now()
    try:
        if isinstance(op, LoopOp):
            await run_loop(place, op, run_block)
        elif isinstance(op, MapOp):
            await run_map(place, op, run_block)
        elif isinstance(op, SubOp):
            await run_sub(place, op, run_block)
        else:
            assert_never(op)
    except StepFailed as failure:
        if failure.status is not RunStatus.PARKED and failure.error.path != place.path:
            place.end(op, place.failure(started, failure.error, failure.reason), is_marked=failure.simulated)
        raise
