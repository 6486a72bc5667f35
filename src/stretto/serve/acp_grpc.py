"""The protocol over gRPC, with ``grpc.health.v1`` and server reflection. Needs the extra ``grpc``."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, NoReturn, TypeAlias

import grpc
import grpc.aio
import msgspec
from google.protobuf.message import DecodeError
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from stretto.acp import messages as m
from stretto.acp.blob import MARK
from stretto.acp.failure import AcpError, Failure
from stretto.acp.names import Reason, Verb
from stretto.acp.proto_form import request_of, response_bytes
from stretto.acp.server.desk import Desk
from stretto.acp.server.refusal import malformed, refusal
from stretto.acp.server.tokens import Tokens
from stretto.acp.status import DETAILS, NUMBERS, carried
from stretto.acp.v1 import acp_pb2
from stretto.serve.acp_metrics import AcpMetrics
from stretto.serve.acp_tls import Tls
from stretto.types.errors import Code, UsageError

SERVICE: Final = acp_pb2.DESCRIPTOR.services_by_name["Component"].full_name

_HARD_LIMIT: Final = 4
"""Requests of up to so many times the limit are read, to be refused with a reason; gRPC refuses larger ones itself."""

_TOLD: Final = 100
"""Calls of one connection beyond those that have a place or wait for one: they are refused in words. Further ones wait
on their own side, so that what one client does not take of its replies is bounded."""

_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}

_log: Final = logging.getLogger(__name__)

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"


class GrpcDoor:
    """gRPC by grpc.aio."""

    def __init__(
        self, desk: Desk, place: tuple[str, int], *, tokens: Tokens | None, metrics: AcpMetrics, tls: Tls | None
    ) -> None:
        """Raises UsageError when the place cannot be had."""
        self._calls = _Calls(desk, metrics)
        self._server = grpc.aio.server(
            interceptors=[] if tokens is None else [_NeedsToken(tokens)],
            options=[
                ("grpc.max_receive_message_length", desk.limits.max_request_bytes * _HARD_LIMIT),
                ("grpc.max_send_message_length", -1),
                ("grpc.max_concurrent_streams", desk.limits.max_concurrent + desk.limits.max_queued + _TOLD),
                ("grpc.so_reuseport", 0),  # a port that is taken is an error, not shared
            ],
        )
        self._server.add_generic_rpc_handlers((self._calls.handler(),))
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection((SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME), self._server)
        self._url = _bound(self._server, place, tls)

    @property
    def url(self) -> str:
        """Where it is."""
        return self._url

    async def open(self) -> None:
        """Take calls from now on."""
        await self._health.set(SERVICE, health_pb2.HealthCheckResponse.SERVING)
        await self._server.start()

    async def drain(self) -> None:
        """Say NOT_SERVING to whoever asks or watches."""
        await self._health.enter_graceful_shutdown()

    async def close(self, *, at_once: bool) -> None:
        """Refuse what comes, and break off what has not ended a second later."""
        await self._server.stop(0 if at_once else 1)


class _Calls:
    """The six methods, from bytes to bytes."""

    def __init__(self, desk: Desk, metrics: AcpMetrics) -> None:
        self._desk = desk
        self._metrics = metrics

    def handler(self) -> grpc.GenericRpcHandler:
        """Of the whole service."""
        methods = {verb.method.rpartition("/")[2]: self._method(verb) for verb in Verb}
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    def _method(self, verb: Verb) -> "grpc.RpcMethodHandler[bytes, bytes]":
        async def method(wire: bytes, context: Context) -> bytes:
            return await self._answer(verb, wire, context)

        return grpc.unary_unary_rpc_method_handler(method)

    async def _answer(self, verb: Verb, wire: bytes, context: Context) -> bytes:
        """The reply to a call, whatever happens; cancelled when the caller gives up."""
        now = asyncio.get_running_loop().time
        arrived = now()
        code: Code | None = None
        try:
            return await self._made(verb, wire, arrived)
        except asyncio.CancelledError:
            code = Code.CANCELLED
            raise
        except Exception as error:  # noqa: BLE001  # the boundary: nothing of it goes over the wire
            failure = error.failure if isinstance(error, AcpError) else _ours(verb, error)
            code = failure.code
            return await _abort(context, failure)
        finally:
            self._metrics.count(verb, code, now() - arrived)

    async def _made(self, verb: Verb, wire: bytes, arrived: float) -> bytes:
        limit = self._desk.limits.max_request_bytes
        if len(wire) > limit:
            message = f"the request is {len(wire):,} bytes and the limit is {limit:,}; send large values apart"
            raise refusal(Code.INVALID_ARGUMENT, Reason.TOO_LARGE, message, max_request_bytes=str(limit))
        return response_bytes(verb, await self._response(verb, _read(verb, wire), arrived, MARK in wire))

    async def _response(self, verb: Verb, request: m.Message, arrived: float, may_hold_blobs: bool) -> m.Message:
        match request:
            case m.CallRequest():
                answer = await self._desk.call(verb, request, arrived, may_hold_blobs=may_hold_blobs)
                return answer.response(as_text=bool(request.input_json))
            case m.ReflectRequest():
                return await self._desk.reflect(request, arrived)
            case m.VjpRequest():
                return await self._desk.vjp(request, arrived)
            case m.DescribeRequest():
                return self._desk.describe(request)
        raise TypeError(f"{type(request).__name__} is no request")


class _NeedsToken(grpc.aio.ServerInterceptor):
    """Refuses calls without a token, of everything but health."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable["grpc.RpcMethodHandler[Any, Any] | None"]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "grpc.RpcMethodHandler[Any, Any] | None":
        if handler_call_details.method.startswith(f"/{health.SERVICE_NAME}/"):
            return await continuation(handler_call_details)
        try:
            self._tokens.hold(_authorization(handler_call_details))
        except AcpError as error:
            return _refusing(error.failure)
        return await continuation(handler_call_details)


def _refusing(failure: Failure) -> "grpc.RpcMethodHandler[Any, Any]":
    async def refuse(_: bytes, context: Context) -> NoReturn:
        await _abort(context, failure)

    return grpc.unary_unary_rpc_method_handler(refuse)


def _authorization(details: grpc.HandlerCallDetails) -> bytes | None:
    for name, value in details.invocation_metadata or ():
        if name == "authorization":
            return value if isinstance(value, bytes) else value.encode()
    return None


def _ours(verb: Verb, error: Exception) -> Failure:
    _log.error("a call of %s failed inside the server", verb, exc_info=error)
    return Failure(code=Code.INTERNAL, message="the server failed; its log says how")


def _read(verb: Verb, wire: bytes) -> m.Message:
    """The request in these bytes. Raises AcpError for others."""
    try:
        return request_of(verb, wire)
    except (DecodeError, msgspec.ValidationError, RecursionError, ValueError) as error:
        raise malformed(f"the bytes are no {verb.value.capitalize()}Request: {error}") from error


async def _abort(context: Context, failure: Failure) -> NoReturn:
    """End the call with a failure, as much of it as trailers carry."""
    words, status = carried(failure)
    await context.abort(_CODES[NUMBERS[failure.code]], words, ((DETAILS, status),))


def _bound(server: grpc.aio.Server, place: tuple[str, int], tls: Tls | None) -> str:
    host, port = place
    address = f"[{host}]" if ":" in host else host
    try:
        if tls is None:
            port = server.add_insecure_port(f"{address}:{port}")
        else:
            port = server.add_secure_port(f"{address}:{port}", _credentials(tls))
    except RuntimeError as error:
        raise UsageError(f"cannot listen at {address}:{port}: it is taken, or not ours; name another --grpc") from error
    return f"{'grpc' if tls is None else 'grpcs'}://{address}:{port}"


def _credentials(tls: Tls) -> grpc.ServerCredentials:
    pair = (tls.key.read_bytes(), tls.cert.read_bytes())
    ca = None if tls.client_ca is None else tls.client_ca.read_bytes()
    return grpc.ssl_server_credentials([pair], root_certificates=ca, require_client_auth=ca is not None)
