"""The gateway as an ASGI application."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from starlette.types import Receive, Scope, Send

from stretto.serve.answer import JSON_HEADERS, Answer
from stretto.serve.gateway.asgi import Asked
from stretto.serve.gateway.ask import CHAT, EMBEDDINGS, TEXT, Ask
from stretto.serve.gateway.call import SUCCESS, Call
from stretto.serve.gateway.keys import is_key, key_of, split_path
from stretto.serve.gateway.manage import Manage
from stretto.serve.gateway.metrics import CONTENT_TYPE, GatewayMetrics
from stretto.serve.gateway.opening import opened_by
from stretto.serve.gateway.recording import Recording
from stretto.serve.gateway.runs import Runs
from stretto.serve.gateway.settings import GatewaySettings
from stretto.serve.gateway.upstream import Upstream, as_error, passed_back, refused_status
from stretto.serve.refused import Refused
from stretto.store.sqlite import Store
from stretto.types.errors import ComponentError
from stretto.types.json import JsonObject

AGENT_HEADER: Final = "x-stretto-agent"
"""Who speaks, where several agents share a run: the name of a call's branch."""

_V1: Final = "/v1"
_CALLS: Final = {_V1 + CHAT: CHAT, _V1 + TEXT: TEXT}
_MODELS: Final = "/models"
_RUNS: Final = "/runs"
_OWN: Final = ("/livez", "/readyz", "/metrics")
_SERVED: Final = (
    "served are POST /v1/chat/completions, /v1/completions and /v1/embeddings and GET /v1/models, each also below "
    "/run/KEY; "
    "POST /runs, GET /runs/KEY, POST /runs/KEY/reward and /runs/KEY/end; GET /livez, /readyz and /metrics"
)
_READING: Final = ("GET", "HEAD")
_JSON_TYPES: Final = ("application/json", "")
"""A body without a type is taken for JSON, which is all that there is here."""

_log: Final = logging.getLogger(__name__)


class Gateway:
    """Answers requests between `living`'s beginning and its end."""

    def __init__(self, store: Store, settings: GatewaySettings) -> None:
        """Raises UsageError for what cannot work."""
        settings.check()
        settings.address()
        self._tokens = settings.tokens()
        self.metrics = GatewayMetrics()
        self._settings = settings
        self._runs = Runs(store, settings, self.metrics)
        self._manage = Manage(self._runs, settings)
        self._upstream: Upstream | None = None

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        """Take up what an earlier gateway left, and at the end let go of what is open. Raises StoreError."""
        import numpy as np  # noqa: F401  # so that the first call need not import it

        self._upstream = Upstream(self._settings)
        try:
            await self._runs.start()
            yield
        finally:
            await self._runs.stop()
            await self._upstream.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        asked, answer = Asked(scope, receive), Answer(send)
        try:
            await self._route(asked, answer)
        except Refused as refused:
            self.metrics.refused(refused.status)
            _log.info("%s %s refused with %d: %s", asked.method, asked.path, refused.status, refused.message)
            if not answer.begun:
                await answer.refused(refused)
        except Exception:  # the boundary: an agent is told in a shape that it reads, and the log where it happened
            _log.exception("%s %s failed", asked.method, asked.path)
            if answer.begun:
                raise
            await answer.refused(Refused(500, "the gateway failed; its log says where", code="internal"))

    async def _route(self, asked: Asked, answer: Answer) -> None:
        in_path, path = split_path(asked.path)
        if path in _CALLS:
            _only(asked, "POST")
            await self._call(asked, answer, in_path, _CALLS[path])
        elif path == _V1 + _MODELS or path.startswith(f"{_V1}{_MODELS}/"):
            _only(asked, *_READING)
            await self._hand_on(asked, answer, "GET", path.removeprefix(_V1))
        elif path == _V1 + EMBEDDINGS:
            _only(asked, "POST")
            _json_only(asked)
            body = await asked.body(self._settings.max_body_bytes)
            await self._hand_on(asked, answer, "POST", EMBEDDINGS, body)
        elif in_path is not None:
            raise Refused(404, f"{asked.path} is not served; {_SERVED}", code="not_found")
        elif path == _RUNS or path.startswith(_RUNS + "/"):
            await self._manage_runs(asked, answer, path.split("/")[2:])
        else:
            await self._tell(asked, answer, path)

    async def _call(self, asked: Asked, answer: Answer, in_path: str | None, path: str) -> None:
        """Answer one completion."""
        began_s = time.perf_counter()
        _json_only(asked)
        if self.metrics.under_way >= self._settings.max_calls:
            raise Refused(
                429, f"{self.metrics.under_way} calls are under way, the limit", code="too_many_calls", retry_after_s=1
            )
        key = key_of(in_path, asked.headers, self._runs.knows)
        agent = asked.headers.get(AGENT_HEADER, "")
        if agent and not is_key(agent):
            raise Refused(
                400, f"{AGENT_HEADER} is {agent[:40]!r}; expected a name of letters, digits, '.', '_' and '-'"
            )
        self.metrics.begin()
        outcome = "refused"
        try:
            ask = Ask(
                path,
                await asked.body(self._settings.max_body_bytes),
                whole=self._settings.whole,
                extra=self._settings.extra_body,
            )
            outcome = await self._answered(asked, answer, key, agent, path, ask, began_s)
        finally:
            self.metrics.end(outcome, time.perf_counter() - began_s)

    async def _answered(
        self, asked: Asked, answer: Answer, key: str, agent: str, path: str, ask: Ask, began_s: float
    ) -> str:
        """Ask the model server as a call of its run; what became of it, in a word."""
        upstream = self._upstream
        if upstream is None:
            raise Refused(503, "the gateway is not up yet, or not any more", retry_after_s=1)
        run = await self._runs.for_call(key, lambda: opened_by(key, ask, self._settings.record_bytes))
        answer.headers = {"x-stretto-run": run.key, "x-stretto-run-id": run.run.id}
        run.pin(*self._runs.models.pin(ask.model))
        component, address = self._runs.models.of(ask.model), upstream.address
        recording = Recording(self._settings, address, self.metrics, run, component, ask, agent)
        with self._runs.calling(run, asked) as underway:
            call = Call(upstream, self.metrics, recording, underway, ask, answer, began_s)
            await call.respond(path, asked.headers, self._settings.timeout.total_seconds())
        if not key:
            _log.info("a call without a key is run %s of its own, under the key %s", run.run.id, run.key)
            self._runs.ended_alone(run)
        return recording.outcome

    async def _hand_on(self, asked: Asked, answer: Answer, method: str, path: str, body: bytes | None = None) -> None:
        """Hand on what is no choice of a model, so that no run has it: which models there are, and embeddings."""
        upstream = self._upstream
        if upstream is None:
            raise Refused(503, "the gateway is not up yet, or not any more", retry_after_s=1)
        limit_s = self._settings.timeout.total_seconds()
        try:
            async with asyncio.timeout(limit_s):
                reply = await upstream.whole(method, path, asked.headers, body)
        except TimeoutError:
            raise Refused(504, f"no answer came within {limit_s:g} s") from None
        except ComponentError as error:
            raise Refused(502, str(error), code=error.rpc_code.value) from error
        if reply.status in SUCCESS:
            await answer.whole(reply.status, reply.body, passed_back(reply.headers))
        else:
            content = as_error(reply, upstream.address.key)
            await answer.whole(refused_status(reply.status), content, {**passed_back(reply.headers), **JSON_HEADERS})

    async def _manage_runs(self, asked: Asked, answer: Answer, parts: list[str]) -> None:
        if self._tokens is not None and not self._tokens.accepts(asked.headers.get("authorization", "").encode()):
            told = "/runs asks for a bearer token, and Authorization carries none that it accepts"
            raise Refused(401, told, code="invalid_token")
        match parts:
            case []:
                _only(asked, "POST")
                await self._manage.open(asked, answer)
            case [key]:
                _only(asked, *_READING)
                await self._manage.show(key, answer)
            case [key, "reward"]:
                _only(asked, "POST")
                await self._manage.reward(key, asked, answer)
            case [key, "end"]:
                _only(asked, "POST")
                await self._manage.end(key, asked, answer)
            case _:
                raise Refused(404, f"{asked.path} is not served; {_SERVED}", code="not_found")

    async def _tell(self, asked: Asked, answer: Answer, path: str) -> None:
        """How the gateway itself is."""
        if path in _OWN:
            _only(asked, *_READING)
        match path:
            case "/livez":
                await answer.whole(200, b"ok\n", {"content-type": "text/plain"})
            case "/readyz":
                told: JsonObject = {"upstream": self._settings.upstream, "open_runs": len(self._runs.open_ones)}
                await answer.json(200, {"status": "ready", **told, "unrecorded": self.metrics.unrecorded})
            case "/metrics":
                await answer.whole(200, self.metrics.text(), {"content-type": CONTENT_TYPE})
            case _:
                raise Refused(404, f"{asked.path} is not served; {_SERVED}", code="not_found")


def _json_only(asked: Asked) -> None:
    told = asked.headers.get("content-type", "")
    if told.partition(";")[0].strip().lower() not in _JSON_TYPES:
        raise Refused(415, f"the body is {told}; expected application/json", code="unsupported_media_type")


def _only(asked: Asked, *methods: str) -> None:
    if asked.method not in methods:
        raise Refused(
            405, f"{asked.method} {asked.path} is not served, {' or '.join(methods)} is", code="method_not_allowed"
        )
