"""From a request of the wire to the request that a component takes."""

from typing import Final

from stretto.acp.messages import BudgetLeft, Envelope
from stretto.acp.server.served import Served
from stretto.acp.server.trace import trace_of
from stretto.types.budget import UNLIMITED, Budget, Pool
from stretto.types.enums import Effect
from stretto.types.ids import RunId, StepPath
from stretto.types.json import JsonObject
from stretto.types.messages import Call, Request, RunInfo

_NO_LIMIT: Final = BudgetLeft()


class KeyedCall(Call, frozen=True):
    """A call whose effect key is the caller's own."""

    key: str = ""

    @property
    def effect_key(self) -> str:
        """The envelope's."""
        return self.key


def action_of(served: Served, envelope: Envelope, value: JsonObject) -> str:
    """Which action is asked for: what the input says where the card names a field for it, else the envelope."""
    return served.card.action_of(value) if served.card.action_field else envelope.action


def effect_of(served: Served, envelope: Envelope, action: str) -> Effect:
    """What the call does to the world: a write where either side takes it for one. A value that is not known comes of
    a newer minor version, and the card's stands."""
    known = served.card.effect_of(action)
    return Effect.WRITE if envelope.effect == Effect.WRITE else known


def request_of(e: Envelope, value: JsonObject, action: str, effect: Effect, deadline: float | None) -> Request:
    """What the component is asked."""
    left = e.budget
    budget = Budget(Pool() if left == _NO_LIMIT else _pool(left), deadline, deadline)
    told = (run_of(e), StepPath(e.step_path), e.attempt, action, effect, deadline, budget, None, e.previous_attempts)
    if not e.effect_key or e.effect_key == f"{e.run_id}/{e.step_path}":
        return Request(value, Call(*told))
    return Request(value, KeyedCall(*told, e.effect_key))


def run_of(e: Envelope) -> RunInfo:
    """The run that a call belongs to, as far as the envelope tells."""
    workflow, _, rest = e.workflow_run_id.partition("@")
    traceparent, tracestate = trace_of(e.traceparent, e.tracestate)
    return RunInfo(
        id=RunId(e.run_id),
        workflow_run_id=e.workflow_run_id,
        workflow=workflow,
        version=_version(rest) if rest else "",
        tenant=e.tenant or "default",
        labels=e.labels,
        seed=int(e.seed),
        baggage=e.baggage,
        traceparent=traceparent,
        tracestate=tracestate,
    )


def _pool(left: BudgetLeft) -> Pool:
    limits = (left.retries, left.tokens, left.cost)
    return Pool(*(UNLIMITED if each is None else each for each in limits))


def _version(rest: str) -> str:
    """Of ``1.2.0.m8.i8.uuid`` the part before the digests."""
    return ".".join(rest.split(".")[:-3])
