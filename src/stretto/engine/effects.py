"""Writes: an intent before, a receipt after, and no guessing in between.

    intended ──the component answered, or `confirm` knew the answer──▶ received
       └─────the component refused, or `confirm` says: it did not happen──▶ refused ──another attempt──▶ intended

An effect that is intended and not under way is *in doubt*. As long as one is, the step that made it and every step
around that one neither succeed nor fall back, and the run is parked.
"""

import asyncio

import msgspec

from stretto.engine.driven import awaited, driven
from stretto.engine.failure import Whose, cancelled_by_itself, whose
from stretto.engine.opening import open_again
from stretto.engine.state import Lane, RunState
from stretto.plan.model import CallOp
from stretto.record.canonical import request_digest
from stretto.record.model import EffectRecord, decoded
from stretto.record.texts import text_of
from stretto.types.enums import Durability
from stretto.types.errors import (
    NOTHING_HAPPENED,
    Code,
    ComponentError,
    InDoubtError,
    ReplayError,
    StoreError,
    StrettoError,
)
from stretto.types.ids import StepPath
from stretto.types.messages import Call, Request, Response
from stretto.types.protocols import Confirms


def standing_receipt(effect: EffectRecord, path: StepPath, encoded: bytes) -> bytes:
    """The receipt of a write that was made already; refuses when the request is not the one that was sent."""
    if effect.receipt is None:
        raise InDoubtError(f"the write at '{path}' has no receipt")
    if not _is_same_request(effect, encoded):
        raise ReplayError(
            f"step '{path}' has a receipt for another request than it now makes; "
            "a write is not repeated with other arguments under the same effect key"
        )
    return bytes(effect.receipt)


async def intend(state: RunState, op: CallOp, path: StepPath, action: str, encoded: bytes) -> EffectRecord:
    """Say, before the call, that a write is about to be made; committed first under durability ``step``.

    Raises ComponentError when the run has ended, as for a call that a component left behind: nothing could keep it.
    """
    if state.run.status is not None:
        raise ComponentError(
            f"run {state.run.id} has ended, and '{path}' was left behind in it and is not sent; await every call "
            "before the component answers",
            Code.FAILED_PRECONDITION,
            sent=False,
        )
    effect = EffectRecord(
        run_id=state.run.id,
        path=path,
        component=op.component.card.name,
        action=action,
        request_digest=request_digest(encoded),
        request=msgspec.Raw(encoded),
        intended_at_ns=state.clock.time_ns(),
    )
    earlier = state.receipts.get(path)
    state.receipts[path] = effect
    if state.durability is Durability.STEP:
        try:
            await state.journal.intent(effect)
        except (asyncio.CancelledError, StoreError) as error:
            await take_back(state, effect, earlier, is_committed=isinstance(error, asyncio.CancelledError))
            raise
    return effect


async def take_back(
    state: RunState, effect: EffectRecord, earlier: EffectRecord | None, *, is_committed: bool = True
) -> None:
    """Nothing was sent under this intent, though it may be committed; an earlier sending stays in doubt if it was.

    For a task that was cancelled: another cancellation meanwhile is no harm.
    """
    if earlier is not None and earlier.in_doubt:
        state.receipts[effect.path] = earlier
        return
    effect.refused = True
    if is_committed and state.durability is Durability.STEP:
        await state.journal.receipt(effect)  # queued before it first waits


async def receive(state: RunState, effect: EffectRecord, encoded: bytes, *, confirmed: bool = False) -> None:
    """Keep the receipt of a write that happened; committed before going on under durability ``step``."""
    effect.receipt = msgspec.Raw(encoded)
    effect.received_at_ns = state.clock.time_ns()
    effect.confirmed = confirmed
    if state.durability is Durability.STEP:
        try:
            await state.journal.receipt(effect)
        except StoreError:  # whoever reads the store finds it in doubt, and so must the run's seal
            effect.receipt = None
            raise


async def refuse(state: RunState, effect: EffectRecord) -> None:
    """Keep that a write did not happen."""
    effect.refused = True
    if state.durability is Durability.STEP:
        await state.journal.receipt(effect)


def may_have_happened(error: ComponentError) -> bool:
    """Whether a write that failed so is in doubt."""
    refused = not error.sent or error.rpc_code in NOTHING_HAPPENED
    return isinstance(error, InDoubtError) or error.is_of_another or not refused


def did_not_happen(error: ComponentError) -> ComponentError:
    """The error of a write about which asking left no doubt: an ordinary failure, which may be tried again."""
    if not isinstance(error, InDoubtError):
        return error
    return ComponentError(f"{error}; asked afterwards, it says that the write did not happen", Code.UNAVAILABLE)


def unkept(error: ComponentError) -> InDoubtError:
    """The error of a write that was answered with something that no record can hold."""
    return InDoubtError(f"the write was answered, so it happened, but its answer cannot be kept: {error}")


def in_doubt_at(state: RunState, path: StepPath) -> bool:
    """Whether the step's own write, or one that its component made through the engine, is in doubt."""
    own = state.receipts.get(path)
    return (own is not None and own.in_doubt) or in_doubt_inside(state, path)


def in_doubt_inside(state: RunState, path: StepPath) -> bool:
    """Whether a write that the step's component made through the engine is in doubt."""
    inside = f"{path}/"
    return any(effect.in_doubt and effect.path.startswith(inside) for effect in state.receipts.values())


def over_doubt(path: StepPath, error: StrettoError | None) -> InDoubtError:
    """The error of a step that ended, well or badly, over a write in doubt."""
    ended = "answered over it" if error is None else f"failed: {error}"
    return InDoubtError(f"a write at or inside step '{path}' is in doubt, and the step {ended}")


def doubt_told(state: RunState, op: CallOp, path: StepPath, error: StrettoError) -> StrettoError:
    """The error of a step's call, which over a write in doubt says so, why no fallback answers, and whether resuming
    the run is enough."""
    is_sendable = False
    if not isinstance(error, InDoubtError):
        if not in_doubt_at(state, path):
            return error
        error = over_doubt(path, error)
        is_sendable = op.component.card.idempotent and not in_doubt_inside(state, path)
    more = "; its fallback does not answer, since the write may have happened" if op.fallback is not None else ""
    if is_sendable and state.durability is Durability.STEP:
        more += f"; '{op.component.card.name}' is idempotent, so resuming the run sends it again"
    return InDoubtError(f"{error}{more}") if more else error


async def settle_earlier(
    state: RunState, op: CallOp, effect: EffectRecord, encoded: bytes, call: Call, lane: Lane
) -> Response | None:
    """Settle a write that an earlier attempt, or the interrupted run, left in doubt, before it may be made again.

    Its response if it happened; None when it may be sent now: it surely did not happen, or sending it twice is safe.
    Raises InDoubtError when neither is known.
    """
    if op.component.card.idempotent and _is_same_request(effect, encoded):
        return None
    if state.shut:
        await _open_to_ask(state, op, effect, lane)
    response = await ask_whether_it_happened(op, effect, call, lane)
    if response is None:
        await refuse(state, effect)
        if lane.alarm.is_task_cancelled:  # the component answered over it; nothing more is begun
            raise asyncio.CancelledError
    return response


async def _open_to_ask(state: RunState, op: CallOp, effect: EffectRecord, lane: Lane) -> None:
    """Open the component of a write in doubt, if it is not; raises InDoubtError when it cannot be asked."""
    name = op.component.card.name
    lane.alarm.deadline = _asking_ends(op, lane)
    try:
        await open_again(state, name, lane)
    except ComponentError as error:
        raise InDoubtError(f"nobody can tell whether the write '{effect.path}' happened: {error}") from error
    finally:
        lane.alarm.disarm()


async def ask_whether_it_happened(
    op: CallOp, effect: EffectRecord, call: Call, lane: Lane, why: ComponentError | None = None
) -> Response | None:
    """Ask the component about the request that was sent: its response, None if it surely did not happen.

    Asking may take as long as the step, and the reserve. Raises InDoubtError when the component cannot be asked or
    does not tell: the run is parked.
    """
    component, name = op.component, op.component.card.name
    lost = f"the write '{effect.path}' ({name}) was sent and not answered" + (f" ({why})" if why is not None else "")
    if not (component.card.confirms and isinstance(component, Confirms)):
        way = (
            "is asked something else now"
            if component.card.idempotent
            else "declares neither `confirm` nor `idempotent`"
        )
        raise InDoubtError(
            f"{lost}; '{name}' {way}, so a person must say whether it happened: "
            "stretto runs resume RUN --happened|--did-not-happen"
        )
    alarm = lane.alarm
    alarm.deadline = _asking_ends(op, lane)
    try:
        response = await driven(awaited(component.confirm(Request(decoded(effect.request), call))), alarm)
    except InDoubtError as error:
        alarm.took()  # it may have rung before
        raise InDoubtError(f"{lost}, and '{name}' cannot tell: {error}") from error
    except BaseException as error:
        match whose(error, alarm):
            case Whose.COMPONENT:
                raise InDoubtError(f"{lost}, and asking '{name}' failed: {_said(name, error)}") from error
            case Whose.DEADLINE:
                raise InDoubtError(f"{lost}, and '{name}' did not say in time whether it happened") from None
            case Whose.OUTSIDE:
                raise
    finally:
        alarm.disarm()
    alarm.took()  # it may have rung and been ignored
    return response


def _said(name: str, error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError):
        return str(cancelled_by_itself(name))
    return f"{type(error).__name__}: {text_of(error)}"


def _asking_ends(op: CallOp, lane: Lane) -> float | None:
    """Event-loop time: the step's time-out from now, within the run's last deadline."""
    final = lane.budget.final_deadline
    if op.timeout_s is None:
        return final
    at = asyncio.get_running_loop().time() + op.timeout_s
    return at if final is None else min(at, final)


def _is_same_request(effect: EffectRecord, encoded: bytes) -> bool:
    return effect.request_digest == request_digest(encoded)
