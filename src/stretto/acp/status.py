"""Failures over gRPC: a google.rpc.Status with ErrorInfo, RetryInfo and BadRequest. Needs the extra ``grpc``."""

from collections.abc import Mapping
from typing import Final

import msgspec
from google.protobuf.any_pb2 import Any as AnyProto
from google.protobuf.message import DecodeError
from google.rpc import code_pb2, error_details_pb2, status_pb2

from stretto.acp.failure import Failure
from stretto.acp.names import DOMAIN
from stretto.types.errors import Code, Violation

DETAILS: Final = "grpc-status-details-bin"
"""Trailer that carries the status (googleapis google/rpc/status.proto)."""

MAX_MESSAGE_BYTES: Final = 1_000
"""Of a failure's words, in UTF-8: trailers hold them percent-encoded, up to three times as long."""

MAX_STATUS_BYTES: Final = 3_072
"""Of a status with its details, which travels in base64: with the words beside it that is below the 8 KiB that clients
take (gRPC, ``GRPC_ARG_MAX_METADATA_SIZE``)."""

NUMBERS: Final[Mapping[Code, int]] = {code: code_pb2.Code.Value(code.name) for code in Code}
"""The number of each code on the wire."""

_CODES: Final[Mapping[int, Code]] = {number: code for code, number in NUMBERS.items()}


def status_of(failure: Failure) -> status_pb2.Status:
    """A failure as a status with its details."""
    status = status_pb2.Status(code=NUMBERS[failure.code], message=failure.message)
    told = {**failure.metadata, **({"run_id": failure.run_id} if failure.run_id else {})}
    _add(status, error_details_pb2.ErrorInfo(reason=failure.reason, domain=DOMAIN, metadata=told))
    if failure.retry_after_ms is not None:
        info = error_details_pb2.RetryInfo()
        info.retry_delay.FromMicroseconds(round(max(0.0, failure.retry_after_ms) * 1000))
        _add(status, info)
    if failure.violations:
        broken = [
            error_details_pb2.BadRequest.FieldViolation(field=each.pointer, description=each.message)
            for each in failure.violations
        ]
        _add(status, error_details_pb2.BadRequest(field_violations=broken))
    return status


def carried(failure: Failure) -> tuple[str, bytes]:
    """The words of a failure and its status, as much of both as trailers carry: violations are left out from the last,
    metadata from the longest."""
    words = failure.message.encode()[:MAX_MESSAGE_BYTES].decode(errors="ignore")
    failure = msgspec.structs.replace(failure, message=words)
    status = status_of(failure)
    while status.ByteSize() > MAX_STATUS_BYTES and (failure.violations or failure.metadata):
        failure = _without_most(failure)
        status = status_of(failure)
    return words, status.SerializeToString()


def _without_most(failure: Failure) -> Failure:
    if failure.violations:
        return msgspec.structs.replace(failure, violations=failure.violations[:-1])
    longest = max(failure.metadata, key=lambda name: len(failure.metadata[name]))
    kept = {name: fact for name, fact in failure.metadata.items() if name != longest}
    return msgspec.structs.replace(failure, metadata=kept)


def failure_of_status(code: int, message: str, details: bytes | None) -> Failure:
    """The failure that a call's end stands for; of a peer that sends no details, its code and its words."""
    status = _detailed(code, message, details)
    info, retry, bad = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo(), error_details_pb2.BadRequest()
    waits = False
    for detail in status.details:
        try:
            detail.Unpack(info)
            waits = detail.Unpack(retry) or waits
            detail.Unpack(bad)
        except DecodeError:
            continue  # what it was to say stays unsaid
    metadata = dict(info.metadata)
    return Failure(
        code=_CODES.get(status.code, Code.UNKNOWN),
        message=status.message,
        reason=info.reason,
        retry_after_ms=retry.retry_delay.ToMicroseconds() / 1000 if waits else None,
        violations=tuple(Violation(pointer=each.field, message=each.description) for each in bad.field_violations),
        run_id=metadata.pop("run_id", ""),
        metadata=metadata,
    )


def _detailed(code: int, message: str, details: bytes | None) -> status_pb2.Status:
    """The status that a trailer holds; the call's own where it holds none, or one of another code."""
    own = status_pb2.Status(code=code, message=message)
    try:
        told = status_pb2.Status.FromString(details or b"")
    except DecodeError:
        return own
    return told if details and told.code == code else own


def _add(
    status: status_pb2.Status,
    detail: error_details_pb2.ErrorInfo | error_details_pb2.RetryInfo | error_details_pb2.BadRequest,
) -> None:
    packed = AnyProto()
    packed.Pack(detail)
    status.details.append(packed)
