"""Sends cases over gRPC. Needs the extra ``grpc``."""

import time
from typing import Any

import grpc
import grpc.aio
import orjson

from stretto.acp import json_form, messages as m
from stretto.acp.failure import Failure
from stretto.acp.kit.case import Exchange
from stretto.acp.kit.http_wire import PATIENCE_S
from stretto.acp.kit.seen import Seen, shown
from stretto.acp.names import Verb
from stretto.acp.proto_form import request_bytes, response_of
from stretto.acp.status import DETAILS, failure_of_status
from stretto.types.json import JsonObject


class GrpcWire:
    """One server over gRPC."""

    form = "grpc"

    def __init__(self, channel: grpc.aio.Channel, metadata: tuple[tuple[str, str], ...]) -> None:
        self._channel = channel
        self._metadata = metadata

    async def close(self) -> None:
        """Drop the connection."""
        await self._channel.close(grace=None)

    async def send(self, verb: Verb, request: JsonObject, exchange: Exchange) -> Seen:
        """As `Wire.send`."""
        if exchange.hex is None:
            text = orjson.dumps(request)
            wire = request_bytes(verb, json_form.decode(text, m.REQUESTS[verb]))
            sent = f"{verb.method} {shown(text)}"
        else:
            wire, sent = bytes.fromhex(exchange.hex), f"{verb.method} bytes {exchange.hex}"
        call: Any = self._channel.unary_unary(verb.method, request_serializer=None, response_deserializer=None)
        began = time.perf_counter()
        try:
            answer = await call(wire, metadata=self._metadata, timeout=PATIENCE_S)
        except grpc.aio.AioRpcError as error:
            return _failed(sent, error, (time.perf_counter() - began) * 1000.0)
        took_ms = (time.perf_counter() - began) * 1000.0
        try:
            response = response_of(verb, answer)
        except Exception as error:  # noqa: BLE001  # three libraries read it, each with errors of its own: told as seen
            complaint = f"the answer is no {verb.capitalize()}Response: {error}"
            return Seen(sent=sent, got=shown(answer), took_ms=took_ms, complaints=(complaint,))
        return Seen(sent=sent, got=shown(json_form.encode(response)), took_ms=took_ms, response=response)


def _failed(sent: str, error: grpc.aio.AioRpcError, took_ms: float) -> Seen:
    said = error.details() or ""
    trailing: Any = error.trailing_metadata() or ()
    details = dict(trailing).get(DETAILS)
    number: int = error.code().value[0]
    failure: Failure = failure_of_status(number, said, details)
    found = []
    if not said:
        found.append("the status has no message: nobody learns what was wrong")
    if took_ms >= PATIENCE_S * 1000.0:
        found.append(f"no answer within {PATIENCE_S:g} s")
    got = f"{failure.code} {failure.reason} {said}"
    return Seen(sent=sent, got=got, took_ms=took_ms, failure=failure, complaints=tuple(found))
