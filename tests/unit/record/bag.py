"""Blobs that are kept in memory, for tests that write none."""

from stretto.types.errors import StoreError
from stretto.types.ids import Digest, digest_of


class BlobBag:
    """Puts and gets like a folder of blobs."""

    def __init__(self) -> None:
        self.contents: dict[Digest, bytes] = {}

    def put(self, content: bytes) -> Digest:
        digest = digest_of(content)
        self.contents[digest] = content
        return digest

    def get(self, digest: Digest) -> bytes:
        if digest not in self.contents:
            raise StoreError(f"no array {digest} in memory")
        return self.contents[digest]
