from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Envelope(_message.Message):
    __slots__ = ("protocol", "run_id", "step_path", "attempt", "previous_attempts", "component", "remaining_ms", "budget", "effect_key", "effect", "action", "traceparent", "tracestate", "baggage", "variant", "tenant", "labels", "seed", "workflow_run_id")
    class BaggageEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_PATH_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    COMPONENT_FIELD_NUMBER: _ClassVar[int]
    REMAINING_MS_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    EFFECT_KEY_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    TRACEPARENT_FIELD_NUMBER: _ClassVar[int]
    TRACESTATE_FIELD_NUMBER: _ClassVar[int]
    BAGGAGE_FIELD_NUMBER: _ClassVar[int]
    VARIANT_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_RUN_ID_FIELD_NUMBER: _ClassVar[int]
    protocol: str
    run_id: str
    step_path: str
    attempt: int
    previous_attempts: int
    component: ComponentRef
    remaining_ms: int
    budget: Budget
    effect_key: str
    effect: str
    action: str
    traceparent: str
    tracestate: str
    baggage: _containers.ScalarMap[str, str]
    variant: Variant
    tenant: str
    labels: _containers.ScalarMap[str, str]
    seed: int
    workflow_run_id: str
    def __init__(self, protocol: _Optional[str] = ..., run_id: _Optional[str] = ..., step_path: _Optional[str] = ..., attempt: _Optional[int] = ..., previous_attempts: _Optional[int] = ..., component: _Optional[_Union[ComponentRef, _Mapping]] = ..., remaining_ms: _Optional[int] = ..., budget: _Optional[_Union[Budget, _Mapping]] = ..., effect_key: _Optional[str] = ..., effect: _Optional[str] = ..., action: _Optional[str] = ..., traceparent: _Optional[str] = ..., tracestate: _Optional[str] = ..., baggage: _Optional[_Mapping[str, str]] = ..., variant: _Optional[_Union[Variant, _Mapping]] = ..., tenant: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., seed: _Optional[int] = ..., workflow_run_id: _Optional[str] = ...) -> None: ...

class ComponentRef(_message.Message):
    __slots__ = ("name", "version", "digest")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    digest: str
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., digest: _Optional[str] = ...) -> None: ...

class Budget(_message.Message):
    __slots__ = ("retries", "tokens", "cost")
    RETRIES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    retries: int
    tokens: int
    cost: float
    def __init__(self, retries: _Optional[int] = ..., tokens: _Optional[int] = ..., cost: _Optional[float] = ...) -> None: ...

class Variant(_message.Message):
    __slots__ = ("name", "mirror")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MIRROR_FIELD_NUMBER: _ClassVar[int]
    name: str
    mirror: bool
    def __init__(self, name: _Optional[str] = ..., mirror: _Optional[bool] = ...) -> None: ...

class Result(_message.Message):
    __slots__ = ("outcome", "usage", "queue_ms", "service_ms", "evidence", "replayed", "component", "run_id")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_MS_FIELD_NUMBER: _ClassVar[int]
    SERVICE_MS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    COMPONENT_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    outcome: str
    usage: Usage
    queue_ms: float
    service_ms: float
    evidence: _struct_pb2.Struct
    replayed: bool
    component: ComponentRef
    run_id: str
    def __init__(self, outcome: _Optional[str] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ..., queue_ms: _Optional[float] = ..., service_ms: _Optional[float] = ..., evidence: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., replayed: _Optional[bool] = ..., component: _Optional[_Union[ComponentRef, _Mapping]] = ..., run_id: _Optional[str] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("input_tokens", "output_tokens", "cost")
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    input_tokens: int
    output_tokens: int
    cost: float
    def __init__(self, input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., cost: _Optional[float] = ...) -> None: ...

class Blob(_message.Message):
    __slots__ = ("digest", "content", "media_type")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    digest: str
    content: bytes
    media_type: str
    def __init__(self, digest: _Optional[str] = ..., content: _Optional[bytes] = ..., media_type: _Optional[str] = ...) -> None: ...

class PlanRequest(_message.Message):
    __slots__ = ("envelope", "input", "input_json", "blobs", "confirm_only")
    ENVELOPE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    BLOBS_FIELD_NUMBER: _ClassVar[int]
    CONFIRM_ONLY_FIELD_NUMBER: _ClassVar[int]
    envelope: Envelope
    input: _struct_pb2.Struct
    input_json: str
    blobs: _containers.RepeatedCompositeFieldContainer[Blob]
    confirm_only: bool
    def __init__(self, envelope: _Optional[_Union[Envelope, _Mapping]] = ..., input: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., input_json: _Optional[str] = ..., blobs: _Optional[_Iterable[_Union[Blob, _Mapping]]] = ..., confirm_only: _Optional[bool] = ...) -> None: ...

class PlanResponse(_message.Message):
    __slots__ = ("result", "output", "output_json", "blobs", "execute_action", "gradient_handle", "actions", "model_calls")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    BLOBS_FIELD_NUMBER: _ClassVar[int]
    EXECUTE_ACTION_FIELD_NUMBER: _ClassVar[int]
    GRADIENT_HANDLE_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    MODEL_CALLS_FIELD_NUMBER: _ClassVar[int]
    result: Result
    output: _struct_pb2.Struct
    output_json: str
    blobs: _containers.RepeatedCompositeFieldContainer[Blob]
    execute_action: ExecuteAction
    gradient_handle: str
    actions: _containers.RepeatedCompositeFieldContainer[Action]
    model_calls: _containers.RepeatedCompositeFieldContainer[ModelCall]
    def __init__(self, result: _Optional[_Union[Result, _Mapping]] = ..., output: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., output_json: _Optional[str] = ..., blobs: _Optional[_Iterable[_Union[Blob, _Mapping]]] = ..., execute_action: _Optional[_Union[ExecuteAction, _Mapping]] = ..., gradient_handle: _Optional[str] = ..., actions: _Optional[_Iterable[_Union[Action, _Mapping]]] = ..., model_calls: _Optional[_Iterable[_Union[ModelCall, _Mapping]]] = ...) -> None: ...

class ExecuteAction(_message.Message):
    __slots__ = ("action", "input")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    action: str
    input: _struct_pb2.Struct
    def __init__(self, action: _Optional[str] = ..., input: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class Action(_message.Message):
    __slots__ = ("name", "chosen", "support", "available", "logprob", "propensity", "policy", "forced")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CHOSEN_FIELD_NUMBER: _ClassVar[int]
    SUPPORT_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    LOGPROB_FIELD_NUMBER: _ClassVar[int]
    PROPENSITY_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    FORCED_FIELD_NUMBER: _ClassVar[int]
    name: str
    chosen: str
    support: _containers.RepeatedScalarFieldContainer[str]
    available: _containers.RepeatedScalarFieldContainer[bool]
    logprob: float
    propensity: float
    policy: str
    forced: bool
    def __init__(self, name: _Optional[str] = ..., chosen: _Optional[str] = ..., support: _Optional[_Iterable[str]] = ..., available: _Optional[_Iterable[bool]] = ..., logprob: _Optional[float] = ..., propensity: _Optional[float] = ..., policy: _Optional[str] = ..., forced: _Optional[bool] = ...) -> None: ...

class ModelCall(_message.Message):
    __slots__ = ("model", "prompt_ids", "completion_ids", "logprobs", "mask", "policy_versions", "finish_reason", "prompt_tokens", "completion_tokens", "messages_json", "text")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PROMPT_IDS_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_IDS_FIELD_NUMBER: _ClassVar[int]
    LOGPROBS_FIELD_NUMBER: _ClassVar[int]
    MASK_FIELD_NUMBER: _ClassVar[int]
    POLICY_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    FINISH_REASON_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_JSON_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    model: str
    prompt_ids: Array
    completion_ids: Array
    logprobs: Array
    mask: Array
    policy_versions: _containers.RepeatedCompositeFieldContainer[PolicyVersion]
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    messages_json: str
    text: str
    def __init__(self, model: _Optional[str] = ..., prompt_ids: _Optional[_Union[Array, _Mapping]] = ..., completion_ids: _Optional[_Union[Array, _Mapping]] = ..., logprobs: _Optional[_Union[Array, _Mapping]] = ..., mask: _Optional[_Union[Array, _Mapping]] = ..., policy_versions: _Optional[_Iterable[_Union[PolicyVersion, _Mapping]]] = ..., finish_reason: _Optional[str] = ..., prompt_tokens: _Optional[int] = ..., completion_tokens: _Optional[int] = ..., messages_json: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class PolicyVersion(_message.Message):
    __slots__ = ("policy", "tokens")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    policy: str
    tokens: int
    def __init__(self, policy: _Optional[str] = ..., tokens: _Optional[int] = ...) -> None: ...

class Array(_message.Message):
    __slots__ = ("content", "digest")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    content: bytes
    digest: str
    def __init__(self, content: _Optional[bytes] = ..., digest: _Optional[str] = ...) -> None: ...

class ExecuteRequest(_message.Message):
    __slots__ = ("envelope", "input", "input_json", "blobs", "confirm_only")
    ENVELOPE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    BLOBS_FIELD_NUMBER: _ClassVar[int]
    CONFIRM_ONLY_FIELD_NUMBER: _ClassVar[int]
    envelope: Envelope
    input: _struct_pb2.Struct
    input_json: str
    blobs: _containers.RepeatedCompositeFieldContainer[Blob]
    confirm_only: bool
    def __init__(self, envelope: _Optional[_Union[Envelope, _Mapping]] = ..., input: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., input_json: _Optional[str] = ..., blobs: _Optional[_Iterable[_Union[Blob, _Mapping]]] = ..., confirm_only: _Optional[bool] = ...) -> None: ...

class ExecuteResponse(_message.Message):
    __slots__ = ("result", "output", "output_json", "blobs", "gradient_handle", "actions", "model_calls")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    BLOBS_FIELD_NUMBER: _ClassVar[int]
    GRADIENT_HANDLE_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    MODEL_CALLS_FIELD_NUMBER: _ClassVar[int]
    result: Result
    output: _struct_pb2.Struct
    output_json: str
    blobs: _containers.RepeatedCompositeFieldContainer[Blob]
    gradient_handle: str
    actions: _containers.RepeatedCompositeFieldContainer[Action]
    model_calls: _containers.RepeatedCompositeFieldContainer[ModelCall]
    def __init__(self, result: _Optional[_Union[Result, _Mapping]] = ..., output: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., output_json: _Optional[str] = ..., blobs: _Optional[_Iterable[_Union[Blob, _Mapping]]] = ..., gradient_handle: _Optional[str] = ..., actions: _Optional[_Iterable[_Union[Action, _Mapping]]] = ..., model_calls: _Optional[_Iterable[_Union[ModelCall, _Mapping]]] = ...) -> None: ...

class ObserveRequest(_message.Message):
    __slots__ = ("envelope", "input", "input_json", "blobs", "confirm_only")
    ENVELOPE_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    BLOBS_FIELD_NUMBER: _ClassVar[int]
    CONFIRM_ONLY_FIELD_NUMBER: _ClassVar[int]
    envelope: Envelope
    input: _struct_pb2.Struct
    input_json: str
    blobs: _containers.RepeatedCompositeFieldContainer[Blob]
    confirm_only: bool
    def __init__(self, envelope: _Optional[_Union[Envelope, _Mapping]] = ..., input: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., input_json: _Optional[str] = ..., blobs: _Optional[_Iterable[_Union[Blob, _Mapping]]] = ..., confirm_only: _Optional[bool] = ...) -> None: ...

class ObserveResponse(_message.Message):
    __slots__ = ("result", "output", "output_json", "blobs", "gradient_handle", "actions", "model_calls")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    BLOBS_FIELD_NUMBER: _ClassVar[int]
    GRADIENT_HANDLE_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    MODEL_CALLS_FIELD_NUMBER: _ClassVar[int]
    result: Result
    output: _struct_pb2.Struct
    output_json: str
    blobs: _containers.RepeatedCompositeFieldContainer[Blob]
    gradient_handle: str
    actions: _containers.RepeatedCompositeFieldContainer[Action]
    model_calls: _containers.RepeatedCompositeFieldContainer[ModelCall]
    def __init__(self, result: _Optional[_Union[Result, _Mapping]] = ..., output: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., output_json: _Optional[str] = ..., blobs: _Optional[_Iterable[_Union[Blob, _Mapping]]] = ..., gradient_handle: _Optional[str] = ..., actions: _Optional[_Iterable[_Union[Action, _Mapping]]] = ..., model_calls: _Optional[_Iterable[_Union[ModelCall, _Mapping]]] = ...) -> None: ...

class ReflectRequest(_message.Message):
    __slots__ = ("envelope", "reward", "credit", "terms", "corrections", "gradient_handle")
    ENVELOPE_FIELD_NUMBER: _ClassVar[int]
    REWARD_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    CORRECTIONS_FIELD_NUMBER: _ClassVar[int]
    GRADIENT_HANDLE_FIELD_NUMBER: _ClassVar[int]
    envelope: Envelope
    reward: float
    credit: float
    terms: _containers.RepeatedCompositeFieldContainer[RewardTerm]
    corrections: _containers.RepeatedCompositeFieldContainer[Correction]
    gradient_handle: str
    def __init__(self, envelope: _Optional[_Union[Envelope, _Mapping]] = ..., reward: _Optional[float] = ..., credit: _Optional[float] = ..., terms: _Optional[_Iterable[_Union[RewardTerm, _Mapping]]] = ..., corrections: _Optional[_Iterable[_Union[Correction, _Mapping]]] = ..., gradient_handle: _Optional[str] = ...) -> None: ...

class RewardTerm(_message.Message):
    __slots__ = ("name", "value", "weight", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    weight: float
    reason: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ..., weight: _Optional[float] = ..., reason: _Optional[str] = ...) -> None: ...

class Correction(_message.Message):
    __slots__ = ("pointer", "value", "by", "reason")
    POINTER_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    pointer: str
    value: _struct_pb2.Value
    by: str
    reason: str
    def __init__(self, pointer: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., by: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class ReflectResponse(_message.Message):
    __slots__ = ("result", "accepted", "note")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    result: Result
    accepted: bool
    note: str
    def __init__(self, result: _Optional[_Union[Result, _Mapping]] = ..., accepted: _Optional[bool] = ..., note: _Optional[str] = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ("protocol", "component")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    COMPONENT_FIELD_NUMBER: _ClassVar[int]
    protocol: str
    component: str
    def __init__(self, protocol: _Optional[str] = ..., component: _Optional[str] = ...) -> None: ...

class DescribeResponse(_message.Message):
    __slots__ = ("protocols", "cards")
    PROTOCOLS_FIELD_NUMBER: _ClassVar[int]
    CARDS_FIELD_NUMBER: _ClassVar[int]
    protocols: _containers.RepeatedScalarFieldContainer[str]
    cards: _containers.RepeatedCompositeFieldContainer[Card]
    def __init__(self, protocols: _Optional[_Iterable[str]] = ..., cards: _Optional[_Iterable[_Union[Card, _Mapping]]] = ...) -> None: ...

class Card(_message.Message):
    __slots__ = ("name", "version", "kind", "digest", "input", "output", "effects", "action_field", "idempotent", "confirms", "verbs", "capabilities", "description", "sla", "max_request_bytes", "tensors")
    class EffectsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENT_FIELD_NUMBER: _ClassVar[int]
    CONFIRMS_FIELD_NUMBER: _ClassVar[int]
    VERBS_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    SLA_FIELD_NUMBER: _ClassVar[int]
    MAX_REQUEST_BYTES_FIELD_NUMBER: _ClassVar[int]
    TENSORS_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    kind: str
    digest: str
    input: _struct_pb2.Struct
    output: _struct_pb2.Struct
    effects: _containers.ScalarMap[str, str]
    action_field: str
    idempotent: bool
    confirms: bool
    verbs: _containers.RepeatedScalarFieldContainer[str]
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    description: str
    sla: Sla
    max_request_bytes: int
    tensors: Tensors
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., kind: _Optional[str] = ..., digest: _Optional[str] = ..., input: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., output: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., effects: _Optional[_Mapping[str, str]] = ..., action_field: _Optional[str] = ..., idempotent: _Optional[bool] = ..., confirms: _Optional[bool] = ..., verbs: _Optional[_Iterable[str]] = ..., capabilities: _Optional[_Iterable[str]] = ..., description: _Optional[str] = ..., sla: _Optional[_Union[Sla, _Mapping]] = ..., max_request_bytes: _Optional[int] = ..., tensors: _Optional[_Union[Tensors, _Mapping]] = ...) -> None: ...

class Tensors(_message.Message):
    __slots__ = ("inputs", "outputs")
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    inputs: _containers.RepeatedCompositeFieldContainer[Tensor]
    outputs: _containers.RepeatedCompositeFieldContainer[Tensor]
    def __init__(self, inputs: _Optional[_Iterable[_Union[Tensor, _Mapping]]] = ..., outputs: _Optional[_Iterable[_Union[Tensor, _Mapping]]] = ...) -> None: ...

class Tensor(_message.Message):
    __slots__ = ("name", "shape", "dtype")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    name: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    dtype: str
    def __init__(self, name: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ..., dtype: _Optional[str] = ...) -> None: ...

class Sla(_message.Message):
    __slots__ = ("max_latency_ms", "p95_latency_ms", "min_success_rate")
    MAX_LATENCY_MS_FIELD_NUMBER: _ClassVar[int]
    P95_LATENCY_MS_FIELD_NUMBER: _ClassVar[int]
    MIN_SUCCESS_RATE_FIELD_NUMBER: _ClassVar[int]
    max_latency_ms: float
    p95_latency_ms: float
    min_success_rate: float
    def __init__(self, max_latency_ms: _Optional[float] = ..., p95_latency_ms: _Optional[float] = ..., min_success_rate: _Optional[float] = ...) -> None: ...

class VjpRequest(_message.Message):
    __slots__ = ("envelope", "gradient_handle", "inputs", "cotangents", "input", "input_json")
    ENVELOPE_FIELD_NUMBER: _ClassVar[int]
    GRADIENT_HANDLE_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    COTANGENTS_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    envelope: Envelope
    gradient_handle: str
    inputs: bytes
    cotangents: bytes
    input: _struct_pb2.Struct
    input_json: str
    def __init__(self, envelope: _Optional[_Union[Envelope, _Mapping]] = ..., gradient_handle: _Optional[str] = ..., inputs: _Optional[bytes] = ..., cotangents: _Optional[bytes] = ..., input: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., input_json: _Optional[str] = ...) -> None: ...

class VjpResponse(_message.Message):
    __slots__ = ("result", "gradients")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    GRADIENTS_FIELD_NUMBER: _ClassVar[int]
    result: Result
    gradients: bytes
    def __init__(self, result: _Optional[_Union[Result, _Mapping]] = ..., gradients: _Optional[bytes] = ...) -> None: ...
