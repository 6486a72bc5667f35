"""How large values are named, and put in their places: what both sides of the wire must agree on."""

import base64
import re
from collections.abc import Callable
from typing import Final

import msgspec

from stretto.acp.messages import Blob
from stretto.record.canonical import DEFAULT_LIMIT_BYTES
from stretto.types.ids import digest_of
from stretto.types.json import Json

KEY: Final = "$blob"
"""``{"$blob": name}`` stands where the value is meant."""

MARK: Final = KEY.encode()
"""A message in which these bytes do not stand names no large value."""

CAPABILITY: Final = "blobs"
"""Of a card whose server takes large values by name."""

JSON: Final = "application/json"
"""Media type of a content; also where none is said."""

MAX_FILLED_BYTES: Final = DEFAULT_LIMIT_BYTES
"""Of all contents that are put into one value, which has no more itself: a name is short, and may stand there often."""

_NAME: Final = re.compile(r"sha256:[0-9a-f]{64}")


class ContentError(ValueError):
    """Contents cannot be put where they are named; says why, of the value that names them."""


def name_of(content: bytes) -> str:
    """By what a content is named: ``sha256:`` and its digest."""
    return f"sha256:{digest_of(content)}"


class Filling:
    """Puts contents in the places where one value names them."""

    def __init__(self, content_of: Callable[[str], Blob | None]) -> None:
        self._content_of = content_of
        self._left_bytes = MAX_FILLED_BYTES
        self.missing: dict[str, None] = {}
        """Names whose content is not there, each once; null stands in their place."""

    def filled(self, value: Json) -> Json:
        """The value with its contents. Raises ContentError."""
        try:
            return self._filled(value)
        except RecursionError as error:
            raise ContentError("is nested too deeply") from error

    def _filled(self, value: Json) -> Json:
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        if not isinstance(value, dict):
            return value
        name = value.get(KEY)
        if len(value) == 1 and isinstance(name, str):
            return self._named(name)
        return {key: self._filled(each) for key, each in value.items()}

    def _named(self, name: str) -> Json:
        if _NAME.fullmatch(name) is None:
            raise ContentError(f"names the content {name[:80]!r}; expected sha256: and 64 hexadecimal digits")
        blob = self._content_of(name)
        if blob is None:
            self.missing[name] = None
            return None
        self._left_bytes -= len(blob.content)
        if self._left_bytes < 0:
            raise ContentError(f"names contents of more than {MAX_FILLED_BYTES:,} bytes in all")
        return _value_of(blob)


def _value_of(blob: Blob) -> Json:
    """JSON as what it says, text as text, and anything else in base64, since a component takes JSON."""
    kind = blob.media_type.partition(";")[0].strip().lower() or JSON
    try:
        if kind == JSON:
            value: Json = msgspec.json.decode(blob.content)
            return value
        if kind.startswith("text/"):
            return blob.content.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ContentError(f"names the content {blob.digest}, which is no {kind}: {error}") from error
    return base64.b64encode(blob.content).decode()
