"""What stands in the environment and in no file: read at each call, and blotted out of whatever is told."""

import os
from html import escape
from typing import Final

import orjson

from stretto.types.errors import Code, ComponentError

BLOT: Final = b"***"

LEAST_ECHO_BYTES: Final = 8
"""Shorter secrets are blotted out of messages only: in an answer the same bytes may well be something else."""


class Secrets:
    """The secrets that one call has used."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._used: set[str] = set()

    def read(self, variable: str) -> str:
        """The value of an environment variable. Raises ComponentError, with `sent` false, when it is not set."""
        value = os.environ.get(variable, "").strip()
        if not value:
            text = f"component '{self._name}' takes a value from ${variable}, which is not set; set it"
            raise ComponentError(text, Code.UNAUTHENTICATED, sent=False)
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
        for value in self._longest_first():
            text = text.replace(value, BLOT.decode())
        return text

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

    def out_of_answer(self, content: bytes) -> bytes:
        """A body with every secret blotted out, as it stands and as JSON and XML write it: outputs are recorded."""
        for value in self._longest_first():
            for written in {value.encode(), orjson.dumps(value)[1:-1], escape(value).encode()}:
                if len(written) >= LEAST_ECHO_BYTES and written in content:
                    content = content.replace(written, BLOT)
        return content

    def _longest_first(self) -> list[str]:
        """One may be a part of another."""
        return sorted(self._used, key=len, reverse=True)
