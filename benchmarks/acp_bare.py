"""What `benchmarks.acp` compares with: the server libraries alone, answering what they are given, whatever is asked.

``python -m benchmarks.acp_bare http|grpc FILE`` prints its address once it listens, and ends with its stdin. FILE holds
the body that it answers over HTTP, or the message over gRPC.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import grpc
import grpc.aio
import uvicorn
import uvloop

from stretto.acp.v1 import acp_pb2 as pb
from stretto.serve.listening import address_of, listen

Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
Send: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[None]]

METHOD: Final = "Execute"


async def _http(answer: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]

    async def app(_: Mapping[str, Any], receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    config = uvicorn.Config(
        app, http="httptools", lifespan="off", log_config=None, access_log=False, server_header=False,
        timeout_keep_alive=65,
    )  # fmt: skip
    with listen("127.0.0.1", 0) as listening:
        server = asyncio.ensure_future(uvicorn.Server(config).serve(sockets=[listening]))
        print(address_of(listening), flush=True)
        await asyncio.to_thread(sys.stdin.read)
        server.cancel()


async def _grpc(answer: bytes) -> None:
    response = pb.ExecuteResponse.FromString(answer)

    async def execute(_: pb.ExecuteRequest, __: object) -> pb.ExecuteResponse:
        return response

    handler = grpc.unary_unary_rpc_method_handler(
        execute,
        request_deserializer=pb.ExecuteRequest.FromString,
        response_serializer=pb.ExecuteResponse.SerializeToString,
    )
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("acp.v1.Component", {METHOD: handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"127.0.0.1:{port}", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(0)


if __name__ == "__main__":
    serve = {"http": _http, "grpc": _grpc}[sys.argv[1]]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(Path(sys.argv[2]).read_bytes()))
