"""What came back over HTTP."""

from collections.abc import Mapping

import msgspec


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One reply, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """Looked up without regard to case."""
    body: bytes
    queue_ms: float = 0.0
    """Waiting for a connection."""
    took_ms: float = 0.0
    """From the connection to the end of the body."""
