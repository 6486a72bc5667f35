"""Sends requests with what proves who asks."""

import msgspec

from stretto.components.http.answering import Asking, Exchange
from stretto.components.http.auth import Auth
from stretto.components.http.exchange import Outgoing, exchange
from stretto.components.http.failures import peer_of
from stretto.components.http.oauth import OAuth2, Tokens
from stretto.components.web.connections import Connections
from stretto.components.web.failures import Peer
from stretto.components.web.reply import Reply
from stretto.types.errors import ComponentError


class Asker:
    """The way to one service, shared by all its actions."""

    def __init__(self, name: str, connections: Connections, auth: Auth | None) -> None:
        self._name = name
        self._connections = connections
        self._auth = auth
        self._tokens = Tokens(name, auth) if isinstance(auth, OAuth2) else None

    async def ask(self, asking: Asking, outgoing: Outgoing) -> Exchange:
        """Send a request; once more where a token that was kept is no longer good. Raises ComponentError."""
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
        if self._tokens is not None:
            return await self._tokens.headers(self._connections.pool(), asking.secrets, asking.waited)
        auth = self._auth
        return {} if auth is None or isinstance(auth, OAuth2) else auth.headers(asking.secrets)


def _with(outgoing: Outgoing, proof: dict[str, str]) -> Outgoing:
    return msgspec.structs.replace(outgoing, headers={**outgoing.headers, **proof}) if proof else outgoing
