"""Blocks, maps, loops and sub-workflows: the order in which steps are called.

A linear block runs in its caller's task. Any other block runs one *lane* (task) a branch: a finished step goes on
with the first step that it made ready and opens lanes for the others, so no step waits for a barrier that the data
flow does not ask for.
"""

import asyncio
from collections.abc import Iterator
from typing import assert_never

import msgspec
import orjson

from stretto.engine.call import StepCall
from stretto.engine.failure import error_info, reason_of
from stretto.engine.state import Lane, RunState, StepFailed
from stretto.engine.taint import Taint, marks
from stretto.plan.check import Check
from stretto.plan.model import AnyOp, Block, CallOp, Carry, Frame, Getter, LoopOp, MapOp, Op, SubOp
from stretto.record.canonical import exact, snapshot
from stretto.record.model import NULL, ErrorInfo, StepRecord, decoded
from stretto.types.budget import Budget
from stretto.types.enums import Reason, RunStatus, StepStatus
from stretto.types.errors import ContractError, ExpressionError, StrettoError
from stretto.types.ids import StepPath
from stretto.types.json import Json, JsonObject


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
    first, *others = (index for index, count in enumerate(block.indegree) if count == 0)
    try:
        async with asyncio.TaskGroup() as group:
            running = _GraphRun(state, block, frame, prefix, group, taint)
            for other in others:
                running.open_lane(other, lane.budget)
            await running.work(first, lane)
    except BaseExceptionGroup as failures:
        raise _first_failure(failures) from failures


class _GraphRun:
    """One block under way whose steps are not in a line: how many others each still waits for."""

    __slots__ = ("_block", "_frame", "_group", "_prefix", "_state", "_taint", "_waiting")

    def __init__(
        self,
        state: RunState,
        block: Block,
        frame: Frame,
        prefix: str,
        group: asyncio.TaskGroup,
        taint: Taint | None,
    ) -> None:
        self._state = state
        self._block = block
        self._frame = frame
        self._prefix = prefix
        self._group = group
        self._taint = taint
        self._waiting = list(block.indegree)

    def open_lane(self, index: int, budget: Budget) -> None:
        """Begin with a step in a task of its own."""
        self._group.create_task(self._work_in_own_lane(index, budget))

    async def work(self, index: int, lane: Lane) -> None:
        """Run a step, then what it made ready: the first here, the others in lanes of their own."""
        while True:
            await _run_op(self._state, self._block.ops[index], self._frame, self._prefix, lane, self._taint)
            ready = []
            for child in self._block.children[index]:
                self._waiting[child] -= 1
                if self._waiting[child] == 0:
                    ready.append(child)
            if not ready:
                return
            for other in ready[1:]:
                self.open_lane(other, lane.budget)
            index = ready[0]

    async def _work_in_own_lane(self, index: int, budget: Budget) -> None:
        await self.work(index, Lane(self._state.watch.alarm(), budget))


def _first_failure(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """What ended a group of lanes: a step in doubt before any other failure, and a broken engine before both."""
    leaves = list(_leaves(failures))
    for leaf in leaves:
        if not isinstance(leaf, StepFailed):
            return leaf
    return next((leaf for leaf in leaves if leaf.status is RunStatus.PARKED), leaves[0])  # type: ignore[attr-defined]  # all StepFailed here


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


async def _run_op(state: RunState, op: AnyOp, frame: Frame, prefix: str, lane: Lane, taint: Taint | None) -> None:
    """Run one step, if its guard lets it."""
    path = StepPath(prefix + op.name)
    if state.history is not None and (stands := state.history.structure(path)) is not None:
        frame[op.slot] = decoded(stands.output)
        return
    if op.guard is not None and not _guard_holds(state, op, op.guard, frame, path, taint):
        _end(state, op, _structural(state, path, StepStatus.SKIPPED, state.now()), taint, marks(taint, op.guard_reads))
        return
    if op.share is not None:
        lane = Lane(lane.alarm, lane.budget.shared(op.share))
    if type(op) is CallOp:
        simulated = taint is not None and taint.marks(op.reads)
        try:
            data = {name: get(frame) for name, get in op.inputs}
        except ExpressionError as error:
            raise _fail(state, path, error, simulated=simulated) from error
        call = StepCall(state, op, data, path, lane, simulated)
        frame[op.slot] = await call.run()
        if taint is not None:
            taint.put(op.slot, call.simulated)
    else:
        await _run_holder(state, op, frame, path, lane, taint)  # type: ignore[arg-type]  # the exact type above is faster than isinstance


async def _run_holder(
    state: RunState, op: LoopOp | MapOp | SubOp, frame: Frame, path: StepPath, lane: Lane, taint: Taint | None
) -> None:
    """Run a step that holds others. One of them that fails fails it too: its record says so, and which it was.

    A step in doubt leaves no record of those around it: the run is parked, and they go on when it is resumed.
    """
    started = state.now()
    try:
        if isinstance(op, LoopOp):
            await _run_loop(state, op, frame, path, lane, taint)
        elif isinstance(op, MapOp):
            await _run_map(state, op, frame, path, lane, taint)
        elif isinstance(op, SubOp):
            await _run_sub(state, op, frame, path, lane, taint)
        else:
            assert_never(op)
    except StepFailed as failure:
        if failure.status is not RunStatus.PARKED and failure.error.path != path:
            record = _failed(state, path, started, failure.error, failure.reason)
            _end(state, op, record, taint, failure.simulated)
        raise


def _end(state: RunState, op: Op, record: StepRecord, taint: Taint | None, is_marked: bool) -> None:
    """Keep the record of a step that calls nothing itself, and pass its mark on."""
    record.simulated = is_marked
    if taint is not None:
        taint.put(op.slot, is_marked)
    state.keep(record)


def _guard_holds(state: RunState, op: Op, guard: Getter, frame: Frame, path: StepPath, taint: Taint | None) -> bool:
    """Whether the condition reads true. Null is false: what it asks about was never written."""
    value = _read(state, guard, frame, path, simulated=taint is not None and taint.marks(op.guard_reads))
    if value is True:
        return True
    if value is False or value is None:
        return False
    error = ContractError(f"condition `{op.guard_source}` is not boolean: it reads {value!r}")
    raise _fail(state, path, error, simulated=marks(taint, op.guard_reads))


def _read(state: RunState, get: Getter, frame: Frame, path: StepPath, *, simulated: bool) -> Json:
    """What an expression of a step reads; one that cannot be evaluated fails the step."""
    try:
        return get(frame)
    except ExpressionError as error:
        raise _fail(state, path, error, simulated=simulated) from error


def _mapped(
    state: RunState, inputs: tuple[tuple[str, Getter], ...], frame: Frame, path: StepPath, *, simulated: bool
) -> JsonObject:
    """`_read` for each field of a mapping."""
    try:
        return {name: get(frame) for name, get in inputs}
    except ExpressionError as error:
        raise _fail(state, path, error, simulated=simulated) from error


# maps


async def _run_map(state: RunState, op: MapOp, frame: Frame, path: StepPath, lane: Lane, taint: Taint | None) -> None:
    """Run the body for each item with at most `max_parallel` lanes; results in item order."""
    started = state.now()
    each = None if taint is None else taint.of_body(op.over_reads | op.guard_reads)
    items = _items(state, op, frame, path, each)
    mapped = _MapRun(state, op, frame, path, items, each)
    if op.max_parallel == 1 or len(items) <= 1:
        await mapped.work(lane)
    else:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(op.max_parallel, len(items))):
                    group.create_task(mapped.work_in_own_lane(lane.budget))
        except BaseExceptionGroup as failures:
            raise _first_failure(failures) from failures
    frame[op.slot] = {"items": mapped.results}
    record = _structural(state, path, StepStatus.OK, started, {"items": mapped.results})
    if mapped.failed:
        first = mapped.failed[min(mapped.failed)]
        record.status, record.reason, record.error = StepStatus.FALLBACK, first.reason, first.error
        record.evidence = {"failed_items": [int(index) for index in sorted(mapped.failed)]}
    _end(state, op, record, taint, mapped.is_marked)


def _items(state: RunState, op: MapOp, frame: Frame, path: StepPath, taint: Taint | None) -> list[Json]:
    simulated = marks(taint, op.over_reads)
    items = _read(state, op.over, frame, path, simulated=simulated)
    if items is None:
        return []
    if not isinstance(items, list):
        error = ContractError(f"for_each `{op.over_source}` is not a list: it reads {items!r:.80}")
        raise _fail(state, path, error, simulated=simulated)
    return items


class _MapRun:
    """One map under way: items not yet taken, results by index."""

    __slots__ = ("_frame", "_items", "_op", "_path", "_state", "_taint", "_todo", "failed", "is_marked", "results")

    def __init__(
        self, state: RunState, op: MapOp, frame: Frame, path: StepPath, items: list[Json], taint: Taint | None
    ) -> None:
        self._state = state
        self._op = op
        self._frame = frame
        self._path = path
        self._items = items
        self._taint = taint
        self._todo = iter(range(len(items)))
        self.results: list[Json] = [None] * len(items)
        self.failed: dict[int, StepFailed] = {}
        self.is_marked = marks(taint, ())
        """Whether an item's result stands downstream of a substitute, or how many items there are."""

    async def work_in_own_lane(self, budget: Budget) -> None:
        """Work as a task of its own."""
        await self.work(Lane(self._state.watch.alarm(), budget))

    async def work(self, lane: Lane) -> None:
        """Take items one after the other until none is left."""
        op = self._op
        tail = "/" if op.body.ops[0].name else ""  # a map over one component has no name below its own
        for index in self._todo:
            own = self._frame.copy()
            own[op.item_slot] = self._items[index]
            own[op.index_slot] = index
            taint = None if self._taint is None else self._taint.of_body()
            try:
                await run_block(self._state, op.body, own, f"{self._path}[{index}]{tail}", lane, taint)
            except StepFailed as failure:
                if not op.null_on_error or failure.status is not RunStatus.FAILED:
                    raise
                self.failed[index] = failure
                self.is_marked |= failure.simulated
            else:
                self.results[index] = op.result(own)
                self.is_marked |= marks(taint, (inner.slot for inner in op.body.ops))


# loops


async def _run_loop(state: RunState, op: LoopOp, frame: Frame, path: StepPath, lane: Lane, outer: Taint | None) -> None:
    """Run rounds until the condition holds, at most `max_rounds`; a round sees the last only through its carries."""
    started = state.now()
    taint = None if outer is None else outer.of_body(op.guard_reads)
    carried = [_start(state, carry, frame, path, taint) for carry in op.carries]
    done = False
    rounds = 0
    own = frame
    while rounds < op.max_rounds and not done:
        own = frame.copy()
        _set_carries(op, own, carried)
        rounds += 1
        own[op.round_slot] = rounds
        await run_block(state, op.body, own, f"{path}[{rounds}]/", lane, taint)
        carried = _carry_on(state, op, own, carried, path, taint)
        _set_carries(op, own, carried)  # `until` asks about what the round came to
        if taint is not None:
            taint.decide(op.until_reads)
        done = op.until is not None and _read(state, op.until, own, path, simulated=marks(taint, ())) is True
    output: JsonObject = {
        "last": {name: own[slot] for name, slot in op.results},
        "rounds": rounds,
        "done": done,
        "carry": {carry.name: value for carry, value in zip(op.carries, carried, strict=True)},
    }
    frame[op.slot] = output
    written = (*(slot for _, slot in op.results), *(carry.slot for carry in op.carries))
    _end(state, op, _structural(state, path, StepStatus.OK, started, output), outer, marks(taint, written))


def _start(state: RunState, carry: Carry, frame: Frame, path: StepPath, taint: Taint | None) -> Json:
    """What a carry is before round 1."""
    simulated = marks(taint, carry.start_reads)
    if taint is not None:
        taint.put(carry.slot, simulated)
    return _read(state, carry.start, frame, path, simulated=simulated)


def _set_carries(op: LoopOp, own: Frame, carried: list[Json]) -> None:
    for carry, value in zip(op.carries, carried, strict=True):
        own[carry.slot] = value


def _carry_on(
    state: RunState, op: LoopOp, own: Frame, carried: list[Json], path: StepPath, taint: Taint | None
) -> list[Json]:
    """Values for the next round; what no step of this round wrote stays as it was."""
    following = []
    for carry, value in zip(op.carries, carried, strict=True):
        simulated = marks(taint, carry.next_reads)
        written = None if carry.next is None else _read(state, carry.next, own, path, simulated=simulated)
        following.append(value if written is None else written)
        if taint is not None and (written is not None or simulated):
            taint.put(carry.slot, simulated)
    return following


# sub-workflows


async def _run_sub(state: RunState, op: SubOp, frame: Frame, path: StepPath, lane: Lane, outer: Taint | None) -> None:
    """Run another workflow's plan inside this run, from this run's budget."""
    started = state.now()
    plan = op.plan
    taint = None if outer is None else outer.of_sub(op.reads, op.guard_reads)
    simulated = marks(outer, op.reads)
    data = _mapped(state, op.inputs, frame, path, simulated=simulated)
    _hold(state, path, f"the input of sub-workflow '{plan.name}'", plan.input_check, data, simulated=simulated)
    budget = lane.budget.child(plan.budget, started)
    own: Frame = [None] * plan.slots
    own[: len(frame[:4])] = [data, *frame[1:4]]
    await run_block(state, plan.body, own, f"{path}/", Lane(lane.alarm, budget), taint)
    simulated = marks(taint, plan.output_reads)
    output = _mapped(state, plan.output, own, path, simulated=simulated)
    _hold(state, path, f"the output of sub-workflow '{plan.name}'", plan.output_check, output, simulated=simulated)
    frame[op.slot] = output
    record = _structural(state, path, StepStatus.OK, started, output)
    record.input = msgspec.Raw(snapshot(data))
    _end(state, op, record, outer, simulated)


def _hold(
    state: RunState, path: StepPath, what: str, check: Check | None, value: JsonObject, *, simulated: bool
) -> None:
    if check is not None and (violations := check.violations(value)):
        raise _fail(state, path, ContractError(f"{what} breaks its schema:", violations), simulated=simulated)


# records of steps that call nothing themselves


def _structural(
    state: RunState, path: StepPath, status: StepStatus, started: float, output: JsonObject | None = None
) -> StepRecord:
    return StepRecord(
        path=path,
        status=status,
        started_ms=state.ms(started),
        ended_ms=state.ms(state.now()),
        output=NULL if output is None else msgspec.Raw(exact(orjson.dumps(output))),
    )


def _fail(state: RunState, path: StepPath, error: StrettoError, *, simulated: bool) -> StepFailed:
    """Record a step that failed before it could call anything."""
    info: ErrorInfo = error_info(error, path)
    reason: Reason = reason_of(error)
    record = _failed(state, path, state.now(), info, reason)
    record.simulated = simulated
    state.keep(record)
    return StepFailed(info, reason, simulated=simulated)


def _failed(state: RunState, path: StepPath, started: float, error: ErrorInfo, reason: Reason) -> StepRecord:
    record = _structural(state, path, StepStatus.FAILED, started)
    record.reason, record.error = reason, error
    return record
