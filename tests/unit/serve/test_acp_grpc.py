"""The protocol over gRPC: calls, failures with their details, health, reflection, tokens, TLS."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

import stretto
from stretto.acp.failure import Failure
from stretto.acp.server import Desk, Limits
from stretto.acp.server.tokens import Tokens
from stretto.acp.status import DETAILS, failure_of_status
from stretto.acp.v1 import acp_pb2 as pb
from stretto.serve.acp_grpc import SERVICE, GrpcDoor
from stretto.serve.acp_metrics import AcpMetrics
from stretto.serve.acp_tls import Tls, read_tls
from stretto.types.errors import Code, UsageError
from tests.unit.serve.acp_living import add, made, waiting
from tests.unit.serve.certificates import Authority

TOKEN = "a-token-of-some-length"


@asynccontextmanager
async def served(
    *targets: Any, limits: Limits | None = None, tokens: Tokens | None = None, tls: Tls | None = None
) -> AsyncIterator[tuple[GrpcDoor, Desk]]:
    """A desk behind gRPC."""
    desk = Desk(made(*targets), limits)
    door = GrpcDoor(desk, ("127.0.0.1", 0), tokens=tokens, metrics=AcpMetrics(desk), tls=tls)
    await door.open()
    try:
        yield door, desk
    finally:
        await door.close(at_once=True)


def channel_to(door: GrpcDoor) -> grpc.aio.Channel:
    """A channel without TLS."""
    return grpc.aio.insecure_channel(door.url.removeprefix("grpc://"))


def reflection_of(channel: Any) -> Any:
    """The stub of server reflection; its types know no asyncio."""
    stub: Any = reflection_pb2_grpc.ServerReflectionStub
    return stub(channel)


async def execute(channel: grpc.aio.Channel, request: Any, *, token: str = "") -> Any:
    """The response to a request, which is a message or bytes."""
    method = channel.unary_unary(
        f"/{SERVICE}/Execute",
        request_serializer=lambda each: each if isinstance(each, bytes) else each.SerializeToString(),
        response_deserializer=pb.ExecuteResponse.FromString,
    )
    return await method(request, metadata=(("authorization", f"Bearer {token}"),) if token else ())


async def failure_of(channel: grpc.aio.Channel, request: Any) -> Failure:
    """The failure of a call that must fail."""
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await execute(channel, request)
    error = raised.value
    details = dict(error.trailing_metadata() or ()).get(DETAILS)
    assert isinstance(details, bytes)
    return failure_of_status(error.code().value[0], error.details() or "", details)


def request(value: str = '{"a": 1, "b": 2}', **envelope: Any) -> pb.ExecuteRequest:
    whole = pb.Envelope(**{"protocol": "1.0", "run_id": "r", "step_path": "s", "attempt": 1, **envelope})
    return pb.ExecuteRequest(envelope=whole, input_json=value)


async def test_a_call_is_answered_in_the_form_in_which_it_was_asked() -> None:
    async with served(add) as (door, _), channel_to(door) as channel:
        as_text = await execute(channel, request())
        assert (as_text.output_json, as_text.HasField("output")) == ('{"sum":3}', False)
        asked = request("")
        asked.input.update({"a": 1, "b": 2})
        as_struct = await execute(channel, asked)
        assert (as_struct.output_json, dict(as_struct.output)) == ("", {"sum": 3})
        assert as_struct.result.outcome == "ok"


@pytest.mark.parametrize(
    ("asked", "code", "reason"),
    [
        (b"\xff\xff\xff", Code.INVALID_ARGUMENT, "MALFORMED"),
        (request("{"), Code.INVALID_ARGUMENT, "MALFORMED"),
        (request(protocol=""), Code.INVALID_ARGUMENT, "ENVELOPE"),
        (request(protocol="2.0"), Code.FAILED_PRECONDITION, "VERSION_UNSUPPORTED"),
        (request(component=pb.ComponentRef(name="no")), Code.NOT_FOUND, "COMPONENT_UNKNOWN"),
        (request(remaining_ms=0), Code.DEADLINE_EXCEEDED, "DEADLINE_PASSED"),
        (request('{"a": 1}'), Code.INVALID_ARGUMENT, "CONTRACT"),
        (request('{"a": "%s"}' % ("x" * 2000)), Code.INVALID_ARGUMENT, "TOO_LARGE"),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_a_failure_has_its_details(asked: Any, code: Code, reason: str) -> None:
    async with served(add, limits=Limits(max_request_bytes=1000)) as (door, _), channel_to(door) as channel:
        failure = await failure_of(channel, asked)
        assert (failure.code, failure.reason) == (code, reason)
        assert failure.message
        assert (await execute(channel, request())).output_json == '{"sum":3}'


async def test_a_failure_that_trailers_cannot_carry_is_cut() -> None:
    fields = ", ".join(f"field_{number}: int" for number in range(60))
    space: dict[str, Any] = {"stretto": stretto}
    exec(f"@stretto.component\nasync def many({fields}) -> dict[str, int]:\n    return {{}}", space)
    async with served(space["many"]) as (door, _), channel_to(door) as channel:
        odd = ", ".join(f'"field_{number}": "{"x" * 200}"' for number in range(60))
        failure = await failure_of(channel, request("{" + odd + "}"))
        assert len(failure.message) == 1000
        assert failure.violations


async def test_an_integer_beyond_53_bits_stays_whole_as_text() -> None:
    async with served(add) as (door, _), channel_to(door) as channel:
        answer = await execute(channel, request('{"a": 9007199254740993, "b": 0}'))
        assert answer.output_json == '{"sum":9007199254740993}'


async def test_a_caller_that_gives_up_cancels_its_call() -> None:
    waits, begun, ended = waiting()
    async with served(waits) as (door, desk), channel_to(door) as channel:
        call = asyncio.ensure_future(execute(channel, request("{}")))
        await begun.wait()
        call.cancel()
        await asyncio.wait_for(ended.wait(), 5)
        assert desk.in_progress == 0


async def test_health_is_that_of_the_desk() -> None:
    async with served(add) as (door, _), channel_to(door) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        for service in ("", SERVICE):
            asked = health_pb2.HealthCheckRequest(service=service)
            assert (await health.Check(asked)).status == health_pb2.HealthCheckResponse.SERVING
        await door.drain()
        for service in ("", SERVICE):
            asked = health_pb2.HealthCheckRequest(service=service)
            assert (await health.Check(asked)).status == health_pb2.HealthCheckResponse.NOT_SERVING


async def test_the_schema_can_be_asked_for() -> None:
    async with served(add) as (door, _), channel_to(door) as channel:
        stub = reflection_of(channel)
        asked = [
            reflection_pb2.ServerReflectionRequest(list_services=""),
            reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICE),
        ]
        listed, file = [each async for each in stub.ServerReflectionInfo(iter(asked))]
        assert SERVICE in [each.name for each in listed.list_services_response.service]
        proto = FileDescriptorProto.FromString(file.file_descriptor_response.file_descriptor_proto[0])
        assert "Envelope" in [each.name for each in proto.message_type]


async def test_only_who_has_a_token_may_ask_but_for_health() -> None:
    async with served(add, tokens=Tokens((TOKEN,))) as (door, _), channel_to(door) as channel:
        failure = await failure_of(channel, request())
        assert (failure.code, failure.reason) == (Code.UNAUTHENTICATED, "UNAUTHENTICATED")
        assert (await execute(channel, request(), token=TOKEN)).output_json == '{"sum":3}'
        health: Any = health_pb2_grpc.HealthStub(channel)
        assert (await health.Check(health_pb2.HealthCheckRequest())).status == health_pb2.HealthCheckResponse.SERVING
        asked = [reflection_pb2.ServerReflectionRequest(list_services="")]
        with pytest.raises(grpc.aio.AioRpcError):
            [each async for each in reflection_of(channel).ServerReflectionInfo(iter(asked))]


async def test_tls_and_a_certificate_of_the_caller(tmp_path: Path) -> None:
    ours, others = Authority(tmp_path), Authority(tmp_path, "others")
    cert, key = ours.signed("server")
    async with served(add, tls=read_tls(cert, key, ours.file)) as (door, _):
        assert door.url.startswith("grpcs://127.0.0.1:")
        for authority, is_let_in in ((ours, True), (others, False)):
            pair = [each.read_bytes() for each in reversed(authority.signed("client"))]
            credentials = grpc.ssl_channel_credentials(ours.file.read_bytes(), *pair)
            async with grpc.aio.secure_channel(door.url.removeprefix("grpcs://"), credentials) as channel:
                if is_let_in:
                    assert (await execute(channel, request())).output_json == '{"sum":3}'
                else:
                    with pytest.raises(grpc.aio.AioRpcError):
                        await execute(channel, request())


async def test_a_place_that_is_taken_is_told() -> None:
    async with served(add) as (door, _):
        port = int(door.url.rpartition(":")[2])
        desk = Desk(made(add))
        with pytest.raises(UsageError, match="cannot listen at"):
            GrpcDoor(desk, ("127.0.0.1", port), tokens=None, metrics=AcpMetrics(desk), tls=None)


async def test_a_connection_has_so_many_calls_at_once() -> None:
    """One that takes none of its replies would else hold any number of them here."""
    async with served(add, limits=Limits(max_concurrent=3, max_queued=4)) as (door, _):
        host, _, port = door.url.removeprefix("grpc://").rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
        length = int.from_bytes((await reader.readexactly(9))[:3])
        told = await reader.readexactly(length)
        writer.close()
    settings = {int.from_bytes(told[at : at + 2]): int.from_bytes(told[at + 2 : at + 6]) for at in range(0, length, 6)}
    assert settings[3] == 107  # SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113, section 6.5.2)
