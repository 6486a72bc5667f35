"""A run's own work: its memory is read, its steps are run, its output is built and held to the contract."""

import asyncio
from typing import Final

import msgspec

from stretto.engine.call import StepCall
from stretto.engine.downgrade import downgrade_of
from stretto.engine.failure import error_info, reason_of
from stretto.engine.graph import run_block
from stretto.engine.history import History
from stretto.engine.meaning import INPUT_PATH, hold_input, keep_output
from stretto.engine.request import RunRequest
from stretto.engine.seen import around, picked
from stretto.engine.state import Lane, RunState, StepFailed
from stretto.engine.substitutes import hold_to_use
from stretto.engine.taint import taint_of
from stretto.plan.model import MEMORY, RESOURCES, Frame
from stretto.record.canonical import snapshot
from stretto.record.model import NULL, decoded
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import ContractError, ExpressionError, MeaningError, ReplayError
from stretto.types.ids import MEMORY_PATH
from stretto.types.json import JsonObject

_OK: Final = RunStatus.OK  # quicker, for each run


async def do_work(state: RunState, request: RunRequest, frame: Frame, lane: Lane) -> None:
    """Run the steps and read the output; the run's status says what became of it."""
    run = state.run
    try:
        if run.evidence:
            _hold_input(state)
        frame[MEMORY] = await read_memory(state, request.memory, lane)
        if state.history is not None:
            state.taint = taint_of(state.history, run)
        await run_block(state, state.plan.body, frame, "", lane, state.taint)
        if state.history is not None and state.history.outputs:
            _hold_to_use(state, state.history)
        read_output(state, frame)
    except StepFailed as failure:
        run.status, run.reason, run.error = failure.status, failure.reason, failure.error


def _hold_input(state: RunState) -> None:
    """Let a run fail before its first step whose input means nothing."""
    try:
        hold_input(state.run, state.plan)
    except MeaningError as error:
        raise StepFailed(error_info(error, INPUT_PATH), reason_of(error)) from error


def _hold_to_use(state: RunState, history: History) -> None:
    """Let the replay fail whose given outputs did not all come to stand."""
    try:
        hold_to_use(state.run, history)
    except ReplayError as error:
        raise StepFailed(error_info(error, ""), reason_of(error)) from error


async def read_memory(state: RunState, given: JsonObject | None, lane: Lane) -> JsonObject:
    """Values of the `memory` root: those given, those a recorded run saw, or those the memory component tells."""
    history, run = state.history, state.run
    if given is None and history is not None and history.run.memory != NULL:
        given = decoded(history.run.memory)
    if given is None and state.plan.memory is not None:
        op = state.plan.memory
        given = await StepCall(state, op, {}, MEMORY_PATH, lane, state.now(), op.action, op.effect).run()
        if lane.alarm.is_task_cancelled:  # as after any step: the component answered over it
            raise asyncio.CancelledError
    if given is None:
        return {}
    run.memory = msgspec.Raw(snapshot(given))
    return given


def read_output(state: RunState, frame: Frame) -> None:
    """Build the run's output and hold it to the contract."""
    plan, run = state.plan, state.run
    if plan.output_resources and state.live is not None:
        frame[RESOURCES] = seen = around(state)
        run.resources = msgspec.Raw(snapshot({**state.given, **picked(seen, plan.output_resources)}))
    try:
        output = {name: get(frame) for name, get in plan.output}
        keep_output(run, plan, plan.crossings_out, output, f"the output of workflow '{plan.name}'")
    except (ExpressionError, ContractError) as error:
        run.status, run.reason, run.error = RunStatus.FAILED, Reason.CONTRACT, error_info(error, "output")
        run.output = NULL  # it was refused: nobody may take it for an answer; the error tells what it held
        return
    run.status = _OK
    if state.is_downgraded:
        run.status, run.reason = RunStatus.DEGRADED, downgrade_of(plan, run.steps)
