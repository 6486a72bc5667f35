"""Components on other servers that learn there, or can be differentiated there."""

import asyncio
import math
from typing import Any, Final, cast

import msgspec
import orjson

from stretto.acp import json_form, messages as m
from stretto.acp.names import Verb
from stretto.acp.version import CURRENT
from stretto.components.acp.component import AcpComponent
from stretto.types.abilities import with_abilities
from stretto.types.ids import StepPath, digest_of
from stretto.types.messages import RunInfo
from stretto.types.signals import Cotangents, Signal

LIMIT_MS: Final = 30_000
"""In which the other side must have taken a signal, or pulled a gradient back; no run waits for it."""

_KEY_HEX: Final = 16
"""Digits of a signal's digest in its effect key: 64 bits tell apart what is said of one step."""


class _Reflecting:
    """A component that is told how its answers were judged."""

    async def reflect(self: Any, signal: Signal) -> bool | str:  # Any: whatever it is mixed into
        """Whether it will learn from the signal there, or in words why not. Raises ComponentError as a call does.

        The same signal counts once, however often it is sent.
        """
        request = _request(signal)
        envelope = _envelope(self.ref, signal.run, signal.path, json_form.encode(request))
        answer = await self.told(Verb.REFLECT, msgspec.structs.replace(request, envelope=envelope), envelope)
        return answer.accepted or answer.note or "it does not say why not"


class _Differentiating:
    """A component that pulls gradients back."""

    async def vjp(self: Any, asked: Cotangents) -> bytes:  # Any: as above
        """The gradients, safetensors bytes. Raises ComponentError as a call does, and for those of another component
        than answered the forward call, whatever `pin` says: they are of another function."""
        who = self.pinned.forward(asked.answered_by)
        envelope = _until(_envelope(who, asked.run, asked.path, asked.inputs + asked.cotangents), asked.deadline)
        text = orjson.dumps(asked.input).decode() if self.takes_text and asked.input else ""
        request = m.VjpRequest(
            envelope=envelope,
            gradient_handle=asked.gradient_handle,
            inputs=asked.inputs,
            cotangents=asked.cotangents,
            input={} if text else asked.input,
            input_json=text,
        )
        answer = await self.told(Verb.VJP, request, envelope)
        self.pinned.hold_forward(answer.result.component, asked.answered_by)
        return cast("bytes", answer.gradients)


def _until(envelope: m.Envelope, deadline: float | None) -> m.Envelope:
    if deadline is None:
        return envelope
    left_ms = (deadline - asyncio.get_running_loop().time()) * 1000.0
    return msgspec.structs.replace(envelope, remaining_ms=max(0, min(LIMIT_MS, math.floor(left_ms))))


def learning(verbs: tuple[str, ...]) -> type[AcpComponent]:
    """A component class that can what the other side offers, and is not taken for more."""
    abilities = ((Verb.REFLECT, _Reflecting), (Verb.VJP, _Differentiating))
    return with_abilities(AcpComponent, ((each, verb in verbs) for verb, each in abilities))


def _request(signal: Signal) -> m.ReflectRequest:
    return m.ReflectRequest(
        reward=signal.reward,
        credit=signal.credit,
        terms=tuple(
            m.RewardTerm(name=each.name, value=each.value, weight=each.weight, reason=each.reason)
            for each in signal.terms
        ),
        corrections=tuple(
            m.Correction(pointer=each.pointer, value=each.value, by=each.by, reason=each.reason)
            for each in signal.corrections
        ),
        gradient_handle=signal.gradient_handle,
    )


def _envelope(ref: m.ComponentRef, run: RunInfo, path: StepPath, about: bytes) -> m.Envelope:
    """Of what is said about a call that is over; its key is of what is said."""
    return m.Envelope(
        protocol=CURRENT,
        run_id=run.id,
        step_path=path,
        attempt=1,
        component=ref,
        remaining_ms=LIMIT_MS,
        effect_key=f"{run.id}/{path}/{digest_of(about)[:_KEY_HEX]}",
        traceparent=run.traceparent,
        tracestate=run.tracestate,
        tenant=run.tenant,
        labels=dict(run.labels),
        seed=str(run.seed),
        workflow_run_id=run.workflow_run_id,
    )
