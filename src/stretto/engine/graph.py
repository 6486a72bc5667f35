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
from stretto.plan.check import Check
from stretto.plan.model import AnyOp, Block, CallOp, Frame, Getter, LoopOp, MapOp, Op, SubOp
from stretto.record.canonical import snapshot
from stretto.record.model import NULL, ErrorInfo, StepRecord, decoded
from stretto.types.budget import Budget
from stretto.types.enums import Reason, RunStatus, StepStatus
from stretto.types.errors import ContractError, ExpressionError, StrettoError
from stretto.types.ids import StepPath
from stretto.types.json import Json, JsonObject


async def run_block(state: RunState, block: Block, frame: Frame, prefix: str, lane: Lane) -> None:
    """Run every step of a block; its outputs are in `frame` afterwards. Raises StepFailed when a step fails."""
    if block.linear:
        for op in block.ops:
            await _run_op(state, op, frame, prefix, lane)
        return
    waiting = list(block.indegree)
    first, *others = (index for index, count in enumerate(block.indegree) if count == 0)
    try:
        async with asyncio.TaskGroup() as group:
            for other in others:
                group.create_task(_run_own_lane(state, block, other, waiting, frame, prefix, lane, group))
            await _run_lane(state, block, first, waiting, frame, prefix, lane, group)
    except BaseExceptionGroup as failures:
        raise _first_failure(failures) from failures


async def _run_lane(
    state: RunState,
    block: Block,
    index: int,
    waiting: list[int],
    frame: Frame,
    prefix: str,
    lane: Lane,
    group: asyncio.TaskGroup,
) -> None:
    """Run a step, then what it made ready: the first here, the others in lanes of their own."""
    while True:
        await _run_op(state, block.ops[index], frame, prefix, lane)
        ready = []
        for child in block.children[index]:
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
        if not ready:
            return
        for other in ready[1:]:
            group.create_task(_run_own_lane(state, block, other, waiting, frame, prefix, lane, group))
        index = ready[0]


async def _run_own_lane(
    state: RunState,
    block: Block,
    index: int,
    waiting: list[int],
    frame: Frame,
    prefix: str,
    parent: Lane,
    group: asyncio.TaskGroup,
) -> None:
    """A lane that is a task of its own."""
    lane = Lane(state.watch.alarm(), parent.budget)
    await _run_lane(state, block, index, waiting, frame, prefix, lane, group)


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


async def _run_op(state: RunState, op: AnyOp, frame: Frame, prefix: str, lane: Lane) -> None:
    """Run one step, if its guard lets it."""
    path = StepPath(prefix + op.name)
    if state.history is not None and (stands := state.history.structure(path)) is not None:
        frame[op.slot] = decoded(stands.output)
        return
    if op.guard is not None and not _guard_holds(state, op, frame, path):
        state.keep(_structural(state, path, StepStatus.SKIPPED, state.now()))
        return
    if op.share is not None:
        lane = Lane(lane.alarm, lane.budget.shared(op.share))
    if type(op) is CallOp:
        data = _mapped(state, op.inputs, frame, path)
        frame[op.slot] = await StepCall(state, op, data, path, lane).run()
    elif type(op) is LoopOp:
        await _run_loop(state, op, frame, path, lane)
    elif type(op) is MapOp:
        await _run_map(state, op, frame, path, lane)
    elif type(op) is SubOp:
        await _run_sub(state, op, frame, path, lane)
    else:
        assert_never(op)  # type: ignore[arg-type]  # exact types above are faster than isinstance, and exhaustive


def _guard_holds(state: RunState, op: Op, frame: Frame, path: StepPath) -> bool:
    """Whether the condition reads true. Null is false: what it asks about was never written."""
    if op.guard is None:
        return True
    try:
        value = op.guard(frame)
    except ExpressionError as error:
        raise _fail(state, path, error) from error
    if value is True:
        return True
    if value is False or value is None:
        return False
    raise _fail(state, path, ContractError(f"condition `{op.guard_source}` is not boolean: it reads {value!r}"))


def _mapped(state: RunState, inputs: tuple[tuple[str, Getter], ...], frame: Frame, path: StepPath) -> JsonObject:
    try:
        return {name: get(frame) for name, get in inputs}
    except ExpressionError as error:
        raise _fail(state, path, error) from error


# maps


async def _run_map(state: RunState, op: MapOp, frame: Frame, path: StepPath, lane: Lane) -> None:
    """Run the body for each item with at most `max_parallel` lanes; results in item order."""
    started = state.now()
    items = _items(state, op, frame, path)
    if state.tainted and not state.tainted.isdisjoint(op.reads):
        state.tainted |= {op.item_slot, op.slot}
    mapped = _MapRun(state, op, frame, path, items)
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
    state.keep(record)


def _items(state: RunState, op: MapOp, frame: Frame, path: StepPath) -> list[Json]:
    try:
        items = op.over(frame)
    except ExpressionError as error:
        raise _fail(state, path, error) from error
    if items is None:
        return []
    if not isinstance(items, list):
        raise _fail(state, path, ContractError(f"for_each `{op.over_source}` is not a list: it reads {items!r:.80}"))
    return items


class _MapRun:
    """One map under way: items not yet taken, results by index."""

    __slots__ = ("_frame", "_items", "_op", "_path", "_state", "_todo", "failed", "results")

    def __init__(self, state: RunState, op: MapOp, frame: Frame, path: StepPath, items: list[Json]) -> None:
        self._state = state
        self._op = op
        self._frame = frame
        self._path = path
        self._items = items
        self._todo = iter(range(len(items)))
        self.results: list[Json] = [None] * len(items)
        self.failed: dict[int, StepFailed] = {}

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
            try:
                await run_block(self._state, op.body, own, f"{self._path}[{index}]{tail}", lane)
            except StepFailed as failure:
                if not op.null_on_error or failure.status is not RunStatus.FAILED:
                    raise
                self.failed[index] = failure
            else:
                self.results[index] = op.result(own)


# loops


async def _run_loop(state: RunState, op: LoopOp, frame: Frame, path: StepPath, lane: Lane) -> None:
    """Run rounds until the condition holds, at most `max_rounds`; a round sees the last only through its carries."""
    started = state.now()
    try:
        carried = [carry.start(frame) for carry in op.carries]
    except ExpressionError as error:
        raise _fail(state, path, error) from error
    if state.tainted and not state.tainted.isdisjoint(op.reads):
        state.tainted.update(carry.slot for carry in op.carries)
    done = False
    rounds = 0
    own = frame
    while rounds < op.max_rounds and not done:
        own = frame.copy()
        for carry, value in zip(op.carries, carried, strict=True):
            own[carry.slot] = value
        rounds += 1
        own[op.round_slot] = rounds
        await run_block(state, op.body, own, f"{path}[{rounds}]/", lane)
        carried = _carry_on(state, op, own, carried, path)
        for carry, value in zip(op.carries, carried, strict=True):
            own[carry.slot] = value  # `until` asks about what the round came to
        done = _is_done(state, op, own, path)
    output: JsonObject = {
        "last": {name: own[slot] for name, slot in op.results},
        "rounds": rounds,
        "done": done,
        "carry": {carry.name: value for carry, value in zip(op.carries, carried, strict=True)},
    }
    frame[op.slot] = output
    if state.tainted and any(slot in state.tainted for _, slot in op.results):
        state.tainted.add(op.slot)
    state.keep(_structural(state, path, StepStatus.OK, started, output))


def _carry_on(state: RunState, op: LoopOp, own: Frame, carried: list[Json], path: StepPath) -> list[Json]:
    """Values for the next round; what no step of this round wrote stays as it was."""
    following = []
    for carry, value in zip(op.carries, carried, strict=True):
        try:
            written = None if carry.next is None else carry.next(own)
        except ExpressionError as error:
            raise _fail(state, path, error) from error
        following.append(value if written is None else written)
    if state.tainted and any(slot in state.tainted for _, slot in op.results):
        state.tainted.update(carry.slot for carry in op.carries)
    return following


def _is_done(state: RunState, op: LoopOp, own: Frame, path: StepPath) -> bool:
    if op.until is None:
        return False
    try:
        return op.until(own) is True
    except ExpressionError as error:
        raise _fail(state, path, error) from error


# sub-workflows


async def _run_sub(state: RunState, op: SubOp, frame: Frame, path: StepPath, lane: Lane) -> None:
    """Run another workflow's plan inside this run, from this run's budget."""
    started = state.now()
    plan = op.plan
    data = _mapped(state, op.inputs, frame, path)
    _hold(state, path, f"the input of sub-workflow '{plan.name}'", plan.input_check, data)
    budget = lane.budget.child(plan.budget, started)
    own: Frame = [None] * plan.slots
    own[: len(frame[:4])] = [data, *frame[1:4]]
    await run_block(state, plan.body, own, f"{path}/", Lane(lane.alarm, budget))
    output = _mapped(state, plan.output, own, path)
    _hold(state, path, f"the output of sub-workflow '{plan.name}'", plan.output_check, output)
    frame[op.slot] = output
    record = _structural(state, path, StepStatus.OK, started, output)
    record.input = msgspec.Raw(snapshot(data, state.max_value_bytes))
    state.keep(record)


def _hold(state: RunState, path: StepPath, what: str, check: Check | None, value: JsonObject) -> None:
    if check is not None and (violations := check.violations(value)):
        raise _fail(state, path, ContractError(f"{what} breaks its schema:", violations))


# records of steps that call nothing themselves


def _structural(
    state: RunState, path: StepPath, status: StepStatus, started: float, output: JsonObject | None = None
) -> StepRecord:
    return StepRecord(
        path=path,
        status=status,
        started_ms=state.ms(started),
        ended_ms=state.ms(state.now()),
        output=NULL if output is None else msgspec.Raw(orjson.dumps(output)),
    )


def _fail(state: RunState, path: StepPath, error: StrettoError) -> StepFailed:
    """Record a step that failed before it could call anything."""
    info: ErrorInfo = error_info(error, path)
    reason: Reason = reason_of(error)
    record = _structural(state, path, StepStatus.FAILED, state.now())
    record.reason, record.error = reason, info
    state.keep(record)
    return StepFailed(info, reason)
