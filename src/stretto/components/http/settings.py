"""A service as declared and compiled."""

from collections.abc import Mapping
from typing import Final

import msgspec

from stretto.components.declared import declared
from stretto.components.http.action import Action
from stretto.components.http.auth import Auth
from stretto.components.http.requests import DEFAULT_IDEMPOTENCY_HEADER
from stretto.types.ids import Digest, digest_of
from stretto.types.json import Json, JsonObject

DEFAULT_MAX_CONNECTIONS: Final = 20
"""Services of the kind that this is for have thread pools of this size; the rest of the calls waits here, where it is
measured."""

DEFAULT_MAX_RESPONSE_BYTES: Final = 8 * 1024 * 1024
"""As much as one step's output may have."""

_INDIFFERENT: Final = frozenset({"compiled", "auth", "proxy", "max_connections", "max_response_bytes", "description"})

ONLY: Final = ""
"""Name of the one action of a service that has no others."""


class HttpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything declared about a service."""

    actions: Mapping[str, JsonObject]
    """As written, by name; the only one of a service that has no others has an empty name."""
    compiled: Mapping[str, Action]
    action_field: str = ""
    headers: JsonObject = msgspec.field(default_factory=dict)
    """Of all actions, as written."""
    errors: list[Json] = msgspec.field(default_factory=list)
    """Of all actions, as written."""
    auth: Auth | None = None
    idempotent: bool = False
    idempotency_header: str = DEFAULT_IDEMPOTENCY_HEADER
    proxy: str = ""
    """Address of a proxy; empty goes straight to the service."""
    max_connections: int = DEFAULT_MAX_CONNECTIONS
    max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES
    version: str = "0.0.0"
    description: str = ""

    def digest(self) -> Digest:
        """Of what decides what is asked and what is made of the answer; not of secrets and limits."""
        return digest_of(declared(self, but=_INDIFFERENT))
