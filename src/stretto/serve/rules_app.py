"""Rules over HTTP: ``POST /v1/decide``, health, and metrics."""

import asyncio
import logging
import time
from http import HTTPStatus
from typing import Final

import orjson
from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from stretto.components.rules.decision import Decision
from stretto.components.rules.served import DECIDE, OTHER_TRAFFIC
from stretto.serve.problem import problem
from stretto.serve.rules_metrics import CONTENT_TYPE, RuleMetrics
from stretto.types.errors import Code, ComponentError
from stretto.types.json import JsonObject

DEFAULT_MAX_BODY_BYTES: Final = 256 * 1024
"""Facts that rules decide by are seldom more than a few KB."""

BODY_LIMIT_S: Final = 5.0
"""In which a body must have come: a client that stops half-way would hold its connection, and the server's end."""

_FORM: Final = 'a JSON object such as {"input": {...}}'

_READING: Final = ["GET", "HEAD"]
"""Some balancers ask whether a server is well without wanting the answer's body."""

_log: Final = logging.getLogger(__name__)


def rules_app(decision: Decision, file: str, max_body_bytes: int = DEFAULT_MAX_BODY_BYTES) -> FastAPI:
    """The application over rules that are loaded already; it holds nothing else."""
    app = FastAPI(title=f"stretto rules: {file}", openapi_url=None, docs_url=None, redoc_url=None)
    server = _Server(decision, file, max_body_bytes)
    app.add_api_route(DECIDE, server.decide, methods=["POST"])
    app.add_api_route("/livez", server.live, methods=_READING)
    app.add_api_route("/readyz", server.ready, methods=_READING)
    app.add_api_route("/metrics", server.metrics, methods=_READING)
    app.add_exception_handler(HTTPException, server.no_such_place)
    return app


class _Server:
    """The handlers of one application."""

    def __init__(self, decision: Decision, file: str, max_body_bytes: int) -> None:
        self._decision = decision
        self._file = file
        self._max_body_bytes = max_body_bytes
        self._metrics = RuleMetrics(file, decision.digest)

    async def decide(self, request: Request) -> Response:
        """Decide on ``{"input": {...}}``; answers ``{"output", "digest", "rows"}``."""
        try:
            async with asyncio.timeout(BODY_LIMIT_S):
                body = await self._body(request)
        except TimeoutError:
            return self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"the body did not come within {BODY_LIMIT_S:g} s")
        except ClientDisconnect:  # which nobody reads
            return self._refuse(HTTPStatus.BAD_REQUEST, "the client hung up before its body had come")
        if body is None:
            detail = f"the body is larger than {self._max_body_bytes} bytes"
            return self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
        given = _input_of(body)
        if isinstance(given, str):
            return self._refuse(HTTPStatus.BAD_REQUEST, given)
        began = time.perf_counter()
        try:
            answer = self._decision.answer(given, trace=True)
        except ComponentError as error:
            is_theirs = error.rpc_code is Code.INVALID_ARGUMENT
            status = HTTPStatus.UNPROCESSABLE_ENTITY if is_theirs else HTTPStatus.INTERNAL_SERVER_ERROR
            return self._refuse(status, str(error))
        self._metrics.count_answer(time.perf_counter() - began, is_real=OTHER_TRAFFIC not in request.headers)
        document = {"output": answer.output, "digest": self._decision.digest, "rows": [*answer.rows]}
        return Response(orjson.dumps(document), media_type="application/json")

    async def live(self) -> Response:
        """The process is there."""
        return Response(b"ok\n", media_type="text/plain")

    async def ready(self) -> Response:
        """The rules are loaded, and these are they."""
        document = {"status": "ready", "file": self._file, "digest": self._decision.digest}
        return Response(orjson.dumps(document), media_type="application/json")

    async def metrics(self) -> Response:
        return Response(self._metrics.text(), media_type=CONTENT_TYPE)

    async def no_such_place(self, request: Request, error: Exception) -> Response:
        """A path that is not served, or not by this method."""
        status = HTTPStatus(error.status_code) if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
        served = f"served are POST {DECIDE}, GET /livez, /readyz and /metrics"
        return self._refuse(status, f"{request.method} {request.url.path} is not served; {served}")

    def _refuse(self, status: HTTPStatus, detail: str) -> Response:
        self._metrics.count_refusal(status)
        _log.info("refused with %s: %s", int(status), detail)
        return problem(status, detail)

    async def _body(self, request: Request) -> bytes | None:
        """The body; None when it is too large, as soon as that is known."""
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > self._max_body_bytes:
            return None
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > self._max_body_bytes:
                return None
        return bytes(body)


def _input_of(body: bytes) -> JsonObject | str:
    """The input in a body, or in words why there is none."""
    try:
        read = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        return f"the body is no JSON: {error}; expected {_FORM}"
    if not isinstance(read, dict) or not isinstance(read.get("input"), dict):
        return f"the body has no object under `input`; expected {_FORM}"
    if unknown := sorted(set(read) - {"input"}):
        return f"the body has the unknown key {unknown[0]!r}; expected {_FORM}"
    given: JsonObject = read["input"]
    return given
