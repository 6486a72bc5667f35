"""Workflows as models: ``/v1/models`` and ``/v1/chat/completions``, as OpenAI's clients ask for them."""

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import ClassVar, Final

import orjson

from stretto.acp.failure import AcpError
from stretto.acp.server import Answer as Answered
from stretto.acp.server.tokens import Tokens
from stretto.serve.acp_body import Receive
from stretto.serve.acp_http import Scope, Send
from stretto.serve.answer import Answer
from stretto.serve.faces.asking import Ask, Asking
from stretto.serve.faces.chat_fields import ChatFields
from stretto.serve.faces.chat_refusal import SHOULD_RETRY, refused_of, should_retry
from stretto.serve.faces.chat_reply import WAITING, ChatReply, error_event, text_of
from stretto.serve.faces.chat_request import ChatRequest, read_chat
from stretto.serve.faces.heads import Heads, heads_in
from stretto.serve.faces.receiving import UNREAD, received
from stretto.serve.refused import Refused, error_body
from stretto.spec.suggest import nearest
from stretto.types.enums import Effect
from stretto.types.errors import Code
from stretto.types.json import JsonObject

COMPLETIONS: Final = "/v1/chat/completions"
MODELS: Final = "/v1/models"

KEEP_ALIVE_S: Final = 10.0
"""Of a stream without an answer: until then an error still has a status of its own, afterwards proxies want to see
something. The most common of their limits is 60 s."""

_STREAM: Final = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}

_log: Final = logging.getLogger(__name__)


class ChatFace:
    """The ASGI application for these paths."""

    PATHS: ClassVar = f"POST {COMPLETIONS}, GET {MODELS}"

    def __init__(
        self, asking: Asking, models: Mapping[str, ChatFields], unfit: Mapping[str, str], tokens: Tokens | None
    ) -> None:
        """`unfit` are workflows that are no models, with why."""
        self._asking = asking
        self._models = models
        self._unfit = unfit
        self._tokens = tokens
        self._writing = {each.card.name for each in asking.desk.served if each.card.effect_of("") is Effect.WRITE}
        self._since = int(time.time())

    def serves(self, path: str) -> bool:
        """Whether a path is one of these, or another of that API, which is told that it is not here."""
        return path.startswith("/v1/") and not path.startswith("/v1/workflows")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, whatever happens; nothing where the client hung up."""
        answer = Answer(send)
        try:
            await self._answer(scope, receive, answer)
        except AcpError as error:
            if error.failure.reason in UNREAD:
                answer.headers["connection"] = "close"
            await _refuse(answer, refused_of(error.failure))
        except Refused as refused:
            await _refuse(answer, refused)
        except ConnectionError:  # nobody is there to be answered
            return
        except Exception:  # noqa: BLE001  # the boundary: nothing of it goes over the wire
            _log.exception("a chat completion failed inside the server")
            await _refuse(answer, Refused(500, "the server failed; its log says how", code=Code.INTERNAL))

    async def _answer(self, scope: Scope, receive: Receive, answer: Answer) -> None:
        headers, path, method = dict(scope["headers"]), scope["path"], scope["method"]
        if self._tokens is not None:
            self._tokens.hold(headers.get(b"authorization"))
        if path not in (COMPLETIONS, MODELS) and not path.startswith(f"{MODELS}/"):
            raise Refused(404, f"{path[:200]} is not served; served are {COMPLETIONS} and {MODELS}", code="not_found")
        allowed = "POST" if path == COMPLETIONS else "GET"
        if method != allowed:
            answer.headers["allow"] = allowed
            raise Refused(405, f"{path[:200]} is not served by {method}; ask by {allowed}")
        if path == MODELS:
            await answer.json(200, {"object": "list", "data": [self._model(name) for name in self._models]})
        elif path != COMPLETIONS:
            name = path.removeprefix(f"{MODELS}/")
            self._fields(name)
            await answer.json(200, self._model(name))
        else:
            async with received(scope, receive, self._asking.desk.limits) as body:
                chat = read_chat(body)
                await self._complete(chat, self._ask(chat, heads_in(scope["headers"])), answer)

    async def _complete(self, chat: ChatRequest, ask: Ask, answer: Answer) -> None:
        asked = asyncio.ensure_future(self._asking.answer(ask))
        try:
            if chat.stream:
                await self._stream(chat, asked, answer)
            else:
                reply = self._reply(chat, await asked)
                answer.headers["x-stretto-run"] = reply.answer.result.run_id
                await answer.json(200, reply.body())
        except AcpError as error:
            is_repeatable = bool(ask.heads.key) or chat.model not in self._writing
            answer.headers[SHOULD_RETRY] = _yes(should_retry(error.failure, is_repeatable=is_repeatable))
            raise
        finally:
            asked.cancel()

    async def _stream(self, chat: ChatRequest, asked: "asyncio.Task[Answered]", answer: Answer) -> None:
        await asyncio.wait((asked,), timeout=KEEP_ALIVE_S)
        if asked.done():
            asked.result()  # an error is told with its status
        await answer.begin(200, _STREAM)
        while not asked.done():
            await answer.part(WAITING)
            await asyncio.wait((asked,), timeout=KEEP_ALIVE_S)
        try:
            chunks = list(self._reply(chat, asked.result()).chunks(include_usage=chat.include_usage))
        except AcpError as error:
            chunks = [_error_event(refused_of(error.failure))]
        for chunk in chunks:
            await answer.part(chunk)
        await answer.end()

    def _reply(self, chat: ChatRequest, answered: Answered) -> ChatReply:
        text = text_of(orjson.loads(answered.output), self._models[chat.model].answered)
        return ChatReply(model=chat.model, text=text, answer=answered)

    def _ask(self, chat: ChatRequest, heads: Heads) -> Ask:
        return Ask(
            workflow=chat.model,
            input=self._fields(chat.model).input_of(chat.messages),
            face="openai",
            heads=heads,
            labels=chat.labels,
            seed=chat.seed,
        )

    def _fields(self, model: str) -> ChatFields:
        found = self._models.get(model)
        if found is not None:
            return found
        near = nearest(model[:80], self._models)
        hint = f"did you mean '{near}'?" if near else f"there are: {', '.join(self._models) or 'none'}"
        why = self._unfit.get(model) or f"no model called {model[:80]!r} is served here; {hint}"
        raise Refused(404, why, code="model_not_found", param="model")

    def _model(self, name: str) -> JsonObject:
        return {"id": name, "object": "model", "created": self._since, "owned_by": "stretto"}


async def _refuse(answer: Answer, refused: Refused) -> None:
    """Tell it by its status, or as an event of the stream that has begun."""
    if answer.begun:
        await answer.part(_error_event(refused))
        await answer.end()
        return
    answer.headers.setdefault(SHOULD_RETRY, _yes(False))
    if refused.status == 401:
        answer.headers["www-authenticate"] = "Bearer"  # RFC 9110, section 11.6.1
    await answer.refused(refused)


def _error_event(refused: Refused) -> bytes:
    return error_event(error_body(refused.status, refused.message, code=refused.code, param=refused.param))


def _yes(is_so: bool) -> str:  # said of one thing
    return "true" if is_so else "false"
