"""An HTTP service as a component, by declaration."""

import msgspec

from stretto.components.http.answering import Asking, Exchange, checked, output_of
from stretto.components.http.exchange import Outgoing, exchange
from stretto.components.http.failures import peer_of
from stretto.components.http.oauth import OAuth2, Tokens
from stretto.components.http.paging import Paging, PagingError
from stretto.components.http.requests import request_of
from stretto.components.http.schemas import input_schema, output_schema
from stretto.components.http.scope import ITEMS, Frame, answered, frame_of
from stretto.components.http.secrets import Secrets
from stretto.components.http.settings import ONLY, HttpSettings
from stretto.components.waiting import Wait
from stretto.components.web.connections import Connections
from stretto.components.web.failures import Peer, too_large
from stretto.components.web.reply import Reply
from stretto.types.card import ANY_ACTION, Card
from stretto.types.errors import Code, ComponentError, ExpressionError
from stretto.types.json import Json, JsonObject
from stretto.types.messages import Request, Response


class HttpService:
    """Makes a request of each input, and an output of the answer; made by a declaration of kind ``http``.

    An attempt is one request, or one for each page. Raises ComponentError with the service's own words when it does not
    answer as declared; `sent` is false where no request surely left.
    """

    def __init__(self, name: str, settings: HttpSettings) -> None:
        self._name = name
        self._settings = settings
        self._card = _card(name, settings)
        self._connections = Connections(
            f"component '{name}'",
            max_connections=settings.max_connections,
            max_response_bytes=settings.max_response_bytes,
        )
        self._tokens = Tokens(name, settings.auth) if isinstance(settings.auth, OAuth2) else None

    @property
    def card(self) -> Card:
        """Its digest covers the declaration; not secrets and limits."""
        return self._card

    async def open(self) -> None:
        """Make ready to connect; nothing is sent. Every `open` needs its `close`.

        Raises UsageError while another event loop that has not ended has it open.
        """
        self._connections.open()

    async def close(self) -> None:
        """Drop the connections with the last user; the next call connects again. Raises UsageError as `open` does."""
        await self._connections.close()

    async def __call__(self, request: Request) -> Response:
        """Ask once, or page by page."""
        settings, secrets = self._settings, Secrets(self._name)
        named, data = self._named(request.input)
        action, shared = settings.compiled[named], settings.shared_headers[named]
        key_header = settings.idempotency_header if settings.idempotent else ""
        outgoing = request_of(self._name, action, shared, key_header, request.call, frame_of(data), secrets)
        with Wait() as waited:
            asking = Asking(action=action, data=data, secrets=secrets, waited=waited)
            if action.paging is not None:
                return await self._gathered(asking, action.paging, outgoing)
            asked = await self._ask(asking, outgoing)
            return _response(asked, answered(data, checked(asked).value))

    def _named(self, data: JsonObject) -> tuple[str, JsonObject]:
        """Which action is asked for, and its own input."""
        settings = self._settings
        if ONLY in settings.compiled:
            return ONLY, data
        named = data.get(settings.action_field)
        if not isinstance(named, str) or named not in settings.compiled:
            text = f"component '{self._name}' has no action {named!r}; expected one of {', '.join(settings.compiled)}"
            raise ComponentError(text, Code.INVALID_ARGUMENT, sent=False)
        return named, {field: value for field, value in data.items() if field != settings.action_field}

    async def _ask(self, asking: Asking, outgoing: Outgoing) -> Exchange:
        """Send a request with what proves who asks; once more where a token that was kept is no longer good."""
        peer, proof = peer_of(self._name, outgoing.url), await self._proof(asking)
        reply = await self._send(asking, peer, _with(outgoing, proof))
        if reply.status == 401 and self._tokens is not None and self._tokens.forget(proof):
            reply = await self._send(asking, peer, _with(outgoing, await self._proof(asking)))
        return Exchange(asking=asking, peer=peer, reply=reply)

    async def _send(self, asking: Asking, peer: Peer, outgoing: Outgoing) -> Reply:
        try:
            return await exchange(self._connections.pool(), peer, outgoing, asking.waited)
        except ComponentError as error:  # in whose words an address may stand, with a key in its query
            told = asking.secrets.out_of_error(error)
            if told is error:
                raise
            raise told from None

    async def _proof(self, asking: Asking) -> dict[str, str]:
        auth = self._settings.auth
        if self._tokens is not None:
            return await self._tokens.headers(self._connections.pool(), asking.secrets, asking.waited)
        return {} if auth is None or isinstance(auth, OAuth2) else auth.headers(asking.secrets)

    async def _gathered(self, asking: Asking, paging: Paging, first: Outgoing) -> Response:
        """Ask page by page; as an answer only the whole counts."""
        items: list[Json] = []
        left, current = self._settings.max_response_bytes, first
        seen = {first.url}
        for page in range(1, paging.max_pages + 1):
            asked = await self._ask(asking, current)
            left -= len(asked.reply.body)
            if left < 0:
                raise too_large(asked.peer, self._settings.max_response_bytes)
            frame = answered(asking.data, checked(asked).value, items, page)
            onward = _onward(paging, asked, first, current, frame)
            if onward is None:
                return _response(asked, frame)
            if onward.url in seen:
                raise _endless(asked, f"page {page} leads back to one that was read")
            seen.add(onward.url)
            current = onward
        raise _endless(asked, f"there are more than {paging.max_pages} pages; raise `max_pages`, or ask for less")


def _onward(paging: Paging, asked: Exchange, first: Outgoing, current: Outgoing, frame: Frame) -> Outgoing | None:
    """Gather what a page holds, and give the request for the next."""
    try:
        frame[ITEMS] += paging.items_of(frame)
        return paging.onward(first, current, frame)
    except (PagingError, ExpressionError) as error:
        text = asked.asking.secrets.out_of(f"{asked.peer.who}: {error}")
        raise ComponentError(text, Code.INTERNAL) from error


def _endless(asked: Exchange, why: str) -> ComponentError:
    return ComponentError(f"{asked.peer.who}: {why}", Code.OUT_OF_RANGE)


def _with(outgoing: Outgoing, proof: dict[str, str]) -> Outgoing:
    return msgspec.structs.replace(outgoing, headers={**outgoing.headers, **proof}) if proof else outgoing


def _response(asked: Exchange, frame: Frame) -> Response:
    return Response(
        output=output_of(asked, frame), queue_ms=asked.asking.waited.ms, evidence={"status": asked.reply.status}
    )


def _card(name: str, settings: HttpSettings) -> Card:
    actions = settings.compiled
    return Card(
        name=name,
        version=settings.version,
        kind="http",
        digest=settings.digest(),
        input=input_schema(actions, settings.action_field),
        output=output_schema(actions),
        effects={action or ANY_ACTION: compiled.effect for action, compiled in actions.items()},
        action_field=settings.action_field,
        idempotent=settings.idempotent,
        description=settings.description,
    )
