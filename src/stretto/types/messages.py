"""What passes between the engine and a component."""

from collections.abc import Mapping
from typing import Final, Protocol

import msgspec

from stretto.types.budget import Budget
from stretto.types.enums import Effect, Outcome
from stretto.types.ids import RunId, StepPath
from stretto.types.json import Json, JsonObject
from stretto.types.learning import Action, ModelCall, Reward


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What a call consumed."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """In the currency of the workflow's budget."""


TRACEPARENT: Final = "traceparent"

TRACESTATE: Final = "tracestate"


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What is fixed for a whole run and travels with every call in it."""

    id: RunId
    workflow_run_id: str
    workflow: str
    version: str
    tenant: str = "default"
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Caller's labels: task, group, split, purpose, session."""
    seed: int = 0
    reference: Json = None
    """Gold answers. The engine shows it to steps of kind ``reward`` only; to all others it is None."""
    baggage: Mapping[str, str] = msgspec.field(default_factory=dict)
    traceparent: str = ""
    tracestate: str = ""
    """What tracing systems add to `traceparent`; nothing without one (W3C Trace Context, section 3.3)."""
    resumed: bool = False
    """It goes on with what an earlier process, or an earlier life of the run, began: sessions of then are gone."""

    @property
    def trace(self) -> dict[str, str]:
        """Its trace context, as far as there is one, by the names that headers of HTTP and keys of MCP have for it."""
        if not self.traceparent:
            return {}
        told = {TRACEPARENT: self.traceparent}
        return {**told, TRACESTATE: self.tracestate} if self.tracestate else told


class Caller(Protocol):
    """How a component calls others: through the engine, so that the call is checked, bounded and recorded."""

    async def call(self, component: str, request_input: JsonObject) -> JsonObject:
        """The other component's output; raises the `ComponentError` that its last attempt raised."""
        ...


class Call(msgspec.Struct, frozen=True):
    """One attempt at one step: what the envelope of a request carries."""

    run: RunInfo
    path: StepPath
    attempt: int
    """1 for the first."""
    action: str
    """Which of the component's actions this is; empty when it has one."""
    effect: Effect
    deadline: float | None
    """Event-loop time, seconds, by which an answer is useful; None when there is no deadline."""
    budget: Budget
    caller: Caller | None = None
    """Set for components whose card has the capability ``call``."""
    previous_attempts: int = 0
    """Of this step and of the calls around it, that failed before this one: whoever is asked can tell how often the
    same was tried already."""

    @property
    def effect_key(self) -> str:
        """Idempotency key: (run id, step path), the same for every attempt."""
        return f"{self.run.id}/{self.path}"


class Request(msgspec.Struct, frozen=True):
    """What a component is asked."""

    input: JsonObject
    """Exactly the fields that the step's input_mapping picks; the component may keep or change it."""
    call: Call


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """What a component answers."""

    output: object
    """A JSON object, or what encodes to one: a dataclass, TypedDict, msgspec Struct or pydantic model."""
    outcome: Outcome = Outcome.OK
    usage: Usage | None = None
    actions: tuple[Action, ...] = ()
    model_calls: tuple[ModelCall, ...] = ()
    rewards: tuple[Reward, ...] = ()
    evidence: Mapping[str, Json] = msgspec.field(default_factory=dict)
    queue_ms: float = 0.0
    """Time the call waited before the component worked on it."""
