"""Tokens by OAuth 2.0 client credentials (RFC 6749, section 4.4), fetched once and kept while they are good."""

import asyncio
from base64 import b64encode
from typing import TYPE_CHECKING, Final
from urllib.parse import quote_plus, urlencode

import msgspec
import orjson

from stretto.components.http.failures import said_in
from stretto.components.http.secrets import Secrets
from stretto.components.loop_lock import LoopLock
from stretto.components.waiting import Wait
from stretto.components.web.failures import Peer, said_by
from stretto.components.web.reply import Reply
from stretto.types.errors import Code, ComponentError
from stretto.types.http_status import code_of
from stretto.types.json import Json

if TYPE_CHECKING:
    from stretto.components.web.pool import Pool

EARLY_S: Final = 30.0
"""A token is given up so long before it ends: clocks differ, and the request with it takes a while."""

UNTOLD_S: Final = 300.0
"""How long a token is kept whose end the server does not tell, which section 5.1 only recommends."""


class OAuth2(msgspec.Struct, frozen=True, kw_only=True):
    """Where tokens come from, and who asks for them."""

    token_url: str
    client_id: str
    """As it stands; empty when it stands in the environment too."""
    client_id_variable: str
    secret_variable: str
    scope: str = ""
    audience: str = ""
    """Not of the RFC; Auth0 and others ask for it."""
    in_body: bool = False
    """Whether id and secret stand in the body, where section 2.3.1 says that they had better not."""

    def form(self, secrets: Secrets) -> tuple[bytes, dict[str, str]]:
        """The body and headers of a request for a token."""
        fields = {"grant_type": "client_credentials"}
        fields |= {name: text for name, text in (("scope", self.scope), ("audience", self.audience)) if text}
        client, secret = self.client_id or secrets.read(self.client_id_variable), secrets.read(self.secret_variable)
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        if self.in_body:
            fields |= {"client_id": client, "client_secret": secret}
        else:  # each form-encoded before they are joined: section 2.3.1
            token = b64encode(f"{quote_plus(client)}:{quote_plus(secret)}".encode()).decode()
            secrets.note(token)
            headers["Authorization"] = f"Basic {token}"
        return urlencode(fields).encode(), headers


class Tokens:
    """The token of one component."""

    def __init__(self, name: str, oauth: OAuth2) -> None:
        self._name = name
        self._oauth = oauth
        self._lock = LoopLock()
        self._token = ""
        self._until = 0.0
        """Event-loop time."""
        self._loop: asyncio.AbstractEventLoop | None = None

    async def headers(self, pool: "Pool", secrets: Secrets, waited: Wait) -> dict[str, str]:
        """``Authorization`` with a token that is good, fetched by one call for all that wait.

        Raises ComponentError, with `sent` false: what was to be asked with it never left.
        """
        async with self._lock.held(f"the token of component '{self._name}'"):
            if not self._is_good():
                await self._fetch(pool, secrets, waited)
            token = self._token
        secrets.note(token)
        return {"Authorization": f"Bearer {token}"}

    def forget(self, headers: dict[str, str]) -> bool:
        """Give up the token that a service refused; whether it was the one that is kept."""
        was_kept = bool(self._token) and headers.get("Authorization") == f"Bearer {self._token}"
        if was_kept:
            self._token = ""
        return was_kept

    def _is_good(self) -> bool:
        """The clock of an event loop that has ended says nothing in another."""
        loop = asyncio.get_running_loop()
        return bool(self._token) and self._loop is loop and loop.time() < self._until

    async def _fetch(self, pool: "Pool", secrets: Secrets, waited: Wait) -> None:
        oauth = self._oauth
        peer = Peer(
            who=f"the token server of component '{self._name}' at {oauth.token_url}",
            limit_remedy="is token_url right?",
            limit_code=Code.INTERNAL,
        )
        body, headers = oauth.form(secrets)
        try:
            reply = await pool.send(peer, "POST", oauth.token_url, headers, body)
        except ComponentError as error:
            waited.ms += error.queue_ms
            raise _unsent(str(error), error.rpc_code, secrets, retryable=error.retryable) from error
        waited.ms += reply.queue_ms
        self._keep(peer, reply, secrets)

    def _keep(self, peer: Peer, reply: Reply, secrets: Secrets) -> None:
        answer = _object(reply.body)
        token = answer.get("access_token")
        if reply.status != 200:
            code = Code.UNAUTHENTICATED if reply.status in (400, 401) else code_of(reply.status)
            said = said_in(answer) or said_by(reply.body) or "nothing"
            raise _unsent(f"{peer.who} answered {reply.status}: {said}", code, secrets)
        if not isinstance(token, str) or not token or not (token.isascii() and token.isprintable()):
            raise _unsent(f"{peer.who} answered without an `access_token`", Code.INTERNAL, secrets)
        lasts = answer.get("expires_in")
        seconds = float(lasts) if isinstance(lasts, int | float) and not isinstance(lasts, bool) else UNTOLD_S
        loop = asyncio.get_running_loop()
        self._token, self._loop, self._until = token, loop, loop.time() + max(seconds - EARLY_S, seconds / 2)


def _unsent(text: str, code: Code, secrets: Secrets, *, retryable: bool | None = None) -> ComponentError:
    return ComponentError(secrets.out_of(text), code, retryable=retryable, sent=False)


def _object(body: bytes) -> dict[str, Json]:
    try:
        read = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return read if isinstance(read, dict) else {}
