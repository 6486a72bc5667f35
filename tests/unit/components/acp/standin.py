"""A server that speaks the protocol as it is told, over HTTP and gRPC, in a thread and an event loop of its own."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

import grpc
import grpc.aio
from aiohttp import web

from stretto.acp import json_form, messages as m
from stretto.acp.failure import AcpError
from stretto.acp.names import Verb
from stretto.acp.problem import problem_of
from stretto.acp.proto_form import request_of, response_bytes
from stretto.acp.status import DETAILS, NUMBERS, status_of

Answer: TypeAlias = "m.Message | bytes | AcpError"

EXECUTOR = m.WireCard(
    name="executor",
    version="1.2.0",
    kind="go",
    digest="d1",
    input={"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
    output={"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]},
    effects={"*": "write"},
    idempotent=True,
    confirms=True,
    verbs=("execute",),
)


class StandIn:
    """Answers describe with its cards and everything else with `answer`; keeps what it was asked."""

    def __init__(self, *cards: m.WireCard) -> None:
        self.told: m.Message | bytes = m.DescribeResponse(protocols=("1.0",), cards=cards or (EXECUTOR,))
        self.answer: Callable[[Verb, Any], Answer] = lambda _verb, _request: m.CallResponse(output={"status": "done"})
        self.asked: list[tuple[Verb, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.heard = threading.Event()
        self.cancelled = threading.Event()
        self.hangs = False
        self.http_port = self.grpc_port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "StandIn":
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Be away from now on."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join()
            self._loop.close()

    @property
    def http(self) -> str:
        return f"acp+http://127.0.0.1:{self.http_port}"

    @property
    def grpc(self) -> str:
        return f"acp+grpc://127.0.0.1:{self.grpc_port}"

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        app = web.Application()
        app.router.add_post("/acp/v1/{verb}", self._over_http)
        runner = web.AppRunner(app, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.http_port = runner.addresses[0][1]
        server = grpc.aio.server()
        handlers: dict[str, Any] = {
            verb.value.capitalize(): grpc.unary_unary_rpc_method_handler(self._over_grpc(verb)) for verb in Verb
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("acp.v1.Component", handlers),))
        self.grpc_port = server.add_insecure_port(f"127.0.0.1:{self.grpc_port}")
        await server.start()
        self._ready.set()
        await self._over.wait()
        await server.stop(None)
        await runner.cleanup()

    async def _answer(self, verb: Verb, request: Any, headers: dict[str, str]) -> Answer:
        if verb is Verb.DESCRIBE:
            return self.told
        self.asked.append((verb, request))
        self.heard.set()
        self.headers.append(headers)
        if self.hangs:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        return self.answer(verb, request)

    async def _over_http(self, http: web.Request) -> web.Response:
        verb = Verb(http.match_info["verb"])
        request = json_form.decode(await http.read(), m.REQUESTS[verb])
        answer = await self._answer(verb, request, {name.lower(): text for name, text in http.headers.items()})
        if isinstance(answer, AcpError):
            status, headers, body = problem_of(answer.failure)
            return web.Response(status=status, headers=headers, body=body)
        body = answer if isinstance(answer, bytes) else json_form.encode(answer)
        return web.Response(body=body, content_type="application/json")

    def _over_grpc(self, verb: Verb) -> Callable[[bytes, Any], Any]:
        async def handle(wire: bytes, context: Any) -> bytes:
            metadata = dict(context.invocation_metadata())
            answer = await self._answer(verb, request_of(verb, wire), metadata)
            if isinstance(answer, AcpError):
                await _abort(context, answer)
                return b""
            return answer if isinstance(answer, bytes) else response_bytes(verb, answer)

        return handle


async def _abort(context: Any, error: AcpError) -> None:
    """End a call as a failure does; raises what gRPC ends it by."""
    status = status_of(error.failure)
    context.set_trailing_metadata(((DETAILS, status.SerializeToString()),))
    codes = {code.value[0]: code for code in grpc.StatusCode}
    await context.abort(codes[NUMBERS[error.failure.code]], error.failure.message)
