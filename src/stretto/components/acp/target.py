"""Where a component is: ``acp+http://host:port/prefix#name``, ``acp+grpc://host:port#name``."""

from typing import Final

import msgspec

from stretto.components.web_address import is_host, split_address
from stretto.types.errors import UsageError

PREFIX: Final = "acp+"
"""By which a reference to a component is known as an address."""

_SCHEMES: Final = ("http", "https", "grpc", "grpcs")

_PORTS: Final = {"http": 80, "https": 443}


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One server, and which of its components is meant."""

    scheme: str
    """``http``, ``https``, ``grpc`` or ``grpcs``."""
    host: str
    port: int
    prefix: str = ""
    """Path before ``/acp/v1``; empty over gRPC."""
    component: str = ""
    """Empty where the server has one only."""

    @property
    def is_grpc(self) -> bool:
        return self.scheme.startswith("grpc")

    @property
    def is_secure(self) -> bool:
        return self.scheme.endswith("s")

    @property
    def place(self) -> str:
        """``host:port``, as a client connects to it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def base(self) -> str:
        """What the paths of verbs are appended to, over HTTP."""
        return f"{self.scheme}://{self.place}{self.prefix}"

    @property
    def address(self) -> str:
        """As it is written, without the component."""
        return f"{PREFIX}{self.base}"


def read_target(text: str, what: str, *, mark: str = PREFIX) -> Target:
    """Take an address apart. Raises UsageError, with `what` in words, for what is none.

    `mark` is what it begins with: nothing on a command line, where a server is meant in any case.
    """
    parts = split_address(text.strip(), what)
    form = f"an address such as {mark}http://127.0.0.1:8081 or {mark}grpc://127.0.0.1:8082"
    if parts.username is not None or parts.password is not None:  # first: no other error may quote them
        raise UsageError(f"{what} holds a user or password; keep the token in the environment and name it: token_env")
    if parts.query:
        raise UsageError(f"{what} is '{text.partition('?')[0]}?...'; expected an address without ?")
    scheme = parts.scheme.removeprefix(mark)
    is_known = parts.scheme.startswith(mark) and scheme in _SCHEMES
    if not is_known or not parts.hostname or parts.port == 0 or not is_host(parts.hostname):
        raise UsageError(f"{what} is '{text}'; expected {form}")
    port = parts.port or _PORTS.get(scheme)
    if port is None:
        raise UsageError(f"{what} is '{text}', which has no port, and gRPC has no usual one; expected {form}")
    prefix = parts.path.rstrip("/")
    if prefix and scheme.startswith("grpc"):
        raise UsageError(f"{what} is '{text}'; an address of gRPC has no path: {mark}{scheme}://{parts.netloc}")
    return Target(scheme=scheme, host=parts.hostname, port=port, prefix=prefix, component=parts.fragment)
