"""Bearer tokens (RFC 6750): who may call."""

import hmac
import os
from pathlib import Path
from typing import Final

from stretto.acp.names import Reason
from stretto.acp.server.refusal import refusal
from stretto.types.errors import Code, UsageError

SCHEME: Final = b"bearer "

MIN_CHARS: Final = 16
"""Shorter ones can be guessed over a network."""


class Tokens:
    """The tokens that are accepted; compared in a time that does not depend on where they differ."""

    def __init__(self, tokens: tuple[str, ...]) -> None:
        """Raises UsageError for one that is too short or could not be sent."""
        for number, token in enumerate(tokens, 1):
            if len(token) < MIN_CHARS or not (token.isascii() and token.isprintable()):
                raise UsageError(
                    f"token {number} has {len(token)} characters; expected {MIN_CHARS} or more printable ASCII ones, "
                    'such as `python -c "import secrets; print(secrets.token_urlsafe(32))"` prints'
                )
        self._tokens = tuple(token.encode() for token in tokens)

    def hold(self, authorization: bytes | None) -> None:
        """Refuse a call whose ``Authorization`` carries none of them. Raises AcpError."""
        if not self.accepts(authorization):
            found = "is no bearer token that is accepted here" if authorization else "is missing"
            raise refusal(Code.UNAUTHENTICATED, Reason.UNAUTHENTICATED, f"Authorization {found}")

    def accepts(self, authorization: bytes | None) -> bool:
        """Whether the header's value carries one of the tokens; every one is looked at."""
        if authorization is None or authorization[: len(SCHEME)].lower() != SCHEME:
            return False
        given = authorization[len(SCHEME) :].strip()
        is_known = False
        for token in self._tokens:
            is_known |= hmac.compare_digest(given, token)
        return is_known


def read_tokens(variable: str | None, file: Path | None) -> Tokens | None:
    """The tokens of an environment variable, split at white space, and of a file, one a line; None when neither is
    named. Raises UsageError for one that cannot be read, or holds none."""
    if variable is None and file is None:
        return None
    found: list[str] = []
    if variable is not None:
        found += os.environ.get(variable, "").split()
        if not found:
            raise UsageError(f"the environment variable {variable} holds no token; set it before the server is started")
    if file is not None:
        found += _of_file(file)
    return Tokens(tuple(dict.fromkeys(found)))


def _of_file(file: Path) -> list[str]:
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the tokens in {file} cannot be read: {error}") from error
    tokens = [line for line in lines if line and not line.startswith("#")]
    if not tokens:
        raise UsageError(f"{file} holds no token; expected one a line, lines that begin with # left out")
    return tokens
