"""The protocol over HTTP: a bare ASGI application, since a framework's routing would cost more than the call."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from stretto.acp import messages as m
from stretto.acp.blob import MARK
from stretto.acp.failure import AcpError, Failure
from stretto.acp.json_form import decode, encode
from stretto.acp.names import Reason, Verb
from stretto.acp.problem import problem_of
from stretto.acp.server.desk import Desk
from stretto.acp.server.openapi import openapi
from stretto.acp.server.refusal import malformed
from stretto.acp.server.tokens import Tokens
from stretto.serve.acp_body import Headers, Receive, hold_to_json, read_body
from stretto.serve.acp_guard import CLIENT, Client, Header
from stretto.serve.acp_metrics import CONTENT_TYPE, AcpMetrics
from stretto.types.errors import Code

Scope: TypeAlias = Mapping[str, Any]
Send: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
"""Of ASGI. Any: a message holds what its type says."""

OPENAPI: Final = "/acp/v1/openapi.json"

BESIDE: Final = "stretto.beside"
"""Of a scope: the paths that others serve at this address, for whoever asks for one that is not there."""

M = TypeVar("M", bound=m.Message)

_VERBS: Final = {verb.path: verb for verb in Verb}

_READING: Final = frozenset({"GET", "HEAD"})
"""Some balancers ask whether a server is well without wanting the answer's body."""

_JSON: Final = (b"content-type", b"application/json")

_TEXT: Final = (b"content-type", b"text/plain; charset=utf-8")

_STOPPED: Final = Failure(
    code=Code.UNAVAILABLE, message="the server stopped before the component had answered", reason=Reason.DRAINING
)

_log: Final = logging.getLogger(__name__)


class Reply(msgspec.Struct, frozen=True):
    """What is sent back."""

    status: int
    headers: tuple[Header, ...]
    body: bytes


class AcpHttp:
    """The ASGI application over a desk."""

    def __init__(self, desk: Desk, tokens: Tokens | None, metrics: AcpMetrics) -> None:
        self._desk = desk
        self._tokens = tokens
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, _: Send) -> None:
        """Answer one request, past ASGI's `send` by the connection's own way."""
        client: Client = scope[CLIENT]
        verb = _VERBS.get(scope["path"])
        try:
            reply = self._other(scope) if verb is None else await self._asked(verb, scope, receive, client)
        except ConnectionError:  # nobody is there to be answered
            return
        client.reply(reply.status, reply.headers, reply.body)

    async def _asked(self, verb: Verb, scope: Scope, receive: Receive, client: Client) -> Reply:
        """The reply to a verb, whatever happens; ConnectionError when the client hung up."""
        now = asyncio.get_running_loop().time
        arrived = now()
        code: Code | None = None
        try:
            return await self._answer(verb, scope, receive, client, arrived)
        except AcpError as error:
            code = error.failure.code
            return problem_reply(error.failure)
        except (ConnectionError, asyncio.CancelledError) as error:
            code = Code.CANCELLED
            if client.hung_up or isinstance(error, ConnectionError):
                raise ConnectionError("the client hung up") from error
            code = Code.UNAVAILABLE  # the grace of a server that stops is over
            return problem_reply(_STOPPED)
        except Exception:  # noqa: BLE001  # the boundary: nothing of it goes over the wire
            _log.exception("a call of %s failed inside the server", verb)
            code = Code.INTERNAL
            return problem_reply(Failure(code=code, message="the server failed; its log says how"))
        finally:
            self._metrics.count(verb, code, now() - arrived)

    async def _answer(self, verb: Verb, scope: Scope, receive: Receive, client: Client, arrived: float) -> Reply:
        headers: Headers = dict(scope["headers"])
        self._hold_token(headers)
        if scope["method"] != "POST":
            return self._not_posted(verb, scope)
        hold_to_json(headers)
        body = await read_body(receive, headers, self._desk.limits)
        task = asyncio.current_task()
        client.on_hang_up = None if task is None else task.cancel
        return Reply(200, (_JSON,), await self._called(verb, body, arrived))

    def _not_posted(self, verb: Verb, scope: Scope) -> Reply:
        if verb is Verb.DESCRIBE and scope["method"] in _READING:
            return Reply(200, (_JSON,), encode(self._desk.describe(m.DescribeRequest())))
        return not_by(scope, "POST")

    def _hold_token(self, headers: Headers) -> None:
        if self._tokens is not None:
            self._tokens.hold(headers.get(b"authorization"))

    async def _called(self, verb: Verb, body: bytes, arrived: float) -> bytes:
        if verb is Verb.DESCRIBE:
            return encode(self._desk.describe(_read(verb, body, m.DescribeRequest)))
        if verb is Verb.REFLECT:
            return encode(await self._desk.reflect(_read(verb, body, m.ReflectRequest), arrived))
        if verb is Verb.VJP:
            return encode(await self._desk.vjp(_read(verb, body, m.VjpRequest), arrived))
        request = _read(verb, body, m.CallRequest)
        answer = await self._desk.call(verb, request, arrived, may_hold_blobs=MARK in body)
        return encode(answer.response(as_text=True)) if request.input_json else answer.json()

    def _other(self, scope: Scope) -> Reply:
        """The reply to what is no verb."""
        path = scope["path"]
        if path not in ("/livez", "/readyz", "/metrics", OPENAPI):
            served = "POST /acp/v1/{plan|execute|observe|reflect|describe|vjp}, GET /livez, /readyz, /metrics"
            beside = f"; beside them {scope[BESIDE]}" if BESIDE in scope else ""
            message = f"{scope['method']} {path[:200]} is not served; served are {served} and {OPENAPI}{beside}"
            return problem_reply(Failure(code=Code.NOT_FOUND, message=message))
        if scope["method"] not in _READING:
            return not_by(scope, "GET, HEAD")
        if path == "/livez":
            return Reply(200, (_TEXT,), b"ok\n")
        if path == "/readyz":
            return Reply(503, (_TEXT,), b"draining\n") if self._desk.is_draining else Reply(200, (_TEXT,), b"ready\n")
        try:
            self._hold_token(dict(scope["headers"]))
        except AcpError as error:
            return problem_reply(error.failure)
        if path == OPENAPI:
            return Reply(200, (_JSON,), msgspec.json.encode(openapi()))
        return Reply(200, ((b"content-type", CONTENT_TYPE.encode()),), self._metrics.text())


def _read(verb: Verb, body: bytes, form: type[M]) -> M:
    """The message in a body. Raises AcpError for a body that holds none."""
    try:
        return decode(body, form)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise malformed(f"the body is no {verb.value.capitalize()}Request: {error}") from error


def problem_reply(failure: Failure) -> Reply:
    """The reply that tells a failure."""
    status, headers, body = problem_of(failure)
    sent = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    if failure.code is Code.UNAUTHENTICATED:
        sent.append((b"www-authenticate", b"Bearer"))  # RFC 9110, section 11.6.1
    return Reply(status, tuple(sent), body)


def not_by(scope: Scope, allowed: str) -> Reply:
    """The refusal of a method."""
    message = f"{scope['path'][:200]} is not served by {scope['method']}; ask by {allowed}"
    reply = problem_reply(Failure(code=Code.INVALID_ARGUMENT, message=message))
    return Reply(reply.status, (*reply.headers, (b"allow", allowed.encode())), reply.body)
