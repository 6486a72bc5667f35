"""What comes back to a component that learns: how its answers were judged, and gradients."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import msgspec

from stretto.acp import messages as m
from stretto.acp.failure import AcpError, failure_of
from stretto.acp.names import Reason
from stretto.acp.server.asked import run_of
from stretto.acp.server.asking import input_of
from stretto.acp.server.keys import ASK_AGAIN_MS
from stretto.acp.server.limits import Limits
from stretto.acp.server.making import Maker, timed_out
from stretto.acp.server.outcome import Plain
from stretto.acp.server.refusal import refusal
from stretto.acp.server.served import Served
from stretto.acp.server.work import TimeUpError, Work
from stretto.types.errors import Code, ContractError, StrettoError
from stretto.types.ids import Digest, StepPath, digest_of
from stretto.types.learning import Reward
from stretto.types.protocols import Differentiates, Reflects
from stretto.types.signals import Corrected, Cotangents, Signal

T = TypeVar("T")


class Learning:
    """Signals and gradients; a signal counts once for its effect key, which may be that of the judged call."""

    def __init__(self, limits: Limits, maker: Maker) -> None:
        self._limits = limits
        self._maker = maker
        self._signals: OrderedDict[str, tuple[Digest, m.ReflectResponse | None]] = OrderedDict()
        """By effect key; None while the component is told."""

    async def reflected(self, served: Served, request: m.ReflectRequest, deadline: float) -> m.ReflectResponse:
        """Whether the component will learn from the signal."""
        component = served.component
        if not isinstance(component, Reflects):  # the card offers the verb to those only
            raise TypeError(f"component '{served.card.name}' has no `reflect`")
        key, ask = request.envelope.effect_key, partial(component.reflect, _signal(request))
        if not key:
            return await self._told(served, ask, deadline)
        digest = _digest(served, request)
        earlier = self._signals.get(key)
        if earlier is not None:
            return _again(key, digest, *earlier)
        self._signals[key] = (digest, None)
        try:
            response = await self._told(served, ask, deadline)
        except BaseException:
            del self._signals[key]
            raise
        self._signals[key] = (digest, response)
        if len(self._signals) > self._limits.max_keys:
            self._signals.popitem(last=False)
        return response

    async def _told(self, served: Served, ask: Callable[[], Awaitable[object]], deadline: float) -> m.ReflectResponse:
        said, result = await self._worked(served, ask, deadline)
        if not isinstance(said, bool | str):
            told = f"`reflect` of component '{served.card.name}' returned {type(said).__name__}, not bool or str"
            raise AcpError(failure_of(ContractError(told)))
        note = said if isinstance(said, str) else ""
        return m.ReflectResponse(result=result, accepted=said is True, note=note)

    async def vjp(self, served: Served, request: m.VjpRequest, deadline: float) -> m.VjpResponse:
        """The component's vector-Jacobian product."""
        component = served.component
        if not isinstance(component, Differentiates):  # the card offers the verb to those only
            raise TypeError(f"component '{served.card.name}' has no `vjp`")
        envelope, told = request.envelope, served.card.tensors
        if told is not None:
            from stretto.acp.server.gradients import hold_gradients, hold_request  # with numpy, which few need

            hold_request(served.card.name, told, request)
        asked = Cotangents(
            run=run_of(envelope),
            path=StepPath(envelope.step_path),
            inputs=request.inputs,
            cotangents=request.cotangents,
            gradient_handle=request.gradient_handle,
            input=input_of(request),
            deadline=deadline,
        )
        gradients: object
        gradients, result = await self._worked(served, partial(component.vjp, asked), deadline)
        if not isinstance(gradients, bytes):
            text = f"`vjp` of component '{served.card.name}' returned {type(gradients).__name__}, not safetensors bytes"
            raise AcpError(failure_of(ContractError(text)))
        if told is not None:
            try:
                hold_gradients(served.card.name, told, request, gradients)
            except ContractError as error:
                raise AcpError(failure_of(error)) from error
        return m.VjpResponse(result=result, gradients=gradients)

    async def _worked(self, served: Served, ask: Callable[[], Awaitable[T]], deadline: float) -> tuple[T, m.Result]:
        """What the component says, in a place and in time."""
        waited_ms = await self._maker.place(deadline)
        began, now = time.perf_counter(), asyncio.get_running_loop().time
        since = now()
        work = Work(ask, Plain[T](served, lambda: self._maker.places.leave(now() - since)))
        try:
            value = await work.outcome(deadline, self._limits.give_up_s)
        except TimeUpError:
            raise AcpError(timed_out(served)) from None
        except StrettoError as error:
            raise AcpError(timed_out(served) if work.is_time_up else failure_of(error)) from error
        worked_ms = (time.perf_counter() - began) * 1000.0
        return value, m.Result(queue_ms=round(waited_ms, 3), service_ms=round(worked_ms, 3), component=served.ref)


def _signal(request: m.ReflectRequest) -> Signal:
    envelope = request.envelope
    return Signal(
        run=run_of(envelope),
        path=StepPath(envelope.step_path),
        reward=request.reward,
        credit=request.credit,
        terms=tuple(
            Reward(name=each.name, value=each.value, weight=each.weight, reason=each.reason) for each in request.terms
        ),
        corrections=tuple(
            Corrected(pointer=each.pointer, value=each.value, by=each.by, reason=each.reason)
            for each in request.corrections
        ),
        gradient_handle=request.gradient_handle,
    )


def _digest(served: Served, request: m.ReflectRequest) -> Digest:
    """Of who is told and what; the envelope differs from attempt to attempt."""
    signal = msgspec.structs.replace(request, envelope=m.Envelope())
    return digest_of(msgspec.json.encode((served.card.name, signal)))


def _again(key: str, digest: Digest, kept: Digest, response: m.ReflectResponse | None) -> m.ReflectResponse:
    if digest != kept:
        message = f"effect key {key!r} was used with another signal; a key stands for one"
        raise refusal(Code.ALREADY_EXISTS, Reason.KEY_CONFLICT, message)
    if response is None:
        message = f"the signal with effect key {key!r} is being told; ask again when that has ended"
        raise refusal(Code.ABORTED, Reason.KEY_IN_PROGRESS, message, retry_after_ms=ASK_AGAIN_MS)
    result = msgspec.structs.replace(response.result, replayed=True, queue_ms=0.0, service_ms=0.0)
    return msgspec.structs.replace(response, result=result)
