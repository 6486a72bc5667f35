"""The messages of ``acp/v1/acp.proto`` as records. Their JSON form is the proto's JSON mapping."""

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from stretto.acp.names import Verb
from stretto.types.json import Json, JsonObject

T = TypeVar("T")

MAX_UINT32 = 2**32 - 1


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """A message: named fields in lowerCamelCase, what holds its default left out. Nothing in one refers back to it, so
    Python's collector need not look."""


class ComponentRef(Message, frozen=True, kw_only=True):
    """Who is asked, or answered."""

    name: str = ""
    version: str = ""
    digest: str = ""


class BudgetLeft(Message, frozen=True, kw_only=True):
    """What the run may still spend; None is no limit."""

    retries: int | None = None
    tokens: int | None = None
    cost: float | None = None


class Variant(Message, frozen=True, kw_only=True):
    """Which variant of a release the run goes through."""

    name: str = ""
    mirror: bool = False
    """Nobody sees the answer, and nothing in the world may change."""


class Envelope(Message, frozen=True, kw_only=True):
    """What travels with every call. The proto says what each field means."""

    protocol: str = ""
    run_id: str = ""
    step_path: str = ""
    attempt: int = 0
    previous_attempts: int = 0
    component: ComponentRef = ComponentRef()
    remaining_ms: int | None = None
    budget: BudgetLeft = BudgetLeft()
    effect_key: str = ""
    effect: str = ""
    action: str = ""
    traceparent: str = ""
    tracestate: str = ""
    baggage: dict[str, str] = msgspec.field(default_factory=dict)
    variant: Variant = Variant()
    tenant: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    seed: int | str = 0
    """An int64, as text: so the JSON mapping writes it, since a double would not hold it."""
    workflow_run_id: str = ""


class Spent(Message, frozen=True, kw_only=True):
    """What a call consumed."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


class Result(Message, frozen=True, kw_only=True):
    """What every answer says of itself."""

    outcome: str = ""
    """``ok`` when empty."""
    usage: Spent = Spent()
    queue_ms: float = 0.0
    service_ms: float = 0.0
    evidence: JsonObject = msgspec.field(default_factory=dict)
    replayed: bool = False
    component: ComponentRef = ComponentRef()
    run_id: str = ""


class Blob(Message, frozen=True, kw_only=True):
    """A large value by its digest; the content may be left out where the receiver has it."""

    digest: str = ""
    content: bytes = b""
    media_type: str = ""


class ExecuteAction(Message, frozen=True, kw_only=True):
    """What a plan wants done next."""

    action: str = ""
    input: JsonObject = msgspec.field(default_factory=dict)


class Action(Message, frozen=True, kw_only=True):
    """A choice that was made on the way to an answer; `types.learning` says what its fields mean."""

    name: str = ""
    chosen: str = ""
    support: tuple[str, ...] = ()
    available: tuple[bool, ...] = ()
    logprob: float = 0.0
    propensity: float = 0.0
    policy: str = ""
    forced: bool = False


class Array(Message, frozen=True, kw_only=True):
    """An array as a safetensors file, or the digest of the blob that holds that file."""

    content: bytes = b""
    digest: str = ""


class PolicyVersion(Message, frozen=True, kw_only=True):
    """So many tokens in a row that the same weights wrote."""

    policy: str = ""
    tokens: int = 0


class ModelCall(Message, frozen=True, kw_only=True):
    """A completion of a language model; an array that is None is not known."""

    model: str = ""
    prompt_ids: Array | None = None
    completion_ids: Array | None = None
    logprobs: Array | None = None
    mask: Array | None = None
    policy_versions: tuple[PolicyVersion, ...] = ()
    finish_reason: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    messages_json: str = ""
    text: str = ""


class CallRequest(Message, frozen=True, kw_only=True):
    """PlanRequest, ExecuteRequest and ObserveRequest, which hold the same."""

    envelope: Envelope = Envelope()
    input: JsonObject = msgspec.field(default_factory=dict)
    input_json: str = ""
    blobs: tuple[Blob, ...] = ()
    confirm_only: bool = False


class CallResponse(Message, frozen=True, kw_only=True):
    """PlanResponse, ExecuteResponse and ObserveResponse; only a plan has an action."""

    result: Result = Result()
    output: JsonObject = msgspec.field(default_factory=dict)
    output_json: str = ""
    blobs: tuple[Blob, ...] = ()
    execute_action: ExecuteAction | None = None
    gradient_handle: str = ""
    actions: tuple[Action, ...] = ()
    model_calls: tuple[ModelCall, ...] = ()


class RewardTerm(Message, frozen=True, kw_only=True):
    """One term of the run's reward; without a value it could not be computed."""

    name: str = ""
    value: float | None = None
    weight: float = 0.0
    reason: str = ""


class Correction(Message, frozen=True, kw_only=True):
    """What a field of the judged answer ought to have been."""

    pointer: str = ""
    value: Json = None
    by: str = ""
    reason: str = ""


class ReflectRequest(Message, frozen=True, kw_only=True):
    """The learning signal about one call."""

    envelope: Envelope = Envelope()
    reward: float | None = None
    credit: float | None = None
    terms: tuple[RewardTerm, ...] = ()
    corrections: tuple[Correction, ...] = ()
    gradient_handle: str = ""


class ReflectResponse(Message, frozen=True, kw_only=True):
    """Whether it will be learnt from."""

    result: Result = Result()
    accepted: bool = False
    note: str = ""


class DescribeRequest(Message, frozen=True, kw_only=True):
    """Asks for one card, or for all."""

    protocol: str = ""
    component: str = ""


class Sla(Message, frozen=True, kw_only=True):
    """What a component promises; None is nothing."""

    max_latency_ms: float | None = None
    p95_latency_ms: float | None = None
    min_success_rate: float | None = None


class Tensor(Message, frozen=True, kw_only=True):
    """A field that is a tensor."""

    name: str = ""
    shape: tuple[int, ...] = ()
    dtype: str = ""
    """``F32`` when empty."""


class Tensors(Message, frozen=True, kw_only=True):
    """Which fields of a component are tensors that a gradient passes."""

    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()


class WireCard(Message, frozen=True, kw_only=True):
    """A card as it crosses the wire."""

    name: str = ""
    version: str = ""
    kind: str = ""
    digest: str = ""
    input: JsonObject = msgspec.field(default_factory=dict)
    output: JsonObject = msgspec.field(default_factory=dict)
    effects: dict[str, str] = msgspec.field(default_factory=dict)
    action_field: str = ""
    idempotent: bool = False
    confirms: bool = False
    verbs: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    description: str = ""
    sla: Sla = Sla()
    max_request_bytes: int = 0
    tensors: Tensors = Tensors()
    """Empty where it does not say."""


class DescribeResponse(Message, frozen=True, kw_only=True):
    """The versions that are spoken, and the cards."""

    protocols: tuple[str, ...] = ()
    cards: tuple[WireCard, ...] = ()


class VjpRequest(Message, frozen=True, kw_only=True):
    """Asks for the gradient of <cotangents, f(inputs)> with respect to the inputs; tensors as safetensors bytes."""

    envelope: Envelope = Envelope()
    gradient_handle: str = ""
    inputs: bytes = b""
    cotangents: bytes = b""
    input: JsonObject = msgspec.field(default_factory=dict)
    """The forward call's other fields."""
    input_json: str = ""


class VjpResponse(Message, frozen=True, kw_only=True):
    """The gradients, named as the inputs."""

    result: Result = Result()
    gradients: bytes = b""


REQUESTS: Final[Mapping[Verb, type[Message]]] = {
    Verb.PLAN: CallRequest,
    Verb.EXECUTE: CallRequest,
    Verb.OBSERVE: CallRequest,
    Verb.REFLECT: ReflectRequest,
    Verb.DESCRIBE: DescribeRequest,
    Verb.VJP: VjpRequest,
}
"""What each verb is asked by."""

RESPONSES: Final[Mapping[Verb, type[Message]]] = {
    Verb.PLAN: CallResponse,
    Verb.EXECUTE: CallResponse,
    Verb.OBSERVE: CallResponse,
    Verb.REFLECT: ReflectResponse,
    Verb.DESCRIBE: DescribeResponse,
    Verb.VJP: VjpResponse,
}
"""What each verb is answered by."""
