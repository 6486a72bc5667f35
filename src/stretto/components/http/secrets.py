"""What stands in the environment and in no file: read at each call, and blotted out of whatever is told."""

import os
from typing import Final

from stretto.components.spellings import spellings
from stretto.types.errors import Code, ComponentError
from stretto.types.json import Json

BLOT: Final = "***"

LEAST_ECHO_BYTES: Final = 8
"""Shorter secrets are blotted out of messages only: in an answer the same bytes may well be something else."""


class Secrets:
    """The secrets that one call has used."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._used: set[str] = set()

    def read(self, variable: str) -> str:
        """The value of an environment variable. Raises ComponentError, with `sent` false, when it is not set, or is no
        text."""
        value = os.environ.get(variable, "").strip()
        if not value:
            raise self._unfit(f"takes a value from ${variable}, which is not set; set it")
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):  # how Python keeps such bytes
            raise self._unfit(f"takes a value from ${variable}, which is no text in UTF-8; set it anew")
        self.note(value)
        return value

    def read_for_header(self, variable: str) -> str:
        """The same, for a header. Raises ComponentError for what none may hold, too."""
        value = self.read(variable)
        if not (value.isascii() and value.isprintable()):
            text = f"${variable} of component '{self._name}' holds a character that no header may hold"
            raise ComponentError(f"{text}; was it copied with a line break?", Code.UNAUTHENTICATED, sent=False)
        return value

    def note(self, value: str) -> None:
        """Keep in mind that this is secret too: a token, or a password and its user in base64."""
        self._used.add(value)

    def out_of(self, text: str) -> str:
        """The text with every secret blotted out: some services quote what they refuse."""
        for spelling in self._spellings():
            text = text.replace(spelling, BLOT)
        return text

    def out_of_bytes(self, content: bytes) -> bytes:
        """What a service sent with every secret blotted out, before some of it is told: a part may end within one."""
        for spelling in self._spellings():
            content = content.replace(spelling.encode(), BLOT.encode())
        return content

    def out_of_error(self, error: ComponentError) -> ComponentError:
        """The error with every secret blotted out of its text; itself when it tells none."""
        text = self.out_of(str(error))
        if text == str(error):
            return error
        return ComponentError(
            text,
            error.rpc_code,
            retry_after_s=error.retry_after_s,
            retryable=error.retryable,
            sent=error.sent,
            queue_ms=error.queue_ms,
        )

    def may_be_in(self, content: bytes) -> bool:
        """Whether JSON in UTF-8 may hold a secret: as it stands, or spelled with escapes."""
        if not self._used:
            return False
        return b"\\" in content or any(spelling.encode() in content for spelling in self._long_ones())

    def out_of_value(self, value: Json) -> Json:
        """The value with every secret blotted out of its texts, names and numbers: outputs are recorded."""
        long = self._long_ones()
        return _blotted(value, long) if long else value

    def _long_ones(self) -> list[str]:
        return [spelling for spelling in self._spellings() if len(spelling.encode()) >= LEAST_ECHO_BYTES]

    def _spellings(self) -> list[str]:
        """Longest first: one may be a part of another."""
        if not self._used:
            return []
        return sorted({spelling for value in self._used for spelling in spellings(value)}, key=len, reverse=True)

    def _unfit(self, what: str) -> ComponentError:
        return ComponentError(f"component '{self._name}' {what}", Code.UNAUTHENTICATED, sent=False)


def _blotted(value: Json, secrets: list[str]) -> Json:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, BLOT)
        return value
    if isinstance(value, dict):
        return {str(_blotted(name, secrets)): _blotted(inner, secrets) for name, inner in value.items()}
    if isinstance(value, list):
        return [_blotted(inner, secrets) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool) and str(value) in secrets:
        return BLOT
    return value
