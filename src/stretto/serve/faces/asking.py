"""The one way from a request of another protocol to the desk: its limits, refusals and keys hold for all."""

import asyncio
from collections.abc import Mapping

import msgspec

from stretto.acp import messages as m
from stretto.acp.failure import AcpError
from stretto.acp.names import Verb
from stretto.acp.server import Answer, Desk
from stretto.acp.version import CURRENT
from stretto.serve.acp_metrics import AcpMetrics
from stretto.serve.faces.component import face_path
from stretto.types.errors import Code
from stretto.types.ids import new_run_id
from stretto.types.json import JsonObject


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A request that came by another protocol."""

    workflow: str
    input: JsonObject
    face: str
    """By which it came: ``mcp``, ``openai``."""
    key: str = ""
    """The client's idempotency key; empty: each request is another."""
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    seed: int | None = None
    remaining_ms: int | None = None
    traceparent: str = ""


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
    """That of a call which is of no run: what stands for one only makes its effect key."""
    origin, path = new_run_id(), face_path(ask.face)
    return m.Envelope(
        protocol=CURRENT,
        run_id=origin,
        step_path=path,
        attempt=1,
        component=m.ComponentRef(name=ask.workflow),
        remaining_ms=ask.remaining_ms,
        effect_key=f"{path}/{ask.key}" if ask.key else f"{origin}/{path}",
        labels=dict(ask.labels),
        seed=str(ask.seed) if ask.seed is not None else 0,
        traceparent=ask.traceparent,
    )
