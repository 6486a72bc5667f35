"""Messages as protobuf, for gRPC. Needs the extra ``grpc``.

Requests and answers of a step are carried over field by field, their JSON objects as text; the others, which are rare,
go through the JSON mapping.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

import msgspec
from google.protobuf import json_format
from google.protobuf.message import Message as Proto

from stretto.acp import messages as m
from stretto.acp.names import Verb
from stretto.acp.proto_reported import action_of, action_proto, model_call_of, model_call_proto
from stretto.acp.v1 import acp_pb2 as pb
from stretto.types.json import JsonObject

M = TypeVar("M", bound=m.Message)

_NO_USAGE: Final = m.Spent()
_NO_REF: Final = m.ComponentRef()
_NO_BUDGET: Final = m.BudgetLeft()
_NO_VARIANT: Final = m.Variant()

REQUESTS: Final[Mapping[Verb, type[Proto]]] = {verb: getattr(pb, f"{verb.capitalize()}Request") for verb in Verb}
"""What each verb is asked by, as protobuf; `messages.REQUESTS` has the records."""

RESPONSES: Final[Mapping[Verb, type[Proto]]] = {verb: getattr(pb, f"{verb.capitalize()}Response") for verb in Verb}
"""What each verb is answered by, as protobuf."""


def request_of(verb: Verb, wire: bytes) -> m.Message:
    """The request that these bytes hold. Raises google.protobuf.message.DecodeError for other bytes."""
    return _record(REQUESTS[verb].FromString(wire), m.REQUESTS[verb])


def request_bytes(verb: Verb, request: m.Message) -> bytes:
    """A request as protobuf."""
    return _proto(request, REQUESTS[verb]).SerializeToString()


def response_of(verb: Verb, wire: bytes) -> m.Message:
    """The response that these bytes hold. Raises google.protobuf.message.DecodeError for other bytes."""
    return _record(RESPONSES[verb].FromString(wire), m.RESPONSES[verb])


def response_bytes(verb: Verb, response: m.Message) -> bytes:
    """A response as protobuf."""
    return _proto(response, RESPONSES[verb]).SerializeToString()


def plain(value: Proto) -> JsonObject:
    """A Struct as JSON; its numbers, which are doubles, whole where they are whole and exact."""
    return cast("JsonObject", _whole(json_format.MessageToDict(value)))


def _whole(value: Any) -> Any:  # JSON
    if isinstance(value, dict):
        return {name: _whole(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53 else value


# protobuf → records


def _record(proto: Any, form: type[M]) -> M:
    make = cast("Callable[[Any], M] | None", _RECORDS.get(form))
    if make is not None:
        return make(proto)
    return msgspec.convert(_whole(json_format.MessageToDict(proto)), form, strict=False)


def _call_request(p: Any) -> m.CallRequest:
    return m.CallRequest(
        envelope=_envelope(p.envelope),
        input=plain(p.input) if p.HasField("input") else {},
        input_json=p.input_json,
        blobs=tuple(map(_blob, p.blobs)),
        confirm_only=p.confirm_only,
    )


def _call_response(p: Any) -> m.CallResponse:
    wants = isinstance(p, pb.PlanResponse) and p.HasField("execute_action")
    return m.CallResponse(
        result=_result(p.result),
        output=plain(p.output) if p.HasField("output") else {},
        output_json=p.output_json,
        blobs=tuple(map(_blob, p.blobs)),
        execute_action=m.ExecuteAction(action=p.execute_action.action, input=plain(p.execute_action.input))
        if wants
        else None,
        gradient_handle=p.gradient_handle,
        actions=tuple(map(action_of, p.actions)),
        model_calls=tuple(map(model_call_of, p.model_calls)),
    )


def _envelope(p: Any) -> m.Envelope:
    return m.Envelope(
        protocol=p.protocol,
        run_id=p.run_id,
        step_path=p.step_path,
        attempt=p.attempt,
        previous_attempts=p.previous_attempts,
        component=_ref(p.component) if p.HasField("component") else _NO_REF,
        remaining_ms=p.remaining_ms if p.HasField("remaining_ms") else None,
        budget=_budget(p.budget) if p.HasField("budget") else _NO_BUDGET,
        effect_key=p.effect_key,
        effect=p.effect,
        action=p.action,
        traceparent=p.traceparent,
        tracestate=p.tracestate,
        baggage=dict(p.baggage),
        variant=m.Variant(name=p.variant.name, mirror=p.variant.mirror) if p.HasField("variant") else _NO_VARIANT,
        tenant=p.tenant,
        labels=dict(p.labels),
        seed=str(p.seed) if p.seed else 0,
        workflow_run_id=p.workflow_run_id,
    )


def _ref(p: Any) -> m.ComponentRef:
    return m.ComponentRef(name=p.name, version=p.version, digest=p.digest)


def _budget(p: Any) -> m.BudgetLeft:
    return m.BudgetLeft(
        retries=p.retries if p.HasField("retries") else None,
        tokens=p.tokens if p.HasField("tokens") else None,
        cost=p.cost if p.HasField("cost") else None,
    )


def _result(p: Any) -> m.Result:
    return m.Result(
        outcome=p.outcome,
        usage=_spent(p.usage) if p.HasField("usage") else _NO_USAGE,
        queue_ms=p.queue_ms,
        service_ms=p.service_ms,
        evidence=plain(p.evidence) if p.HasField("evidence") else {},
        replayed=p.replayed,
        component=_ref(p.component) if p.HasField("component") else _NO_REF,
        run_id=p.run_id,
    )


def _spent(p: Any) -> m.Spent:
    return m.Spent(input_tokens=p.input_tokens, output_tokens=p.output_tokens, cost=p.cost)


def _blob(p: Any) -> m.Blob:
    return m.Blob(digest=p.digest, content=p.content, media_type=p.media_type)


_RECORDS: Final[Mapping[type[m.Message], Callable[[Any], m.Message]]] = {
    m.CallRequest: _call_request,
    m.CallResponse: _call_response,
}


# records → protobuf


def _proto(record: m.Message, form: type[Proto]) -> Proto:
    if isinstance(record, m.CallRequest):
        return _call_request_proto(record, form)
    if isinstance(record, m.CallResponse):
        return _call_response_proto(record, form)
    return json_format.ParseDict(msgspec.to_builtins(record), form())


def _call_request_proto(record: m.CallRequest, form: Any) -> Proto:
    proto = form(
        envelope=_envelope_proto(record.envelope),
        input_json=record.input_json,
        blobs=[_blob_proto(blob) for blob in record.blobs],
        confirm_only=record.confirm_only,
    )
    if record.input or not record.input_json:
        proto.input.update(record.input)
    return cast("Proto", proto)


def _call_response_proto(record: m.CallResponse, form: Any) -> Proto:
    proto = form(
        result=_result_proto(record.result),
        output_json=record.output_json,
        blobs=[_blob_proto(blob) for blob in record.blobs],
        gradient_handle=record.gradient_handle,
        actions=[action_proto(action) for action in record.actions],
        model_calls=[model_call_proto(call) for call in record.model_calls],
    )
    if record.output or not record.output_json:
        proto.output.update(record.output)
    wanted = record.execute_action
    if wanted is not None and form is pb.PlanResponse:
        proto.execute_action.action = wanted.action
        proto.execute_action.input.update(wanted.input)
    return cast("Proto", proto)


def _envelope_proto(e: m.Envelope) -> pb.Envelope:
    proto = pb.Envelope(
        protocol=e.protocol,
        run_id=e.run_id,
        step_path=e.step_path,
        attempt=e.attempt,
        previous_attempts=e.previous_attempts,
        remaining_ms=e.remaining_ms,
        effect_key=e.effect_key,
        effect=e.effect,
        action=e.action,
        traceparent=e.traceparent,
        tracestate=e.tracestate,
        baggage=e.baggage,
        tenant=e.tenant,
        labels=e.labels,
        seed=int(e.seed),
        workflow_run_id=e.workflow_run_id,
    )
    if e.component != _NO_REF:
        proto.component.CopyFrom(_ref_proto(e.component))
    if e.budget != _NO_BUDGET:
        proto.budget.CopyFrom(pb.Budget(retries=e.budget.retries, tokens=e.budget.tokens, cost=e.budget.cost))
    if e.variant != _NO_VARIANT:
        proto.variant.CopyFrom(pb.Variant(name=e.variant.name, mirror=e.variant.mirror))
    return proto


def _ref_proto(ref: m.ComponentRef) -> pb.ComponentRef:
    return pb.ComponentRef(name=ref.name, version=ref.version, digest=ref.digest)


def _result_proto(r: m.Result) -> pb.Result:
    proto = pb.Result(
        outcome=r.outcome,
        queue_ms=r.queue_ms,
        service_ms=r.service_ms,
        replayed=r.replayed,
        component=_ref_proto(r.component),
        run_id=r.run_id,
    )
    if r.usage != _NO_USAGE:
        usage = pb.Usage(input_tokens=r.usage.input_tokens, output_tokens=r.usage.output_tokens, cost=r.usage.cost)
        proto.usage.CopyFrom(usage)
    if r.evidence:
        proto.evidence.update(r.evidence)
    return proto


def _blob_proto(blob: m.Blob) -> pb.Blob:
    return pb.Blob(digest=blob.digest, content=blob.content, media_type=blob.media_type)
