"""Large values by the digest of their content: sent once, named afterwards."""

import base64
from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from stretto.acp.blob import KEY, name_of
from stretto.acp.messages import Blob
from stretto.acp.names import Reason
from stretto.acp.server.limits import Limits
from stretto.acp.server.refusal import malformed, refusal
from stretto.types.errors import Code
from stretto.types.json import Json, JsonObject


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
        missing: list[str] = []
        filled = self._fill(value, given, missing)
        if missing:
            raise refusal(
                Code.FAILED_PRECONDITION,
                Reason.BLOB_MISSING,
                f"the content of {', '.join(missing)} is not here; send it in `blobs`",
                digests=",".join(missing),
            )
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

    def _fill(self, value: Json, given: dict[str, Blob], missing: list[str]) -> Json:
        if isinstance(value, list):
            return [self._fill(each, given, missing) for each in value]
        if not isinstance(value, dict):
            return value
        digest = value.get(KEY)
        if len(value) == 1 and isinstance(digest, str):
            blob = given.get(digest)
            held = blob if blob is not None and blob.content else self._held.get(digest)
            if held is None:
                missing.append(digest)
                return None
            return _value_of(held, blob.media_type if blob is not None else "")
        return {name: self._fill(each, given, missing) for name, each in value.items()}


def _value_of(blob: Blob, called: str) -> Json:
    """JSON as what it says, text as text, and anything else in base64, since a component takes JSON."""
    media_type = (called or blob.media_type).partition(";")[0].strip().lower()
    try:
        if media_type in ("", "application/json"):
            value: Json = msgspec.json.decode(blob.content)
            return value
        if media_type.startswith("text/"):
            return blob.content.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise malformed(
            f"the content of blob {blob.digest} is no {media_type or 'application/json'}: {error}"
        ) from None
    return base64.b64encode(blob.content).decode()
