"""Whatever a server says to a case over gRPC, the kit reads it, or says what it is."""

import math

import grpc.aio
import pytest

from stretto.acp import messages as m
from stretto.acp.kit.case import Exchange
from stretto.acp.kit.grpc_wire import GrpcWire
from stretto.acp.names import Verb
from tests.unit.components.acp.standin import Answer, StandIn


@pytest.mark.parametrize("answer", [b"\xff\xff\xff", m.CallResponse(output={"status": math.nan})])
async def test_what_is_no_answer_is_a_complaint(answer: Answer) -> None:
    with StandIn() as server:
        server.answer = lambda _verb, _request: answer
        wire = GrpcWire(grpc.aio.insecure_channel(f"127.0.0.1:{server.grpc_port}"), ())
        try:
            seen = await wire.send(Verb.EXECUTE, {}, Exchange())
        finally:
            await wire.close()
    assert [each.partition(":")[0] for each in seen.complaints] == ["the answer is no ExecuteResponse"]
