"""Large values by the digest of their content: sent once, named afterwards."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from stretto.acp.blob import ContentError, Filling, name_of
from stretto.acp.failure import AcpError
from stretto.acp.messages import Blob
from stretto.acp.names import Reason
from stretto.acp.server.limits import Limits
from stretto.acp.server.refusal import malformed, refusal
from stretto.types.errors import Code
from stretto.types.json import JsonObject

MAX_TOLD: Final = 24
"""Names in one refusal: as many as the trailers of gRPC carry."""


class Blobs:
    """The contents that a server remembers, those that were used last kept longest."""

    def __init__(self, limits: Limits) -> None:
        self._max_bytes = limits.max_blob_bytes
        self._held: OrderedDict[str, Blob] = OrderedDict()
        self._size = 0

    def filled(self, value: JsonObject, sent: Iterable[Blob]) -> JsonObject:
        """The value with every content in its place.

        Raises AcpError for a content that is not that of its digest, and for contents that are not here.
        """
        given = {blob.digest: blob for blob in sent}
        for blob in given.values():
            if blob.content:
                self._keep(blob)
        filling = Filling(lambda name: self._found(name, given.get(name)))
        try:
            filled = filling.filled(value)
        except ContentError as error:
            raise malformed(f"the input {error}") from error
        if filling.missing:
            raise _missing([*filling.missing])
        if not isinstance(filled, dict):
            raise malformed("the input is a blob that holds no JSON object")
        return filled

    def _keep(self, blob: Blob) -> None:
        found = name_of(blob.content)
        if blob.digest != found:
            raise malformed(f"a blob is called {blob.digest[:80]!r}, and the digest of its content is {found}")
        if blob.digest not in self._held:
            self._size += len(blob.content)
        self._held[blob.digest] = blob
        self._held.move_to_end(blob.digest)
        while self._size > self._max_bytes and len(self._held) > 1:
            self._size -= len(self._held.popitem(last=False)[1].content)

    def _found(self, name: str, given: Blob | None) -> Blob | None:
        """The content, called as it is called now: it may have been sent before under another media type."""
        held = given if given is not None and given.content else self._held.get(name)
        if held is None or given is None or given is held:
            return held
        return Blob(digest=name, content=held.content, media_type=given.media_type or held.media_type)


def _missing(names: list[str]) -> AcpError:
    first, more = names[0], len(names) - 1
    beside = f", and of {more:,} more," if more else ""
    return refusal(
        Code.FAILED_PRECONDITION,
        Reason.BLOB_MISSING,
        f"the content of {first}{beside} is not here; send it in `blobs`",
        digests=",".join(names[:MAX_TOLD]),
    )
