"""The model server behind the gateway: requests as it wants them, and what it refuses to be asked beside."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import orjson

from stretto.components.openai.failures import said
from stretto.components.web.failures import Peer
from stretto.components.web.pool import Exchange, Pool
from stretto.components.web.reply import Reply
from stretto.serve.gateway.ask import Ask, Shape
from stretto.serve.gateway.settings import GatewaySettings
from stretto.serve.refused import error_body
from stretto.types.errors import Code
from stretto.types.json import JsonObject

PASSED_ON: Final = (
    *("traceparent", "tracestate", "x-request-id", "idempotency-key", "user-agent"),
    *("openai-organization", "openai-project", "openai-beta"),
)
"""Headers of a request that the model server sees. The agent's own `authorization` is not among them: it is a run's
key, or meant for another server."""

PASSED_BACK: Final = (
    *("content-type", "retry-after", "retry-after-ms", "x-request-id", "x-should-retry"),
    *("openai-version", "openai-processing-ms", "openai-organization"),
    *(f"x-ratelimit-{what}-{of}" for what in ("limit", "remaining", "reset") for of in ("requests", "tokens")),
)
"""Headers of an answer that the agent sees."""

_JSON: Final = "application/json"
_FIELDS: Final = frozenset({"message", "type", "param", "code"})
"""Of an error (OpenAI API reference, "Error codes")."""

_REFUSALS: Final = (400, 422)
"""Statuses by which servers say that they do not know a field."""

BAD_GATEWAY: Final = 502
"""What a failure of the server behind is to the agent (RFC 9110, section 15.6.3)."""

_ERRORS: Final = range(400, 600)

_MOST_SHAPES: Final = 4096

_log: Final = logging.getLogger(__name__)


class Upstream:
    """Asks the server, in one event loop. A field that it refuses is not sent again with such calls."""

    def __init__(self, settings: GatewaySettings) -> None:
        """Raises UsageError when its key is not set."""
        self.address = settings.address()
        self._pool = Pool(max_connections=settings.max_calls, max_response_bytes=settings.max_answer_bytes)
        self._peer = Peer(
            who=f"the model server at {self.address.origin}",
            limit_remedy="lower max_tokens, or raise --max-answer-bytes",
            limit_code=Code.OUT_OF_RANGE,
        )
        self._refused: dict[Shape, frozenset[str]] = {}
        """What is not asked for beside, in calls of a shape."""

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def ask(
        self, path: str, ask: Ask, headers: Mapping[str, str]
    ) -> AsyncIterator[tuple[Exchange, Reply | None]]:
        """Send a request; yields its reply, to be read while it is open, and where it was read already all of it.

        A refusal that names what the gateway asked for beside is no answer to the agent: it is asked again without.
        Raises ComponentError for a server that cannot be reached, or is lost while its reply is read.
        """
        url, sent = self.address.base_url + path, _headers(self.address.key, headers, is_stream=ask.is_streamed)
        without = self._refused.get(ask.shape, frozenset())
        while True:
            async with self._pool.exchange(self._peer, "POST", url, sent, ask.body(without)) as exchange:
                if exchange.response.status not in _REFUSALS or not ask.added - without:
                    self._note(ask, without, exchange.response.status)
                    yield exchange, None
                    return
                reply = await exchange.whole()
                unknown = frozenset(field for field in ask.added - without if field.encode() in reply.body)
                if not unknown:
                    yield exchange, reply
                    return
                without |= unknown

    async def whole(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> Reply:
        """Hand a request on that is no call of a model, and read its reply. Raises ComponentError as `ask` does."""
        sent = _headers(self.address.key, headers, is_stream=False)
        return await self._pool.send(self._peer, method, self.address.base_url + path, sent, body)

    def _note(self, ask: Ask, without: frozenset[str], status: int) -> None:
        """Remember what has to be left out, once that is known to help."""
        if without and status < 300 and self._refused.get(ask.shape) != without:
            if len(self._refused) >= _MOST_SHAPES:  # names of models come from outside
                self._refused.clear()
            self._refused[ask.shape] = without
            what, told = ", ".join(sorted(without)), ask.shape.told
            _log.warning("the server refuses %s for %s, so the runs will lack what that tells", what, told)


def passed_back(reply: Mapping[str, str]) -> dict[str, str]:
    """Those headers of an answer that the agent sees."""
    return {name: reply[name] for name in PASSED_BACK if name in reply}


def refused_status(status: int) -> int:
    """A refusal's status as the agent gets it: one that is none, such as a redirect or 999, is a bad gateway."""
    return status if status in _ERRORS else BAD_GATEWAY


def as_error(reply: Reply, key: str) -> bytes:
    """A refusal in OpenAI's shape, as it is where it has that already; a key that it quotes is blotted out."""
    body = reply.body if _is_shaped(reply.body) else _shaped(reply)
    return body.replace(key.encode(), b"***") if key else body


def _is_shaped(body: bytes) -> bool:
    return set(_error_in(body)) >= _FIELDS


def _error_in(body: bytes) -> JsonObject:
    """The error object of a body; empty when it has none with a message."""
    try:
        error = orjson.loads(body)["error"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return {}
    return error if isinstance(error, dict) and isinstance(error.get("message"), str) else {}


def _shaped(reply: Reply) -> bytes:
    """What a refusal says, with the fields that it lacks."""
    words, code = said(reply.body)
    message = words or f"the model server answered {reply.status} and nothing else"
    made: Any = error_body(reply.status, message, code=code or None)
    made["error"] |= _error_in(reply.body)
    return orjson.dumps(made)


def _headers(key: str, asked: Mapping[str, str], *, is_stream: bool) -> dict[str, str]:
    headers = {name: asked[name] for name in PASSED_ON if name in asked}
    headers |= {"content-type": _JSON, "accept": "text/event-stream" if is_stream else _JSON}
    if is_stream:
        headers["accept-encoding"] = "identity"  # what is packed comes late
    if key:
        headers["authorization"] = f"Bearer {key}"
    return headers
