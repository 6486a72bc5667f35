"""One attempt at a step, from the outside in.

its component's leave → tokens and cost set aside → intent, of a write → the asking → receipt → its schema
"""

import asyncio
from typing import Final

from stretto.engine import effects
from stretto.engine.answering import held, hold_to_report, kept, taken
from stretto.engine.asking import ask
from stretto.engine.called import Called
from stretto.engine.driven import driven
from stretto.engine.failure import Whose, whose
from stretto.engine.protection import Entry, Protection
from stretto.record.report import written_tokens
from stretto.types.enums import Effect
from stretto.types.errors import BreakerOpenError, Code, ComponentError, ContractError, InDoubtError
from stretto.types.json import JsonObject
from stretto.types.messages import Call, Request, Response, Usage
from stretto.types.waited import NeverBegun

ASKING_S: Final = 1e-4
"""What it takes to ask for a component's leave, at most: only what is longer was waiting."""

_WRITE: Final = Effect.WRITE  # quicker, on each call


async def protected(called: Called, protection: Protection, request: Request) -> tuple[bytes, JsonObject]:
    """An attempt that waits until its component may be asked, and tells how it ended."""
    now, is_write = called.state.now, called.effect is _WRITE
    if is_write:  # what is in doubt is settled before anything else
        settled = await _settled(called, request)
        if settled is not None:
            return settled
    if called.held and protection.bulkhead is not None and called.name in called.held:
        raise _waits_for_itself(called)
    called.waited_s = 0.0
    entry = protection.enter_now(now(), called.op) or await _enter(called, protection, request.call.deadline)
    called.entry = entry
    error: BaseException | None = None
    try:
        if is_write or called.lane.budget.limited:
            return await attempt(called, request)
        return taken(called, await _ask(called, request))  # as most are: `attempt` without its coroutine
    except BaseException as raised:
        error = raised
        raise
    finally:
        called.entry = None
        entry.leave(now(), error)
        if error is not None:
            _tell_load(called, protection, error)


async def attempt(called: Called, request: Request) -> tuple[bytes, JsonObject]:
    """One attempt: the encoded and decoded output that its response stands for."""
    if called.lane.budget.limited:
        return await _attempt_on_lease(called, request)
    if called.effect is _WRITE:
        return await _write(called, request)
    return taken(called, await _ask(called, request))


def _waits_for_itself(called: Called) -> ComponentError:
    return ComponentError(
        f"component '{called.name}' would wait for itself: a call of it that holds a place in its bulkhead led to "
        "this one; let it not call itself, or protect it by a breaker alone",
        Code.FAILED_PRECONDITION,
        sent=False,
    )


def _tell_load(called: Called, protection: Protection, error: BaseException) -> None:
    """Note on a time-out that it came of load: the component was full when it was asked, or answers late to others."""
    if isinstance(error, ComponentError) and error.rpc_code is Code.DEADLINE_EXCEEDED:
        load = protection.load
        error.of_load = called.waited_s > 0.0 or (load is not None and load.is_high(called.state.now()))


async def _enter(called: Called, protection: Protection, deadline: float | None) -> Entry:
    """Wait for the component's leave to be asked, until the deadline, and note how long that took."""
    alarm, now = called.lane.alarm, called.state.now
    began = now()
    alarm.deadline = deadline
    try:
        return await driven(protection.enter(now, deadline, called.op), alarm)
    except BreakerOpenError:
        began = now()  # which refuses at once
        raise
    except asyncio.CancelledError as error:
        if whose(error, alarm) is not Whose.DEADLINE:
            raise
        raise protection.waited_too_long() from None
    finally:
        alarm.disarm()
        waited_s = 0.0 if protection.bulkhead is None else now() - began
        called.waited_s = waited_s if waited_s > ASKING_S else 0.0


async def _ask(called: Called, request: Request) -> Response:
    """Ask the component, and note for what protects it how that went."""
    entry, now = called.entry, called.state.now
    if entry is None:
        return await ask(called.state, called.op, called.lane, request)
    entry.begin(now())
    try:
        response = await ask(called.state, called.op, called.lane, request)
    except BaseException as error:
        entry.end(now(), error)
        raise
    entry.end(now(), None, written_tokens(response))
    return response


async def _attempt_on_lease(called: Called, request: Request) -> tuple[bytes, JsonObject]:
    """An attempt that sets tokens and cost aside; a lost response forfeits them."""
    op = called.op
    lease = called.lane.budget.lease(op.estimate_tokens, op.estimate_cost)
    called.response = None
    try:
        if called.effect is _WRITE:
            return await _write(called, request)
        return taken(called, await _ask(called, request))
    finally:
        response: Response | None = called.response
        if response is None:
            lease.forfeit()
        else:
            usage = response.usage or Usage()
            lease.settle(usage.input_tokens + usage.output_tokens, usage.cost)


# writes


async def _write(called: Called, request: Request) -> tuple[bytes, JsonObject]:
    """An attempt at a write, alone at its path: what an earlier one left in doubt is settled first."""
    writing, path = called.state.writing, called.path
    settled = await _settled(called, request)
    while settled is None and path in writing:  # it began while this one settled
        settled = await _settled(called, request)
    if settled is not None:
        return settled
    writing[path] = over = asyncio.get_running_loop().create_future()
    try:
        return await _send(called, request)
    finally:
        del writing[path]
        over.set_result(None)


async def _send(called: Called, request: Request) -> tuple[bytes, JsonObject]:
    """Intent, call, receipt."""
    state, op, path = called.state, called.op, called.path
    earlier = state.receipts.get(path)
    is_sent_again = earlier is not None and earlier.in_doubt  # which is safe, and settles nothing if it is refused
    effect = await effects.intend(state, op, path, called.action, called.encoded)
    try:
        response = await _ask(called, request)
    except ComponentError as error:
        try:
            return await _doubt(called, request.call, error, is_sent_again=is_sent_again)
        except ComponentError as told:
            told.queue_ms = error.queue_ms
            raise
    except asyncio.CancelledError as cancelled:
        if isinstance(cancelled.__cause__, NeverBegun):
            await effects.take_back(state, effect, earlier)
        raise
    try:
        return await _receive(called, response)
    except ContractError as error:
        if not effect.in_doubt:
            raise
        return await _doubt(called, request.call, effects.unkept(error))


async def _settled(called: Called, request: Request) -> tuple[bytes, JsonObject] | None:
    """What an earlier sending of this write answered, under way still or in doubt; None when it may be sent now."""
    under_way = called.state.writing.get(called.path)
    if under_way is not None:
        await _end_of(under_way, called, request.call.deadline)
    earlier = called.state.receipts.get(called.path)
    if earlier is None or earlier.refused:
        return None
    if not earlier.in_doubt:
        return held(called, effects.standing_receipt(earlier, called.path, called.encoded))
    happened = await effects.settle_earlier(called.state, called.op, earlier, called.encoded, request.call, called.lane)
    if happened is None:
        return None
    answer = await _receive(called, happened, confirmed=True)
    effects.standing_receipt(earlier, called.path, called.encoded)
    return answer


async def _end_of(under_way: asyncio.Future[None], called: Called, deadline: float | None) -> None:
    """Wait for a write that an earlier attempt of the component around it left behind; asked whether it happened, it
    would say no, and be made twice. Raises InDoubtError when it has not ended by the deadline."""
    alarm = called.lane.alarm
    alarm.deadline = deadline
    try:
        await driven(asyncio.wait([under_way]), alarm)
    except asyncio.CancelledError as error:
        if whose(error, alarm) is not Whose.DEADLINE:
            raise
        raise InDoubtError(f"the write '{called.path}' was sent by an earlier attempt and is under way still") from None
    finally:
        alarm.disarm()


async def _receive(called: Called, response: Response, *, confirmed: bool = False) -> tuple[bytes, JsonObject]:
    """`taken` for a write: the receipt is kept first, also of an answer that breaks its schema."""
    encoded = kept(called, response)
    effect = called.state.receipts.get(called.path)
    if effect is not None:
        await effects.receive(called.state, effect, encoded, confirmed=confirmed)
    if not called.is_bare:
        hold_to_report(called, response)
    return held(called, encoded)


async def _doubt(
    called: Called, call: Call, error: ComponentError, *, is_sent_again: bool = False
) -> tuple[bytes, JsonObject]:
    """A write failed: refused, or in doubt. Ends in its response if it happened, else raises."""
    effect = called.state.receipts[called.path]
    if is_sent_again or effects.may_have_happened(error):
        if called.op.component.card.idempotent:
            raise error
        happened = await effects.ask_whether_it_happened(called.op, effect, call, called.lane, error)
        if happened is not None:
            return await _receive(called, happened, confirmed=True)
    await effects.refuse(called.state, effect)
    raise effects.did_not_happen(error)
