"""Large values by the digest of their content: sent once, named afterwards."""

from collections import OrderedDict
from typing import Final

import msgspec
import orjson

from stretto.acp.blob import JSON, KEY, ContentError, Filling, name_of
from stretto.acp.messages import Blob
from stretto.types.errors import Code, ComponentError
from stretto.types.json import JsonObject

LEAST_BYTES: Final = 64 * 1024
"""A field whose JSON is smaller goes as it is: to hash and to name it would save nothing."""

MAX_KNOWN: Final = 1024
"""Digests of which the other side is believed to have the content; it forgets too, and says so."""


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """An input in which large fields are named by digest."""

    input: JsonObject
    contents: dict[str, bytes]
    """Digest to the content of the field."""

    def blobs(self, known: "Known") -> tuple[Blob, ...]:
        """What goes along: the contents that the other side is not known to have."""
        return tuple(
            Blob(digest=digest, content=b"" if known.has(digest) else content, media_type=JSON)
            for digest, content in self.contents.items()
        )


class Known:
    """What the other side was sent, the latest kept longest."""

    def __init__(self) -> None:
        self._digests: OrderedDict[str, None] = OrderedDict()

    def has(self, digest: str) -> bool:
        return digest in self._digests

    def add(self, named: Named) -> None:
        """It has these now."""
        for digest in named.contents:
            self._digests[digest] = None
            self._digests.move_to_end(digest)
        while len(self._digests) > MAX_KNOWN:
            self._digests.popitem(last=False)

    def forget(self, named: Named) -> None:
        """It says that it has them no more."""
        for digest in named.contents:
            self._digests.pop(digest, None)


def named(given: JsonObject, size: int) -> Named | None:
    """The input with its large fields named, where it has any; `size` is that of its JSON, in bytes."""
    if size < LEAST_BYTES:
        return None
    contents: dict[str, bytes] = {}
    fields: JsonObject = {}
    for name, value in given.items():
        text = orjson.dumps(value)
        if len(text) < LEAST_BYTES:
            fields[name] = value
            continue
        digest = name_of(text)
        contents[digest] = text
        fields[name] = {KEY: digest}
    return Named(input=fields, contents=contents) if contents else None


def filled(output: JsonObject, blobs: tuple[Blob, ...], who: str) -> JsonObject:
    """An output with the contents that came along in their places. Raises ComponentError for what is no content of its
    digest, or did not come."""
    filling = Filling({blob.digest: _held(blob, who) for blob in blobs}.get)
    try:
        told = {name: filling.filled(each) for name, each in output.items()}
    except ContentError as error:
        raise ComponentError(f"{who} answered with an output that {error}", Code.INTERNAL) from error
    if filling.missing:
        first = next(iter(filling.missing))
        raise ComponentError(f"{who} named the content {first} and did not send it", Code.INTERNAL)
    return told


def _held(blob: Blob, who: str) -> Blob:
    found = name_of(blob.content)
    if blob.digest != found:
        raise ComponentError(f"{who} sent the content {blob.digest:.80}, whose digest is {found}", Code.INTERNAL)
    return blob
