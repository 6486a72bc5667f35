"""The one way from a request of another protocol to the desk: its limits, refusals and keys hold for all."""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from stretto.acp import messages as m
from stretto.acp.failure import AcpError
from stretto.acp.names import Verb
from stretto.acp.server import Answer, Desk
from stretto.acp.server.refusal import malformed
from stretto.acp.version import CURRENT
from stretto.serve.acp_metrics import AcpMetrics
from stretto.serve.faces.component import face_path
from stretto.serve.faces.heads import Heads
from stretto.types.errors import Code
from stretto.types.ids import new_run_id
from stretto.types.json import JsonObject

MOST_KEY_CHARS: Final = 1_000
"""Of an idempotency key: what an effect key may have, and room for what stands before it."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A request that came by another protocol."""

    workflow: str
    input: JsonObject
    face: str
    """By which it came: ``mcp``, ``openai``."""
    heads: Heads = Heads()
    """Without an idempotency key each request is another."""
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    baggage: Mapping[str, str] = msgspec.field(default_factory=dict)
    seed: int | None = None
    remaining_ms: int | None = None


class Asking:
    """Asks a desk, and counts."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.metrics: AcpMetrics | None = None
        """None until an HTTP door is made."""

    async def answer(self, ask: Ask) -> Answer:
        """The workflow's answer. Raises AcpError. Cancelled, it cancels the run."""
        loop = asyncio.get_running_loop()
        arrived = loop.time()
        code: Code | None = Code.INTERNAL
        try:
            request = m.CallRequest(envelope=_envelope(ask), input=ask.input)
            answer = await self.desk.call(Verb.EXECUTE, request, arrived, may_hold_blobs=False)
            code = None
        except AcpError as error:
            code = error.failure.code
            raise
        except asyncio.CancelledError:
            code = Code.CANCELLED
            raise
        finally:
            if self.metrics is not None:
                self.metrics.count(Verb.EXECUTE, code, loop.time() - arrived)
        return answer


def _envelope(ask: Ask) -> m.Envelope:
    """That of a call which is of no run: what stands for one only makes its effect key.

    A key that the client names is the same by whatever face it comes, and none that a run's step could have.
    """
    origin, path, heads = new_run_id(), face_path(ask.face), ask.heads
    if len(heads.key) > MOST_KEY_CHARS:
        most = f"the idempotency key has {len(heads.key):,} characters; expected at most {MOST_KEY_CHARS:,}"
        raise malformed(most)
    return m.Envelope(
        protocol=CURRENT,
        run_id=origin,
        step_path=path,
        attempt=1,
        component=m.ComponentRef(name=ask.workflow),
        remaining_ms=ask.remaining_ms,
        effect_key=f"{face_path('')}/{heads.key}" if heads.key else f"{origin}/{path}",
        labels=dict(ask.labels),
        baggage=dict(ask.baggage),
        seed=str(ask.seed) if ask.seed is not None else 0,
        traceparent=heads.traceparent,
        tracestate=heads.tracestate,
    )
