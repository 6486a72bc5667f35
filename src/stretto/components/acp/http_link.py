"""The protocol over HTTP: JSON, one POST a call, connections kept alive."""

from typing import Final

import msgspec
from yarl import URL

from stretto.acp import json_form, messages as m
from stretto.acp.failure import AcpError
from stretto.acp.names import Verb
from stretto.acp.problem import failure_of_reply
from stretto.components.acp.link import blotted, peer_of, token_of
from stretto.components.acp.settings import AcpSettings
from stretto.components.acp.target import Target
from stretto.components.acp.trust import trusting
from stretto.components.web.connections import Connections
from stretto.components.web.failures import one_line, start_of
from stretto.types.errors import Code, ComponentError, NotJsonError
from stretto.types.messages import TRACEPARENT, TRACESTATE


class HttpLink:
    """POSTs to one server."""

    takes_text = False

    def __init__(self, settings: AcpSettings, target: Target) -> None:
        self._settings = settings
        self._target = target
        self._peer = peer_of(settings, target)
        self._urls = {verb: URL(target.base + verb.path) for verb in Verb}  # read once: 10 µs a call
        self._connections = Connections(
            f"component '{settings.name}'",
            max_connections=settings.max_connections,
            max_response_bytes=settings.max_response_bytes,
            ssl=trusting(settings.ca),
        )

    def open(self) -> None:
        """As `Link.open`. Raises UsageError while another event loop that has not ended has it open."""
        self._connections.open()

    async def close(self) -> None:
        """As `Link.close`."""
        await self._connections.close()

    async def ask(self, verb: Verb, request: m.Message, envelope: m.Envelope | None = None) -> tuple[m.Message, float]:
        """As `Link.ask`."""
        try:
            body = json_form.encode(request)
        except NotJsonError as error:
            raise ComponentError(str(error), Code.INVALID_ARGUMENT, sent=False) from error
        token = token_of(self._settings)
        headers = _headers(token, envelope or _NONE)
        reply = await self._connections.pool().send(self._peer, "POST", self._urls[verb], headers, body)
        told = blotted(reply.body, token)
        if reply.status != 200:
            raise AcpError(failure_of_reply(reply.status, reply.headers, told))
        try:
            return self._read(verb, told, reply.headers.get("Content-Type", _TYPE)), reply.queue_ms
        except ComponentError as error:
            error.add_wait(reply.queue_ms)
            raise

    def _read(self, verb: Verb, body: bytes, media_type: str) -> m.Message:
        if media_type != _TYPE and media_type.partition(";")[0].strip().lower() != _TYPE:  # as of a proxy
            text = f"{self._peer.who} answered {media_type:.80}; expected {_TYPE}; it begins with {start_of(body)!r}"
            raise ComponentError(text, Code.INTERNAL)
        try:
            return json_form.decode(body, m.RESPONSES[verb])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            why = one_line(str(error))
            text = f"{self._peer.who} answered what is no {verb.capitalize()}Response: {why}; it begins with "
            raise ComponentError(text + repr(start_of(body)), Code.INTERNAL) from error


def _headers(token: str, envelope: m.Envelope) -> dict[str, str]:
    """What stands in the envelope too, for whatever is between here and there."""
    headers = dict(_JSON)
    if token:
        headers["Authorization"] = f"Bearer {token}"
    told = (
        (TRACEPARENT, envelope.traceparent),
        (TRACESTATE, envelope.tracestate),
        ("Idempotency-Key", envelope.effect_key),
    )
    headers |= {name: text for name, text in told if text and text.isascii() and text.isprintable()}
    return headers


_NONE: Final = m.Envelope()

_TYPE: Final = "application/json"

_JSON: Final = {"Content-Type": _TYPE, "Accept": _TYPE}
