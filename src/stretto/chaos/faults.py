"""The faults that strike the delivery of a call: each function stands between the engine and the component.

Every docstring says what the component's side saw, and what the caller saw. They strike at the component's boundary,
for all kinds alike; what lies beneath it (TCP, HTTP, a server's own process) is not simulated.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec
import orjson

from stretto.chaos.lapse import Lapse
from stretto.spec.chaos_model import FaultKind, FaultSpec, When
from stretto.types.card import Card
from stretto.types.enums import Effect
from stretto.types.errors import Code, ComponentError, ShedError
from stretto.types.messages import Request, Response

Work = Callable[[Request], Awaitable[Response]]
"""Asks the real component."""

SHED_RETRY_AFTER_S: Final = 0.1
"""What a full queue says where the plan says nothing, seconds."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One call that a fault strikes."""

    fault: FaultSpec
    card: Card
    work: Work
    request: Request
    run: int
    """Index of the run."""
    lapse: Lapse
    chance: random.Random
    again: Callable[[], None]
    """Has the whole run delivered again once it has ended."""

    def when(self, default: When) -> When:
        """On which side of the work it strikes."""
        return self.fault.when or default

    async def wait(self, seconds: float | None) -> None:
        """Sit out an injected wait; None never ends."""
        with self.lapse.waiting(self.run):
            if seconds is None:
                await asyncio.get_running_loop().create_future()
            else:
                await asyncio.sleep(seconds)


Fault = Callable[[Delivery], Awaitable[Response]]


async def latency(delivery: Delivery) -> Response:
    """The component is asked late, or answers late; a caller who gave up meanwhile does not hear of it.

    Before: it is not asked at all when the caller gives up first. After: it did its work by then.
    """
    return await _delayed(delivery, _seconds(delivery), When.BEFORE)


async def jitter(delivery: Delivery) -> Response:
    """As `latency`, by U[0, delay)."""
    return await _delayed(delivery, _seconds(delivery) * delivery.chance.random(), When.BEFORE)


async def slow_body(delivery: Delivery) -> Response:
    """The component did its work at once; its answer is complete only after the delay, or never for who gave up."""
    return await _delayed(delivery, _seconds(delivery), When.AFTER)


async def error(delivery: Delivery) -> Response:
    """Before: the component saw nothing, the caller an error. After: it did its work, and the caller saw an error."""
    fault = delivery.fault
    if delivery.when(When.BEFORE) is When.AFTER:
        await delivery.work(delivery.request)
    pause = None if fault.retry_after is None else fault.retry_after.total_seconds()
    raise ComponentError("injected error", fault.code or Code.UNKNOWN, retry_after_s=pause)


async def hang(delivery: Delivery) -> Response:
    """Before: the component saw nothing. After: it did its work. The caller waits until it gives up."""
    if delivery.when(When.BEFORE) is When.AFTER:
        await delivery.work(delivery.request)
    await delivery.wait(None)
    raise AssertionError("a wait without an end has ended")


async def reset(delivery: Delivery) -> Response:
    """After, which is the default: the component did its work, and the connection broke under the answer. Before: it
    broke under the request. The caller cannot tell these apart."""
    if delivery.when(When.AFTER) is When.AFTER:
        await delivery.work(delivery.request)
    raise ComponentError("the connection was reset", Code.UNAVAILABLE)


async def duplicate(delivery: Delivery) -> Response:
    """The request arrives twice, under one effect key, where that is said to be harmless: a component that only reads,
    or that declares itself idempotent, carries it out twice, and the caller hears what the first came to.

    A write that is not idempotent is not sent twice by anybody here: transports do not resend. Nor is a request to a
    component that calls others through the run: its calls would be new ones, and what they write another write.
    Whoever delivers at least once delivers the *run* again; so that is done, once it has ended, and its writes must not
    be made again.
    """
    call = delivery.request.call
    if call.caller is not None or (call.effect is Effect.WRITE and not delivery.card.idempotent):
        delivery.again()
        return await delivery.work(delivery.request)
    second = Request(orjson.loads(orjson.dumps(delivery.request.input)), call)
    [first] = await asyncio.gather(delivery.work(delivery.request), return_exceptions=True)
    await asyncio.gather(delivery.work(second), return_exceptions=True)  # whatever it says, nobody hears it
    if isinstance(first, BaseException):
        raise first
    return first


async def loss(delivery: Delivery) -> Response:
    """The component is not there: it saw nothing, and the caller knows that the request never left."""
    raise gone(delivery.card)


async def clock_skew(delivery: Delivery) -> Response:
    """The component reads a clock that is ahead or behind, so it takes its deadline for nearer or farther than it is.

    Only deadlines are skewed: the time of day that a component asks the operating system for is as it was.
    """
    fault, call = delivery.fault, delivery.request.call
    ahead_s = fault.ahead.total_seconds() if fault.ahead is not None else 0.0
    behind_s = fault.behind.total_seconds() if fault.behind is not None else 0.0
    if call.deadline is not None:
        call = msgspec.structs.replace(call, deadline=call.deadline - ahead_s + behind_s)
    return await delivery.work(Request(delivery.request.input, call))


async def full_queue(delivery: Delivery) -> Response:
    """The component was not asked: there is no place. The caller is told when to come again."""
    pause = delivery.fault.retry_after
    raise ShedError(
        f"component '{delivery.card.name}' has no place for the call",
        retry_after_s=SHED_RETRY_AFTER_S if pause is None else pause.total_seconds(),
    )


FAULTS: Final[Mapping[FaultKind, Fault]] = {
    FaultKind.LATENCY: latency,
    FaultKind.JITTER: jitter,
    FaultKind.ERROR: error,
    FaultKind.HANG: hang,
    FaultKind.RESET: reset,
    FaultKind.SLOW_BODY: slow_body,
    FaultKind.DUPLICATE: duplicate,
    FaultKind.LOSS: loss,
    FaultKind.CLOCK_SKEW: clock_skew,
    FaultKind.FULL_QUEUE: full_queue,
}
"""All but those that damage an answer (`damage.DAMAGES`)."""


def gone(card: Card) -> ComponentError:
    """What is said of a component that is away."""
    return ComponentError(f"component '{card.name}' is away", Code.UNAVAILABLE, sent=False)


async def _delayed(delivery: Delivery, seconds: float, default: When) -> Response:
    if delivery.when(default) is When.BEFORE:
        await delivery.wait(seconds)
        return await delivery.work(delivery.request)
    response = await delivery.work(delivery.request)
    await delivery.wait(seconds)
    return response


def _seconds(delivery: Delivery) -> float:
    return 0.0 if delivery.fault.delay is None else delivery.fault.delay.total_seconds()
