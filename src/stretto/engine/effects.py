"""Writes: an intent before, a receipt after, and no guessing in between (DESIGN section 4, *Effects*)."""

import msgspec

from stretto.engine.failure import NOTHING_HAPPENED
from stretto.engine.history import Mode
from stretto.engine.state import RunState
from stretto.plan.model import CallOp
from stretto.record.canonical import canonical
from stretto.record.model import EffectRecord
from stretto.types.enums import Durability
from stretto.types.errors import ComponentError, InDoubtError, ReplayError
from stretto.types.ids import StepPath, digest_of
from stretto.types.messages import Request, Response
from stretto.types.protocols import Confirms


def earlier_effect(state: RunState, path: StepPath) -> EffectRecord | None:
    """What this run already knows of a write at this path: its own, or from before it was interrupted."""
    effect = state.receipts.get(path)
    if effect is None and state.history is not None and state.history.mode is Mode.RESUME:
        effect = state.history.effects.get(path)
    return effect


def standing_receipt(effect: EffectRecord, path: StepPath, encoded: bytes) -> bytes:
    """The receipt of a write that was made already; refuses when the request is not the one that was sent."""
    if effect.receipt is None:
        raise InDoubtError(f"the write at '{path}' has no receipt")
    if effect.request_digest != digest_of(canonical(encoded)):
        raise ReplayError(
            f"step '{path}' has a receipt for another request than it now makes; "
            "a write is not repeated with other arguments under the same effect key"
        )
    return bytes(effect.receipt)


async def intend(state: RunState, op: CallOp, path: StepPath, action: str, encoded: bytes) -> EffectRecord:
    """Say, before the call, that a write is about to be made; committed first under durability ``step``."""
    effect = EffectRecord(
        run_id=state.run.id,
        path=path,
        component=op.component.card.name,
        action=action,
        request_digest=digest_of(canonical(encoded)),
        request=msgspec.Raw(encoded),
        intended_at_ns=state.clock.time_ns(),
    )
    if state.durability is Durability.STEP:
        await state.journal.intent(effect)
    state.receipts[path] = effect
    return effect


async def receive(state: RunState, effect: EffectRecord, encoded: bytes, *, confirmed: bool = False) -> None:
    """Keep the receipt of a write that happened; committed before going on under durability ``step``."""
    effect.receipt = msgspec.Raw(encoded)
    effect.received_at_ns = state.clock.time_ns()
    effect.confirmed = confirmed
    if state.durability is Durability.STEP:
        await state.journal.receipt(effect)


async def refuse(state: RunState, effect: EffectRecord) -> None:
    """Keep that a write did not happen."""
    effect.refused = True
    if state.durability is Durability.STEP:
        await state.journal.receipt(effect)


def may_have_happened(error: ComponentError) -> bool:
    """Whether a write that failed so is in doubt."""
    return error.sent and error.rpc_code not in NOTHING_HAPPENED


async def ask_whether_it_happened(op: CallOp, path: StepPath, request: Request) -> Response | None:
    """Ask the component about a write in doubt: its response, None if it surely did not happen.

    Raises InDoubtError when the component cannot be asked or cannot tell: the run is parked.
    """
    component = op.component
    name = component.card.name
    if not (component.card.confirms and isinstance(component, Confirms)):
        raise InDoubtError(
            f"the write '{path}' ({name}) was sent and not answered; '{name}' declares neither `confirm` "
            "nor `idempotent`, so a person must say whether it happened: "
            "stretto runs resume RUN --happened|--did-not-happen"
        )
    try:
        return await component.confirm(request)
    except InDoubtError:
        raise
    except Exception as error:
        raise InDoubtError(
            f"the write '{path}' ({name}) was sent and not answered, and asking '{name}' failed: "
            f"{type(error).__name__}: {error}"
        ) from error
