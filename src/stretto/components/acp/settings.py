"""Which component is asked, where, and how, as declared and checked."""

import re
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from stretto.acp.names import STEP_VERBS, Verb
from stretto.components.acp.allowed import check_allowed
from stretto.components.acp.target import Target, read_target
from stretto.components.web_address import is_here
from stretto.types.arguments import check_fields
from stretto.types.errors import UsageError

DEFAULT_MAX_CONNECTIONS: Final = 100
"""Calls at once over HTTP; gRPC puts all on one connection. The rest waits here, where it is measured."""

DEFAULT_MAX_RESPONSE_BYTES: Final = 8 * 1024 * 1024
"""As much as one step's output may have."""

DESCRIBE_S: Final = 2.0
"""In which a server must say at load what it is."""

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Pin(StrEnum):
    """How far a run holds to the component that was there at load."""

    DIGEST = "digest"
    """Another digest is refused: by the server, as the manifest says it, or here when it answers."""
    WARN = "warn"
    """Another digest answers, and the log tells of it."""
    NONE = "none"
    """Whatever is there answers: a server that is replaced at any time."""


class AcpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything declared about a component behind the protocol."""

    name: str
    url: str
    verb: Verb | None = None
    """By which a step asks; None is the first that the component offers."""
    card: Path | None = None
    """A card that was kept in a file: nothing is asked at load."""
    token_env: str = ""
    """Environment variable with the bearer token."""
    ca: Path | None = None
    """Certificates to trust in place of the system's, PEM."""
    unencrypted: bool = False
    """Whether the token may go to another machine without TLS."""
    pin: Pin = Pin.DIGEST
    max_connections: int = DEFAULT_MAX_CONNECTIONS
    max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES
    describe_timeout: timedelta = timedelta(seconds=DESCRIBE_S)

    def check(self) -> Target:
        """Where it is. Raises UsageError for what cannot work, and for a server that may not be called."""
        check_fields(f"component '{self.name}'", self)
        if self.verb is not None and self.verb not in STEP_VERBS:
            raise self._wrong(f"has verb '{self.verb}'; a step asks by one of {', '.join(STEP_VERBS)}")
        for option in ("max_connections", "max_response_bytes"):
            if getattr(self, option) < 1:
                raise self._wrong(f"has {option} {getattr(self, option)}; expected 1 or more")
        target = read_target(self.url, f"`url` of component '{self.name}'")
        self.check_secrecy(target)
        check_allowed(target, f"component '{self.name}'")
        return target

    def check_secrecy(self, target: Target) -> None:
        """Raises UsageError where a token would be read by others, or certificates are given in vain."""
        if self.token_env and not _VARIABLE.fullmatch(self.token_env):
            raise self._wrong(f"has token_env '{self.token_env}'; expected the name of an environment variable")
        if self.ca is not None and not target.is_secure:
            raise self._wrong(f"has `ca`, which has no effect without TLS: {target.scheme}s")
        is_open = bool(self.token_env) and not target.is_secure and not is_here(target.host)
        if is_open and not self.unencrypted:
            use = (
                f"use acp+{target.scheme}s; where others on the way may read it a declaration says `unencrypted: true`"
            )
            raise self._wrong(f"would send its token unencrypted to {target.place}; {use}")
        if self.unencrypted and not is_open:
            raise self._wrong("has `unencrypted`, and sends no token without TLS to another machine; remove it")

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"component '{self.name}' {what}")
