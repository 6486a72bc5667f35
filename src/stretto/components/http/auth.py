"""How a request proves who asks: with what stands in the environment."""

from base64 import b64encode
from typing import TypeAlias

import msgspec

from stretto.components.http.oauth import OAuth2
from stretto.components.http.secrets import Secrets


class Bearer(msgspec.Struct, frozen=True):
    """A token (RFC 6750)."""

    variable: str

    def headers(self, secrets: Secrets) -> dict[str, str]:
        """``Authorization: Bearer ...``."""
        return {"Authorization": f"Bearer {secrets.read_for_header(self.variable)}"}


class Basic(msgspec.Struct, frozen=True, kw_only=True):
    """A user and a password (RFC 7617)."""

    user: str
    """As it stands; empty when it stands in the environment too."""
    user_variable: str
    password_variable: str

    def headers(self, secrets: Secrets) -> dict[str, str]:
        """``Authorization: Basic ...``."""
        user = self.user or secrets.read(self.user_variable)
        return {"Authorization": f"Basic {basic(user, secrets.read(self.password_variable), secrets)}"}


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key in a header of the service's own."""

    header: str
    variable: str

    def headers(self, secrets: Secrets) -> dict[str, str]:
        """The header."""
        return {self.header: secrets.read_for_header(self.variable)}


Auth: TypeAlias = Bearer | Basic | ApiKey | OAuth2


def basic(user: str, password: str, secrets: Secrets) -> str:
    """Both in base64, which is as secret as they are."""
    token = b64encode(f"{user}:{password}".encode()).decode()
    secrets.note(token)
    return token
